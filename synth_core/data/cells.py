"""What cells of text mean: numbers with their signs, dates, codes, missing marks.

Everything is decided by the distinct cells of a whole column, not by its first rows, and by rules that can be said.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

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
_PERIOD = (
    rf"{_YEAR}[-/. ]?(W\d{{1,2}}(-?\d)?|[QTKH][1-4]|M\d{{1,2}})",
    rf"{_YEAR}[-/.](0[1-9]|1[0-2])",
    rf"(0?[1-9]|1[0-2])[-/.]{_YEAR}",
    rf"[QTKH][1-4][-/. ]?{_YEAR}",
    rf"(\d{{1,2}}\.?[ -]?)?(de )?\p{{L}}{{3,10}}\.?[ -]?(de )?{_YEAR}",
)
DAY_AS_NUMBER = r"^(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$"
DAYS_BY_CHANCE = 5  # distinct numbers, from which on they are all such no more by chance
RANGE = r"^\d+ ?[-–] ?\d+$"
SPOILT = rf"(?i)^(\d{{1,2}}-{_MONTH}|{_MONTH}-\d{{2}}|{_YEAR}-\d{{2}}-\d{{2}})$"
PERIOD = rf"(?i)^({'|'.join(_PERIOD)})$"
# A number in any spelling that a column may have.
ANY_NUMBER = "|".join(
    f"({each})" for each in (NUMBER, INFINITE, COMMA_DECIMAL, COMMA_GROUPS, POINT_GROUPS, SPACE_GROUPS)
)
# What stands beside a number's digits: a currency, percent, a bound as in 85+, a footnote's sign.
_AROUND = re.compile(r"(EUR|USD|GBP|CHF|kr|zł|Kč|Rs|R(?=\$)|pct|[%‰<>≤≥~≈*#'+])\.?")
_BELOW_ZERO = re.compile(r"^\((.*)\)$|^(.*\d)-$|^- +(.*)$")  # as accounts and some programs write it
_OTHER_THOUSANDS = dict.fromkeys(map(ord, "٬˙ʼ‘′´`_\u2007"), "'")
# Among numbers these are no value, whoever wrote the file; among texts they may be one (the country NA).
MISSING_AMONG_NUMBERS = frozenset(
    {
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
    }
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)


@dataclass(frozen=True)
class Numerals:
    """How a column writes numbers: its decimal sign, its sign of thousands (empty for none), its missing marks."""

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What the distinct cells of a column can be.

    Attributes
    ----------
    kind : str
        "number", "date", "text", or "empty".
    numerals : Numerals, optional
        Of a number; of one that can be read in two ways, None until the file or its reader says which.
    readings : tuple of Numerals
        Both, where there are two; the one of a number, where the other is none.
    decided : str
        The decimal sign that this column shows without doubt: evidence for others of the file.
    reason : str
        Why, in words that quote no cell.
    """

    kind: str
    numerals: Numerals | None = None
    readings: tuple[Numerals, ...] = ()
    decided: str = ""
    reason: str = ""


def look_at(column: Distinct, delimiter: str, how: Numerals | None = None) -> Finding:
    """What the cells of a column can be.

    Parameters
    ----------
    delimiter : str
        Of the file: between commas, a point is a decimal point.
    how : Numerals, optional
        Declared signs, which are not guessed then.
    """
    distinct = column.present
    if not len(distinct):
        return Finding("empty")
    if how is not None:
        return _declared(distinct, how)
    if column.floats is not None:
        return _points(distinct, delimiter, ())
    plain = pc.or_(_matches(distinct, NUMBER), _matches(distinct, INFINITE))
    if pc.all(plain).as_py():
        return _points(distinct, delimiter, ())
    marks, rest = _without_marks(distinct.filter(pc.invert(plain)))
    numbers = distinct.filter(plain)
    if not len(rest):
        return _points(numbers, delimiter, marks) if len(numbers) else Finding("text")
    finding = _with_signs(numbers, rest, marks)
    if finding is not None:
        return finding
    if not len(numbers) and _all(rest, DATE):
        return Finding("date", reason="every cell is written as a date")
    return Finding("text", reason=_doubt(distinct))


