"""A sensitive column as numbers, or as codes of its declared categories, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from synth_core.data.categories import NO_CATEGORY
from synth_core.data.spellings import ANY_NUMBER, written_as
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import seen
from synth_core.system.number_text import is_or_are, number_of, those_that

# Of a sensitive number: beyond, it is an error of its file, such as the largest number of 32 bits, about 3.4e38, that
# programs write for a missing value.
SMALLEST, LARGEST = 1e-37, 1e30
MOST_NAMED = 10  # codes, in an error


def check_exact(series: pd.Series, name: str) -> None:
    """Refuse whole numbers that a floating-point number would round; raises InputError naming the row."""
    if pd.api.types.is_float_dtype(series) or pd.api.types.is_bool_dtype(series):
        return
    if pd.api.types.is_integer_dtype(series):
        beyond = ((series > 2**53) | (series < -(2**53))).to_numpy(dtype=bool, na_value=False)
    else:
        values = pd.to_numeric(series.astype("object"), errors="coerce").to_numpy(
            dtype=float, na_value=np.nan
        )
        beyond = np.abs(values) >= 2.0**53  # one more may have been rounded to it
    if beyond.any():
        raise InputError(
            f"Column '{name}' holds whole numbers beyond {2**53:,} (first in row {int(np.argmax(beyond)) + 1}), which "
            "would be rounded. Give it another unit, or read it as a category if it is a code."
        )


def numeric_outcome(table: Table, name: str) -> np.ndarray:
    """The sensitive column as floats, missing as NaN, of shape (n_rows,).

    Raises
    ------
    InputError
        If the column is empty, is not a number in every present cell, is infinite somewhere or
        is constant, or holds whole numbers that would be rounded. The row is named, the value is not.
    """
    column = table.column(name)
    table.check_use(name)
    table.checked_number(name)
    series = table.frame[name]
    if column.kind == "empty":
        raise InputError(f"Column '{name}' has no values.")
    if column.kind == "date":
        raise InputError(f"Column '{name}' holds dates; the sensitive variable must be a number.")
    check_exact(series, name)
    if pd.api.types.is_numeric_dtype(series):
        values = series.to_numpy(dtype=float, na_value=np.nan)
    else:
        values = pd.to_numeric(series.astype("object"), errors="coerce").to_numpy(dtype=float)
        bad = _no_numbers(series, values)
        if bad.sum() == series.notna().sum():
            plain = " Choose another."
            if series.astype("str").str.contains(r"\d").any():
                plain = (
                    " Choose another, or write its numbers in the digits 0 to 9, without signs of a currency, percent "
                    "or letters, and with one minus sign before them."
                )
            raise InputError(
                f"Column '{name}' must be a number to be synthesized, and holds text only.{plain}"
            )
        if bad.any():
            raise InputError(
                f"Column '{name}' must be a number, and {bad.sum():,} of its {table.rows:,} cells "
                f"{is_or_are(bad.sum())} not (first in row {int(np.argmax(bad)) + 1}). If these mark missing values, "
                "name them among the values that mean missing (page Data, or --missing N); if numbers use a decimal "
                "comma, say so when loading; if they have signs of a currency or the like, write them without."
            )
    infinite = np.isinf(values)
    if infinite.any():
        raise InputError(
            f"Column '{name}' has {number_of(infinite.sum(), 'infinite value')} "
            f"(first in row {int(np.argmax(infinite)) + 1})."
        )
    size = np.abs(values)
    absurd = ((size > 0) & (size < SMALLEST)) | (size > LARGEST)
    if absurd.any():
        raise InputError(
            f"Column '{name}' has {number_of(absurd.sum(), 'value')} nearer to 0 than {SMALLEST:g} or beyond "
            f"{LARGEST:g} (first in row {int(np.argmax(absurd)) + 1}). Readers of SAS transport files leave 5.4e-79 "
            "where a zero stood, and some programs write 3.4e38 for a missing value: write what is meant, or give "
            "another unit."
        )
    if column.distinct == 1:
        raise InputError(f"Column '{name}' is constant: there is nothing to synthesize.")
    return values


def _no_numbers(series: pd.Series, values: np.ndarray) -> np.ndarray:
    """Which texts are no number in any spelling, of shape (n_rows,); without such, those in another than `values`."""
    bad = np.isnan(values) & series.notna().to_numpy()
    if not bad.any():  # as a rule
        return bad
    other = bad & ~written_as(series, ANY_NUMBER)
    return other if other.any() else bad


def category_codes(table: Table, name: str, categories: tuple[str, ...]) -> np.ndarray:
    """The places of a column's values among its declared categories, missing as NaN, of shape (n_rows,).

    Raises
    ------
    InputError
        If none are declared, or a value is no declared category: the row is named, the value is not.
    """
    table.check_use(name)
    if len(categories) < 2:
        raise InputError(
            f"Declare the categories of '{name}', two or more (--categories). Take them from the questionnaire and "
            f"not from the table: which of them occur is confidential."
        )
    if table.column(name).kind == "empty":
        raise InputError(f"Column '{name}' has no values.")
    codes = table.category_places(name, categories)
    other = codes == NO_CATEGORY
    if other.any():
        raise InputError(
            f"Column '{name}' has {those_that(other.sum(), 'value')} none of its "
            f"{len(categories)} declared categories "
            f"(first in row {int(np.argmax(other)) + 1}). {_way_out(table, name, other, categories)}"
        )
    return codes


def _way_out(table: Table, name: str, other: np.ndarray, categories: tuple[str, ...]) -> str:
    """What to do about values that are no declared category: one that looks as such is no other category."""
    entry, values = table.codebook.get(name), table.frame[name][other]
    labels = () if entry is None else entry.labels
    if entry is not None and len(set(labels)) < len(labels) and set(categories) <= set(labels):
        return (
            "These are labels, of which the file gives one to several codes: declare the codes, which are "
            f"{', '.join(entry.categories[:MOST_NAMED])}{', …' if len(entry.categories) > MOST_NAMED else ''}."
        )
    declared = {seen(category).casefold() for category in categories}
    if any(seen(str(value)).casefold() in declared for value in values.unique()):
        return (
            "At least one looks like a declared category, and differs in capitals, spaces, letters of another alphabet "
            "or signs that cannot be seen: write it in the table as it is declared."
        )
    parts = {part.strip() for value in values.unique() for part in str(value).split(",") if "," in str(value)}
    if parts and any(category.strip(" \"'") in parts for category in categories):
        return "At least one holds a comma, and was cut there as it was declared: write | between the categories."
    return "Declare the category too, or correct the table."


def outcome_values(table: Table, name: str, categories: tuple[str, ...] | None) -> np.ndarray:
    """The sensitive column as numbers, or as codes of declared categories, missing as NaN; raises InputError."""
    return numeric_outcome(table, name) if categories is None else category_codes(table, name, categories)


def outcome_column(values: np.ndarray, categories: tuple[str, ...] | None) -> np.ndarray:
    """Numbers as they are; codes as their categories; of shape (n_rows,), missing codes as None."""
    if categories is None:
        return values
    present = np.isfinite(values)
    found = np.full(len(values), None, dtype=object)
    found[present] = np.array(categories, dtype=object)[values[present].astype(int)]
    return found


def check_rows(n: int, dropped: int, dropped_by: Mapping[str, int] | None = None, decided: str = "") -> None:
    """Refuse a table that is too short once incomplete rows are left out.

    Parameters
    ----------
    decided : str
        The variable that rows were left out of because rules decide them; empty where none were.
    dropped_by : mapping, optional
        How many rows each column alone leaves out: those that lose most are named.
    """
    if n < limits.MIN_ROWS:
        why = "are decided by rules or have missing values" if decided else "have missing values"
        lost = f" ({dropped:,} more {why})" if dropped else ""
        worst = sorted(((count, name) for name, count in (dropped_by or {}).items() if count), reverse=True)
        named = ", ".join(f"{name} in {count:,}" for count, name in worst[:3])
        most = f" Most are missing of: {named}." if named else ""
        of = f" of '{decided}'" if decided else ""
        hint = (
            " Where rules say of every record whether a value is missing, say it in one that holds both ways: "
            "CONDITION <-> COLUMN missing."
        )
        raise InputError(
            f"Only {n:,} complete rows{of}{lost}; at least {limits.MIN_ROWS} are needed.{most}{hint if decided else ''}"
        )
