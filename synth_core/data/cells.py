"""What cells of text mean: numbers with their signs, dates, codes, missing marks.

Everything is decided by the distinct cells of a whole column, not by its first rows, and by rules that can be said.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow
import pyarrow.compute as pc

from synth_core.data.distinct import Distinct
from synth_core.data.spellings import (
    BY_LETTER,
    COMMA_DECIMAL,
    COMMA_GROUPS,
    DATE,
    DAY_AS_NUMBER,
    INFINITE,
    LEADING_ZERO,
    NO_CODE,
    NUMBER,
    PERIOD,
    POINT_GROUP,
    POINT_GROUPS,
    RANGE,
    SPACE_GROUPS,
    SPACES,
    SPOILT,
    Numerals,
    all_match,
    matches,
    readable,
    spell,
)

DAYS_BY_CHANCE = 5  # distinct numbers, from which on they are all such no more by chance
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
    plain = pc.or_(matches(distinct, NUMBER), matches(distinct, INFINITE))
    if pc.all(plain).as_py():
        return _points(distinct, delimiter, ())
    marks, rest = _without_marks(distinct.filter(pc.invert(plain)))
    numbers = distinct.filter(plain)
    if not len(rest):
        return _points(numbers, delimiter, marks) if len(numbers) else Finding("text")
    finding = _with_signs(numbers, rest, marks)
    if finding is not None:
        return finding
    if not len(numbers) and all_match(rest, DATE):
        return Finding("date", reason="every cell is written as a date")
    return Finding("text", reason=_doubt(distinct))


def _doubt(distinct: pyarrow.Array) -> str:
    """What texts may be instead of categories, or have been before; empty where there is no doubt."""
    if len(distinct) > 1 and all_match(distinct, PERIOD):
        return "cells look like dates or periods, and are categories here"
    if pc.any(matches(distinct, SPOILT)).as_py() and pc.any(matches(distinct, RANGE)).as_py():
        return "beside ranges some cells are days, which a spreadsheet may have made of ranges such as 5-9"
    return ""


def _points(numbers: pyarrow.Array, delimiter: str, marks: tuple[str, ...]) -> Finding:
    """Numbers with points only."""
    said = f"; {', '.join(marks)} among numbers mean missing" if marks else ""
    if _leading_zeros(numbers):
        return Finding("text", reason="codes with leading zeros")
    dotted = numbers.filter(pc.match_substring(numbers, "."))
    if not len(dotted) and pc.any(matches(numbers, BY_LETTER)).as_py():
        return Finding("number", None, (Numerals(missing=marks),), reason="digits around a letter")
    if not len(dotted) and len(numbers) >= DAYS_BY_CHANCE and all_match(numbers, DAY_AS_NUMBER):
        return Finding("date", reason="every cell is a day as 20240131")
    if not len(dotted):
        return Finding("number", Numerals(missing=marks), reason="whole numbers" + said)
    if delimiter == "," and not _grouped_by_points(numbers, dotted):
        return Finding("number", Numerals(missing=marks), reason="a decimal point" + said)
    if all_match(dotted.slice(0, 100), POINT_GROUP) and all_match(dotted, POINT_GROUP):
        both = Numerals(".", "", marks), Numerals(",", ".", marks)
        return Finding("number", None, both, reason="exactly three digits")
    sure = "." if pc.any(matches(dotted, NO_CODE)).as_py() else ""
    return Finding("number", Numerals(missing=marks), decided=sure, reason="a decimal point" + said)


def _grouped_by_points(numbers: pyarrow.Array, dotted: pyarrow.Array) -> bool:
    """Whether points seem to part thousands, as in 900, 1.500 and 12.625: no program writes decimals so.

    With so many decimals each number would have a point, and without trailing zeros 1.500 would be 1.5.
    """
    return (
        all_match(dotted, POINT_GROUP)
        and pc.any(pc.ends_with(dotted, "0")).as_py()
        and pc.any(matches(numbers, r"^[1-9]\d{0,2}$")).as_py()
    )


def _leading_zeros(numbers: pyarrow.Array) -> bool:
    """Whether a number begins as a code does, 01."""
    first = numbers.filter(pc.or_(pc.starts_with(numbers, "0"), pc.starts_with(numbers, "-0")))
    return bool(pc.any(matches(first, LEADING_ZERO), min_count=0).as_py())


def _with_signs(numbers: pyarrow.Array, rest: pyarrow.Array, marks: tuple[str, ...]) -> Finding | None:
    """Numbers of which some (`rest`) have commas, points or spaces between groups of three digits."""
    dotted = numbers.filter(pc.match_substring(numbers, "."))
    spaced = matches(rest, SPACE_GROUPS)
    comma = pc.any(pc.match_substring(rest, ",")).as_py()
    small = matches(rest, COMMA_DECIMAL) if comma else pyarrow.array([False] * len(rest))
    if pc.any(spaced).as_py() and pc.all(pc.or_(spaced, small)).as_py() and not (comma and len(dotted)):
        sign = next(each for each in rest.filter(spaced)[0].as_py() if each in SPACES)
        return Finding("number", Numerals("," if comma else ".", sign, marks), reason="grouped by threes")
    in_groups = all_match(rest, COMMA_GROUPS)
    points = pc.or_(matches(rest, COMMA_DECIMAL), matches(rest, POINT_GROUPS))
    by_comma = pc.all(points).as_py() and all_match(dotted, POINT_GROUP)
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


def _without_marks(texts: pyarrow.Array) -> tuple[tuple[str, ...], pyarrow.Array]:
    known = pc.is_in(texts, pyarrow.array(sorted(MISSING_AMONG_NUMBERS), pyarrow.string()))
    return tuple(sorted(set(texts.filter(known).to_pylist()))), texts.filter(pc.invert(known))