def _doubt(distinct: pyarrow.Array) -> str:
    """What texts may be instead of categories, or have been before; empty where there is no doubt."""
    if len(distinct) > 1 and _all(distinct, PERIOD):
        return "cells look like dates or periods, and are categories here"
    if pc.any(_matches(distinct, SPOILT)).as_py() and pc.any(_matches(distinct, RANGE)).as_py():
        return "beside ranges some cells are days, which a spreadsheet may have made of ranges such as 5-9"
    return ""


def _points(numbers: pyarrow.Array, delimiter: str, marks: tuple[str, ...]) -> Finding:
    """Numbers with points only."""
    said = f"; {', '.join(marks)} among numbers mean missing" if marks else ""
    if _leading_zeros(numbers):
        return Finding("text", reason="codes with leading zeros")
    dotted = numbers.filter(pc.match_substring(numbers, "."))
    if not len(dotted) and pc.any(_matches(numbers, BY_LETTER)).as_py():
        return Finding("number", None, (Numerals(missing=marks),), reason="digits around a letter")
    if not len(dotted) and len(numbers) >= DAYS_BY_CHANCE and _all(numbers, DAY_AS_NUMBER):
        return Finding("date", reason="every cell is a day as 20240131")
    if not len(dotted):
        return Finding("number", Numerals(missing=marks), reason="whole numbers" + said)
    if delimiter == "," and not _grouped_by_points(numbers, dotted):
        return Finding("number", Numerals(missing=marks), reason="a decimal point" + said)
    if _all(dotted.slice(0, 100), POINT_GROUP) and _all(dotted, POINT_GROUP):
        both = Numerals(".", "", marks), Numerals(",", ".", marks)
        return Finding("number", None, both, reason="exactly three digits")
    sure = "." if pc.any(_matches(dotted, NO_CODE)).as_py() else ""
    return Finding("number", Numerals(missing=marks), decided=sure, reason="a decimal point" + said)


def _grouped_by_points(numbers: pyarrow.Array, dotted: pyarrow.Array) -> bool:
    """Whether points seem to part thousands, as in 900, 1.500 and 12.625: no program writes decimals so.

    With so many decimals each number would have a point, and without trailing zeros 1.500 would be 1.5.
    """
    return (
        _all(dotted, POINT_GROUP)
        and pc.any(pc.ends_with(dotted, "0")).as_py()
        and pc.any(_matches(numbers, r"^[1-9]\d{0,2}$")).as_py()
    )


def _leading_zeros(numbers: pyarrow.Array) -> bool:
    """Whether a number begins as a code does, 01."""
    first = numbers.filter(pc.or_(pc.starts_with(numbers, "0"), pc.starts_with(numbers, "-0")))
    return bool(pc.any(_matches(first, LEADING_ZERO), min_count=0).as_py())


def _with_signs(numbers: pyarrow.Array, rest: pyarrow.Array, marks: tuple[str, ...]) -> Finding | None:
    """Numbers of which some (`rest`) have commas, points or spaces between groups of three digits."""
    dotted = numbers.filter(pc.match_substring(numbers, "."))
    spaced = _matches(rest, SPACE_GROUPS)
    comma = pc.any(pc.match_substring(rest, ",")).as_py()
    small = _matches(rest, COMMA_DECIMAL) if comma else pyarrow.array([False] * len(rest))
    if pc.any(spaced).as_py() and pc.all(pc.or_(spaced, small)).as_py() and not (comma and len(dotted)):
        sign = next(each for each in rest.filter(spaced)[0].as_py() if each in SPACES)
        return Finding("number", Numerals("," if comma else ".", sign, marks), reason="grouped by threes")
    in_groups = _all(rest, COMMA_GROUPS)
    points = pc.or_(_matches(rest, COMMA_DECIMAL), _matches(rest, POINT_GROUPS))
    by_comma = pc.all(points).as_py() and _all(dotted, POINT_GROUP)
    if by_comma and _leading_zeros(numbers):
        return Finding("text", reason="codes with leading zeros")
    thousands = "." if len(dotted) or pc.any(pc.match_substring(rest, ".")).as_py() else ""
    as_decimal, as_groups = Numerals(",", thousands, marks), Numerals(".", ",", marks)
    if in_groups and by_comma:
        return Finding("number", None, (as_groups, as_decimal), reason="exactly three digits")
    if in_groups:
        return Finding("number", as_groups, decided=".", reason="commas between thousands")
    if by_comma:
        return Finding("number", as_decimal, decided=",", reason="a decimal comma")
    return None


