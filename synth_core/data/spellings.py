"""How numbers, days and periods are spelled in cells of text: patterns, the signs of a column, texts as numbers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc
from numpy.typing import NDArray

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
INFINITE = r"(?i)^[+-]?inf(inity)?$"
POINT_GROUP = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"  # 52.873: a decimal point, or one of thousands
POINT_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"
COMMA_GROUP = r"^[+-]?[1-9]\d{0,2},\d{3}$"
COMMA_GROUPS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
COMMA_DECIMAL = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"
SPACES = " '’\u00a0\u2009\u202f"
SPACE_GROUPS = rf"^[+-]?[1-9]\d{{0,2}}([{SPACES}]\d{{3}})+([.,]\d+)?$"
# 129.95, 0.5 and 7.125 are amounts, whose point is a decimal point in other columns too; 47.11 may be a code.
NO_CODE = r"^([+-]|0?\.|\d{3,}\.\d|\d+\.\d{3,}|.*[eE])"
LEADING_ZERO = r"^[+-]?0\d"
WHOLE = r"^-?\d+$"
BY_LETTER = r"^\d+[eE]\d+$"  # 12E4: a code, or a power of ten, which programs write as 1.2e+05
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY = (
    r"\d{4}-\d{1,2}-\d{1,2}",
    r"\d{4}[/.]\d{1,2}[/.]\d{1,2}",
    r"\d{1,2}\.\d{1,2}\.(\d{4}|\d{2})",
    r"\d{1,2}[/-]\d{1,2}[/-](\d{4}|\d{2})",
    rf"\d{{1,2}}[ -]?{_MONTH}[ -]?\d{{2,4}}",
    rf"{_MONTH}\.? \d{{1,2}},? \d{{4}}",
)
_TIME = r"[ T:]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?(Z|[+-]\d{2}:?\d{2})?"
DATE = rf"(?i)^({'|'.join(_DAY)})({_TIME})?$"
_YEAR = r"(19|20)\d{2}"
# Weeks, months and quarters, and months in words of any language: no days, and perhaps no time at all.
_PERIODS = (
    rf"{_YEAR}[-/. ]?(W\d{{1,2}}(-?\d)?|[QTKH][1-4]|M\d{{1,2}})",
    rf"{_YEAR}[-/.](0[1-9]|1[0-2])",
    rf"(0?[1-9]|1[0-2])[-/.]{_YEAR}",
    rf"[QTKH][1-4][-/. ]?{_YEAR}",
    rf"(\d{{1,2}}\.?[ -]?)?(de )?\p{{L}}{{3,10}}\.?[ -]?(de )?{_YEAR}",
)
DAY_AS_NUMBER = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
# A spreadsheet makes a day of a range such as 5-9.
RANGE = r"^\d+ ?[-–] ?\d+$"
SPOILT = rf"(?i)^(\d{{1,2}}-{_MONTH}|{_MONTH}-\d{{2}}|{_YEAR}-\d{{2}}-\d{{2}})$"
PERIOD = rf"(?i)^({'|'.join(_PERIODS)})$"
# A number in any spelling that a column may have.
ANY_NUMBER = "|".join(
    f"({each})" for each in (NUMBER, INFINITE, COMMA_DECIMAL, COMMA_GROUPS, POINT_GROUPS, SPACE_GROUPS)
)
# What stands beside a number's digits: a currency, percent, a bound as in 85+, a footnote's sign.
_AROUND = re.compile(r"(EUR|USD|GBP|CHF|kr|zł|Kč|Rs|R(?=\$)|pct|[%‰<>≤≥~≈*#'+])\.?")
_BELOW_ZERO = re.compile(r"^\((.*)\)$|^(.*\d)-$|^- +(.*)$")  # as accounts and some programs write it
_OTHER_THOUSANDS = dict.fromkeys(map(ord, "٬˙ʼ‘′´`_\u2007"), "'")


@dataclass(frozen=True)
class Numerals:
    """How a column writes numbers: its decimal sign, its sign of thousands (empty for none), its missing marks."""

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()


def readable(texts: pyarrow.Array, how: Numerals) -> pyarrow.Array:
    """Whether each text is a number by these signs; one of thousands stands before groups, the last of three digits."""
    spelled = spell(texts, how)
    fine = pc.or_(matches(spelled, NUMBER), matches(spelled, INFINITE))
    if not how.thousands:
        return fine
    sign = _thousands(how)
    groups = rf"^[+-]?\d{{1,3}}({sign}\d{{2,3}})*{sign}\d{{3}}({re.escape(how.decimal)}\d*)?([eE][+-]?\d+)?$"
    return pc.and_(fine, pc.or_(pc.invert(matches(texts, sign)), matches(texts, groups)))


def written_as(cells: pd.Series, pattern: str) -> NDArray[np.bool_]:
    """Which cells of a column are written so, `ANY_NUMBER` or `DATE`, of shape (n_rows,); an empty one is not."""
    texts = pyarrow.array(
        cells.astype("object").map(str, na_action="ignore"), pyarrow.string(), from_pandas=True
    )
    found = matches(pc.utf8_trim_whitespace(texts), pattern).fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def without_dress(text: str) -> str:
    """A number as it would be read: without signs of a currency, percent or direction, in the digits 0 to 9.

    Examples
    --------
    >>> without_dress("٣٤ %"), without_dress("−5"), without_dress("$1,200"), without_dress("12 a")
    ('34', '-5', '1,200', '12 a')
    >>> without_dress("($300)"), without_dress("300-"), without_dress("85+"), without_dress("4.1D+04")
    ('-300', '-300', '85', '4.1E+04')
    """
    digits = "".join(
        str(unicodedata.decimal(c, c)) for c in text if unicodedata.category(c) not in ("Sc", "Cf")
    )
    plain = digits.translate({0x2212: "-", 0x2013: "-", ord("٫"): ".", **_OTHER_THOUSANDS})
    plain = re.sub(r"(?<=\d)D(?=[+-]\d)", "E", plain)  # of Fortran
    plain = _BELOW_ZERO.sub(lambda found: "-" + next(filter(None, found.groups())), plain.strip())
    plain = plain if re.match(NUMBER, plain) else _AROUND.sub("", plain).strip()
    return re.sub(r"(?<=\d),(?=\d\d,)", "", plain)  # 1,23,456, of India


def _thousands(how: Numerals) -> str:
    """The sign of thousands as a pattern: files mix spaces and apostrophes that look alike."""
    return f"[{SPACES}]" if how.thousands in SPACES else re.escape(how.thousands)


def spell(texts: pyarrow.Array, how: Numerals) -> pyarrow.Array:
    """Numbers as every parser reads them: without a sign of thousands, with a decimal point, without a plus."""
    if how.thousands:
        texts = pc.replace_substring_regex(texts, _thousands(how), "")
    texts = texts if how.decimal == "." else pc.replace_substring(texts, how.decimal, ".")
    plus = pc.any(pc.starts_with(texts, "+")).as_py()
    return pc.replace_substring_regex(texts, r"^\+", "") if plus else texts


def matches(texts: pyarrow.Array, pattern: str) -> pyarrow.Array:
    """Which texts are written so; a missing one is missing."""
    return pc.match_substring_regex(texts, pattern)


def all_match(texts: pyarrow.Array, pattern: str) -> bool:
    """Whether all texts that are there are written so."""
    return bool(pc.all(matches(texts, pattern), min_count=0).as_py())
