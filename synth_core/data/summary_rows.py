"""Rows of a file that are no records: totals, means and notes below a table, lines of names in it. They are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.missing import as_number
from synth_core.data.reading import Read
from synth_core.data.spellings import ANY_NUMBER, written_as
from synth_core.data.typed_file import cell_text
from synth_core.errors import InputError

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]
# Values beside it that are not 0, from which on a row that is their sum is a total and no chance.
ADDED_UP = 10
_LOOKED_AT = 100  # rows, before all are
_LARGEST = 1e100
# Statistics, and what a row of them is called. The words before the bar are hardly anything else.
_CALLED: tuple[tuple[Callable[[Array], float], str], ...] = (
    (
        np.sum,
        "total, totals, grand total, gesamt, insgesamt, summe, totale, totaal, razem, celkem, összesen, yhteensä, "
        "итого, всего, 合計, 合计, 总计, 總計 | sum, all, overall, ensemble, i alt, suma",
    ),
    (
        np.mean,
        "mean, average, mittelwert, durchschnitt, moyenne, promedio | avg, mittel, media, média, gemiddelde",
    ),
    (np.median, "median, médiane | mediana, mediaan"),
    (lambda values: float(np.std(values, ddof=1)), "stdev, std. dev, std dev, standard deviation | sd, std"),
    (np.min, "| min, minimum"),
    (np.max, "| max, maximum"),
    (lambda values: float(len(values)), "| n, count, obs, observations, anzahl, number"),
)
_STATISTICS = {
    word: statistic for statistic, words in _CALLED for word in re.split(r" ?[,|] ?", words) if word
}
_SURE = {word for _, words in _CALLED for word in words.split("|")[0].strip().split(", ") if word}


def with_records_alone(read: Read, name: str) -> Read:
    """What was read, unless a row of it is no record.

    Raises
    ------
    InputError
        That names the row, and no value.
    """
    _refuse_a_record_of_names(read.frame, name)
    _refuse_names(read.frame, name)
    _refuse_note(read.frame, name)
    _refuse_computed(read.frame, name)
    _refuse_called(read.frame, name)
    return read


def _refuse_a_record_of_names(frame: pd.DataFrame, name: str) -> None:
    """Refuse a file whose names are numbers as its cells are: it has no line of names, and a record became it.

    Years, codes and numbers of questions are names too. They are whole, and not among the numbers of their own columns
    or in steps of one size.
    """
    named = {column: as_number(str(column)) for column in frame.columns}
    numbers = {column: number for column, number in named.items() if number is not None}
    whole = all(number % 1 == 0 for number in numbers.values())
    steps = set(np.diff(list(numbers.values())).tolist())
    if not numbers or (
        whole and (len(numbers) < 2 or (len(steps) == 1 and (len(numbers) > 2 or steps == {1.0})))
    ):
        return
    for column, number in numbers.items():
        if not pd.api.types.is_numeric_dtype(frame[column]):
            return
        if number % 1 == 0 and not (frame[column] == number).any():
            return
    raise InputError(
        f"The first line of {name} seems to be a record, whose numbers would be the names of columns. Write a line of "
        "names above it."
    )


def _refuse_names(frame: pd.DataFrame, name: str) -> None:
    """Refuse a row that repeats the names, and a first one that holds words above numbers: names, or units."""
    repeated: Rows | None = None
    for column in frame.columns:
        cells = frame[column]
        if pd.api.types.is_numeric_dtype(cells) or (repeated is not None and not repeated.any()):
            repeated = None
            break
        here: Rows = (cells == column).to_numpy(dtype=bool, na_value=False)
        repeated = here if repeated is None else repeated & here
    if repeated is not None and repeated.any():
        raise InputError(
            f"Row {int(np.argmax(repeated)) + 1:,} of {name} repeats the names of the columns: it is no record. Leave "
            "it out."
        )
    words = {column: str(frame[column].iloc[0]) for column in frame.columns if _is_word_above(frame[column])}
    if len(set(words.values())) > 1:
        first, second = list(words)[:2]
        raise InputError(
            f"Row 1 of {name} holds words, in '{first}' and '{second}' for example, and numbers stand below: it seems "
            "to be a line of names, or of units, and no record. Leave out that line, or what stands above the names."
        )


def _is_word_above(cells: pd.Series) -> bool:
    """Whether a column holds numbers, but for a word in its first row."""
    if len(cells) <= ADDED_UP or not isinstance(cells.iloc[0], str):
        return False
    for part in cells.iloc[:_LOOKED_AT], cells:
        numbers = written_as(part, ANY_NUMBER)
        if numbers[0] or not numbers[1:].any() or not (numbers[1:] | part.iloc[1:].isna().to_numpy()).all():
            return False
    return any(map(str.isalpha, cells.iloc[0]))


def _refuse_note(frame: pd.DataFrame, name: str) -> None:
    """Refuse a last row of one cell, a sentence such as a source, below cells that are none."""
    last = frame.iloc[-1]
    [first, *others] = np.flatnonzero(last.notna()).tolist() or [0]
    text = last.iloc[first]
    if others or len(last) < 2 or len(frame) <= ADDED_UP or not isinstance(text, str):
        return
    column = frame.columns[first]
    above = frame[column].iloc[:-1].dropna().map(cell_text)
    if not above.empty and len(text.split()) > 1 and all(len(cell.split()) == 1 for cell in above.unique()):
        raise InputError(
            f"Row {len(frame):,} of {name} holds words in '{column}' and nothing in any other column: it seems to be a "
            "note below the table, and no record. Leave it out."
        )


def _refuse_called(frame: pd.DataFrame, name: str) -> None:
    """Refuse a first or last row that is called a total, a mean or the like.

    Its numbers are what it is called; or the word is a sure one, and the others of its column name a record each.
    """
    numeric = [each for each in frame.columns if pd.api.types.is_numeric_dtype(frame[each])]
    for column in frame.columns.difference(numeric, sort=False):
        for step in (-1, 1):
            rows = _called(frame[column], step)
            if not rows:
                continue
            others = np.ones(len(frame), dtype=bool)
            others[rows] = False
            rest = frame[column][others]
            row, word = rows[0], _word(frame[column].iloc[rows[0]])
            if rest.map(_word, na_action="ignore").eq(word).any() or others.sum() <= ADDED_UP:
                continue
            sure = word in _SURE and 2 * rest.nunique() > len(rest)
            if _said(frame[column].iloc[row]) != word:  # more is said
                sure = sure and _is_largest(frame, numeric, row, others)
            if sure or _agree(frame, numeric, row, others, _STATISTICS[word]):
                raise InputError(
                    f"Row {row + 1:,} of {name} is called a total, a mean or the like in '{column}': it is no record. "
                    "Leave out all rows that say something of the others."
                )


def _called(cells: pd.Series, step: int) -> list[int]:
    """The rows at one end of a column that are called so, from the end on."""
    found = []
    for place in range(min(len(cells), _LOOKED_AT)):
        row = place if step > 0 else len(cells) - 1 - place
        if _word(cells.iloc[row]) not in _STATISTICS:
            break
        found.append(row)
    return found


def _said(cell: object) -> str:
    return cell.strip(" .:()").casefold() if isinstance(cell, str) else ""


def _word(cell: object) -> str:
    """A cell in small letters; of one that begins with a sure word, as "Total (weighted)" does, that word."""
    said = _said(cell)
    first = re.split(r"[\s,:(]", said, maxsplit=1)[0]
    return first if first in _SURE and said not in _STATISTICS else said


def _is_largest(frame: pd.DataFrame, numeric: list[str], row: int, others: Rows) -> bool:
    """Whether the numbers of a row, all that there are, lie above all others of their columns."""
    found = []
    for column in numeric:
        values = _summable(frame[column])
        if np.isfinite(values[row]) and np.isfinite(values[others]).any():
            found.append(values[row] > np.nanmax(values[others]))
    return bool(found) and all(found)


def _agree(
    frame: pd.DataFrame, numeric: list[str], row: int, others: Rows, statistic: Callable[[Array], float]
) -> bool:
    """Whether the numbers of a row are this statistic of the others, to the digits that they are written with."""
    found = []
    for column in numeric:
        values = _summable(frame[column])
        rest = values[others & np.isfinite(values)]
        if np.isfinite(values[row]) and len(rest) > ADDED_UP and np.ptp(rest) > 0:
            found.append(_is_rounded(values[row], float(statistic(rest))))
    return any(found) and 2 * sum(found) > len(found)


def _summable(cells: pd.Series) -> Array:
    """The numbers of a column, missing as NaN; so are those that no sum can hold, which are none of a record."""
    values = cells.to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.abs(values) < _LARGEST, values, np.nan)


def _decimals(value: float) -> int:
    return max(0, -int(Decimal(repr(float(value))).normalize().as_tuple().exponent))


def _is_rounded(value: float, exact: float) -> bool:
    """Whether a number is another one, rounded to as many decimals as it has."""
    return abs(value - exact) <= 0.5000001 * 10.0 ** -_decimals(value) + 1e-12 * abs(exact)


def _refuse_computed(frame: pd.DataFrame, name: str) -> None:
    """Refuse a first or last row that is the sum of all others, or their mean with more decimals than any has.

    With subtotals among them the others add up to twice as much. Only columns of one sign tell of a sum: among gains
    and losses a record may be the sum of the others by chance.
    """
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            continue
        values = _summable(frame[column])
        there = values[np.isfinite(values)]
        if np.count_nonzero(there) <= ADDED_UP:
            continue
        for row in (len(values) - 1, 0):
            if _is_total(values[row], there, row > 0):
                raise InputError(
                    f"Row {row + 1:,} of {name} holds in '{column}' the sum of all other rows: a total is no record. "
                    "Leave that row out, and subtotals too."
                )
            if _is_mean(values[row], there[:-1] if row else there[1:]):
                raise InputError(
                    f"Row {row + 1:,} of {name} holds in '{column}' the mean of all other rows: a mean is no record. "
                    "Leave that row out."
                )
        if there.min() >= 0 and _ends_in_its_sum(there) and len(set(_subtotals(there, 2))) > 1:
            raise InputError(
                f"The rows of {name} hold in '{column}' groups that are each followed by their sum: subtotals are no "
                "records. Leave them out."
            )


def _is_total(value: float, there: Array, last: bool) -> bool:
    total = np.isclose([2 * value, 3 * value], there.sum(), rtol=1e-12, atol=0.0)
    if there.min() < 0 < there.max():
        return False
    return bool(total[0] or (total[1] and len(_subtotals(there[:-1] if last else there[1:][::-1])) > 1))


def _is_mean(value: float, others: Array) -> bool:
    """Whether a number with more decimals than any of the others is their mean, to these decimals."""
    if not np.isfinite(value) or not _is_rounded(value, float(others.mean())):
        return False
    decimals = _decimals(value)
    return decimals > 0 and bool((np.round(others, decimals - 1) == others).all())


def _ends_in_its_sum(values: Array) -> bool:
    """Whether the last number is the sum of two or more just before it."""
    added = np.cumsum(values[-2::-1])[1:]
    return bool(np.isclose(added, values[-1], rtol=1e-12, atol=0.0).any())


def _subtotals(values: Array, least: int = 1) -> list[float]:
    """The sums of numbers that are, in this order, groups of `least` or more that are not 0, each followed by its sum.

    Empty where they are not. Waves 1, 2 and 3 of each person are such groups too, and all have the same sum.
    """
    added, members, found = 0.0, 0, []
    for value in values.tolist():
        if members >= least and math.isclose(value, added, rel_tol=1e-12):
            found.append(value)
            added, members = 0.0, 0
        else:
            added, members = added + value, members + (value != 0)
    return [] if added else found