def _declared(distinct: pyarrow.Array, how: Numerals) -> Finding:
    left = distinct.filter(pc.invert(pc.is_in(distinct, pyarrow.array(list(how.missing), pyarrow.string()))))
    marks, rest = _without_marks(left)
    if not len(rest):
        return Finding("empty")
    fine = readable(rest, how)
    if not pc.all(fine).as_py():
        return Finding("text")
    other = _spellings(rest, how)
    missing = tuple(dict.fromkeys((*how.missing, *marks, *other)))
    if len(other) and set(rest.to_pylist()) <= set(other):
        return Finding("empty")
    return Finding("number", Numerals(how.decimal, how.thousands, missing), reason="declared")


def _spellings(texts: pyarrow.Array, how: Numerals) -> tuple[str, ...]:
    """Cells that are a missing mark in another spelling: -9.0 where -9 is one."""
    marks = pyarrow.array([mark for mark in how.missing if mark], pyarrow.string())
    numbers = marks.filter(readable(marks, how))
    if not len(numbers):
        return ()
    marked = pc.is_in(spell(texts, how).cast(pyarrow.float64()), spell(numbers, how).cast(pyarrow.float64()))
    return tuple(texts.filter(marked).to_pylist())


def readable(texts: pyarrow.Array, how: Numerals) -> pyarrow.Array:
    """Whether each text is a number by these signs; one of thousands stands before groups, the last of three digits."""
    spelled = spell(texts, how)
    fine = pc.or_(_matches(spelled, NUMBER), _matches(spelled, INFINITE))
    if not how.thousands:
        return fine
    sign = _thousands(how)
    groups = rf"^[+-]?\d{{1,3}}({sign}\d{{2,3}})*{sign}\d{{3}}({re.escape(how.decimal)}\d*)?([eE][+-]?\d+)?$"
    return pc.and_(fine, pc.or_(pc.invert(_matches(texts, sign)), _matches(texts, groups)))


def written_as(cells: pd.Series, pattern: str) -> NDArray[np.bool_]:
    """Which cells of a column are written so, `ANY_NUMBER` or `DATE`, of shape (n_rows,); an empty one is not."""
    texts = pyarrow.array(
        cells.astype("object").map(str, na_action="ignore"), pyarrow.string(), from_pandas=True
    )
    found = _matches(pc.utf8_trim_whitespace(texts), pattern).fill_null(False)
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


def _without_marks(texts: pyarrow.Array) -> tuple[tuple[str, ...], pyarrow.Array]:
    known = pc.is_in(texts, pyarrow.array(sorted(MISSING_AMONG_NUMBERS), pyarrow.string()))
    return tuple(sorted(set(texts.filter(known).to_pylist()))), texts.filter(pc.invert(known))


def _rounded(spelled: pyarrow.Array, values: pyarrow.Array) -> bool:
    """Whether a number beyond 2**53 that is written digit by digit, such as 9007199254740993.0, became another one."""
    beyond = pc.greater_equal(pc.abs(values), 2.0**53)
    if not pc.any(beyond).as_py():
        return False
    texts, numbers = spelled.filter(beyond), values.filter(beyond)
    digits = _matches(texts, r"^[+-]?\d+\.?\d*$")
    pairs = zip(texts.filter(digits).to_pylist(), numbers.filter(digits).to_pylist(), strict=True)
    return any(Decimal(text) != Decimal(number) for text, number in pairs)


def _matches(texts: pyarrow.Array, pattern: str) -> pyarrow.Array:
    return pc.match_substring_regex(texts, pattern)


def _all(texts: pyarrow.Array, pattern: str) -> bool:
    return bool(pc.all(_matches(texts, pattern), min_count=0).as_py())


@dataclass(frozen=True)
class Distinct:
    """The cells of a column as its distinct ones, without surrounding space, and which of them each cell is.

    `index` is None where nearly every cell is another one: then `cells` has all of them.
    """

    cells: pyarrow.Array
    index: NDArray[np.int64] | None

    @classmethod
    def of(cls, texts: pyarrow.Array) -> Distinct:
        sample = texts.slice(0, 5_000)
        if len(texts) > 10_000 and len(sample.unique()) > len(sample) / 2:
            as_they_are = cls(texts, None)
            return cls(pc.utf8_trim_whitespace(texts), None) if as_they_are.floats is None else as_they_are
        encoded = texts.dictionary_encode()
        trimmed = pc.utf8_trim_whitespace(encoded.dictionary).dictionary_encode()  # "M" and "M " are one
        index = encoded.indices.to_numpy(zero_copy_only=False)
        return cls(trimmed.dictionary, trimmed.indices.to_numpy(zero_copy_only=False)[index].astype(np.int64))

    def without(self, marks: Iterable[str]) -> Distinct:
        """Distinct cells with these marks empty."""
        marked = pc.is_in(self.cells, pyarrow.array(list(marks), pyarrow.string()))
        return Distinct(pc.if_else(marked, "", self.cells), self.index)

    @cached_property
    def floats(self) -> pyarrow.Array | None:
        """The cells as numbers, the empty ones missing, where every one is written with digits and a point at most."""
        try:
            found = self._or_missing("").cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            return None
        return None if pc.any(pc.is_nan(found)).as_py() else found

    def _or_missing(self, *marks: str) -> pyarrow.Array:
        """The cells, missing where they are one of these."""
        marked = pc.is_in(self.cells, pyarrow.array(marks, pyarrow.string()))
        if not pc.any(marked).as_py():
            return self.cells
        return pc.if_else(marked, pyarrow.scalar(None, pyarrow.string()), self.cells)

    @cached_property
    def present(self) -> pyarrow.Array:
        """Those that are not empty."""
        there = pc.not_equal(self.cells, "")
        return self.cells if pc.all(there, min_count=0).as_py() else self.cells.filter(there)

    def spread(self, values: Any) -> Any:
        """Values of the distinct cells as values of all cells."""
        return values if self.index is None else values[self.index]

    def texts(self, missing: Iterable[str] = ()) -> pd.Series:
        """The cells as text, missing where they are empty or one of the marks."""
        cells = self._or_missing("", *missing)
        taken = cells if self.index is None else cells.take(pyarrow.array(self.index))
        return pd.Series(taken, dtype="str")

    def numbers(self, how: Numerals) -> pd.Series | None:
        """The cells as numbers; None where one has too many digits to be kept: they stay text."""
        spelled = spell(self._or_missing("", *how.missing), how)
        there = spelled.drop_null()
        if not (_all(there.slice(0, 100), WHOLE) and _all(there, WHOLE)):
            values = (
                self.floats
                if self.floats is not None and how == Numerals()
                else spelled.cast(pyarrow.float64())
            )
            if _rounded(spelled, values):
                return None
            return pd.Series(self.spread(values.to_numpy(zero_copy_only=False)))
        try:
            found = spelled.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            return None
        if not found.null_count:
            return pd.Series(self.spread(found.to_numpy(zero_copy_only=False)))
        if pc.any(pc.greater(pc.abs(found), 2**53), min_count=0).as_py():
            # A floating-point number, which can be empty too, would round it.
            return pd.Series(self.spread(pd.array(found.to_pandas(integer_object_nulls=True), dtype="Int64")))
        return pd.Series(self.spread(found.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)))
