"""A predictor's values, as numbers or as categories, and what of them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synth_core.data.column import FEW_CODES
from synth_core.data.missing import cell_texts
from synth_core.data.outcome import LARGEST, SMALLEST, check_exact
from synth_core.data.spellings import ANY_NUMBER, DATE, without_dress, written_as
from synth_core.data.table import Table
from synth_core.data.telling import is_multiple
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import seen, unseen
from synth_core.system.number_text import is_or_are

N_UNITS = 2  # words of one unit, such as year and years, or K and M


def predictor_values(table: Table, name: str, as_category: bool) -> pd.Series:
    """The numbers or categories of a predictor, missing as NaN; raises InputError where they are not to be used so."""
    column = table.column(name)
    table.check_use(name, kept=True)
    if as_category:
        table.check_codes(name)
    else:
        table.checked_number(name)
        _refuse_mixed(table, name)
    series = table.frame[name].reset_index(drop=True)
    if column.kind == "empty":
        raise InputError(f"Predictor '{name}' has no values.")
    if column.kind == "date" and (pd.api.types.is_datetime64_any_dtype(series) or not as_category):
        raise InputError(f"Predictor '{name}' holds dates; turn it into a number or a category.")
    if as_category or column.kind == "text" or pd.api.types.is_bool_dtype(series):
        if column.distinct > limits.MAX_LEVELS:
            raise InputError(
                f"Predictor '{name}' has {column.distinct:,} categories; at most "
                f"{limits.MAX_LEVELS} can be used. Group them, or leave the column out."
            )
        series = series.astype("object").where(series.notna(), None).astype("category")
        _check_looks(series, name)
    else:
        check_exact(series, name)
        numbers = series.to_numpy(dtype=float, na_value=np.nan)
        if np.isinf(numbers).any():
            raise InputError(
                f"Predictor '{name}' has infinite values "
                f"(first in row {int(np.argmax(np.isinf(numbers))) + 1})."
            )
        largest = np.nanmax(np.abs(numbers))
        if largest > 0 and not SMALLEST < largest < LARGEST:
            raise InputError(
                f"Predictor '{name}' has values of about {largest:.0e} (first in row "
                f"{int(np.nanargmax(np.abs(numbers))) + 1:,}). If they mean missing, name them (page Data, or "
                "--missing); if not, give it another unit."
            )
        series = pd.Series(numbers)
    return series


def check_numbers(
    columns: dict[str, pd.Series], complete: np.ndarray, values: np.ndarray, outcome: str
) -> None:
    """Refuse sensitive numbers that are all alike, and a predictor that is a copy or a multiple of them.

    Such a predictor would be released as it is.
    """
    if np.ptp(values) == 0:
        raise InputError(f"Column '{outcome}' is constant in the complete rows.")
    for name, series in columns.items():
        if is_multiple(series[complete], values):
            raise InputError(
                f"Predictor '{name}' tells '{outcome}' exactly, as a copy or a multiple of it does, and a predictor is "
                "released as it is: leave it out."
            )


def _check_looks(series: pd.Series, name: str) -> None:
    """Refuse categories that are not to be told by looking at them; raises InputError with a row."""
    looks: set[str] = set()
    for level in series.cat.categories:
        look = seen(str(level))
        if character := unseen(str(level)):
            raise InputError(
                f"Predictor '{name}' has a category with a character that cannot be seen ({character}, first in "
                f"{_row_of(series, level)}). Correct it, or leave the column out."
            )
        if look in looks:
            raise InputError(
                f"Predictor '{name}' has two categories that look alike, of other letters or spaces (one of them first "
                f"in {_row_of(series, level)}). Write them alike, or leave the column out."
            )
        looks.add(look)


def _row_of(series: pd.Series, level: Any) -> str:
    return f"row {int(np.argmax(series == level)) + 1:,}"


def _with_units(cells: pd.Series) -> np.ndarray:
    """Which cells are a number and the word of a unit, as in 12 years or 1.5K; none where these words are many."""
    parts = cells.map(without_dress).str.extract(r"^(.*\d)\s*([^\W\d_]+\.?)$")
    found = written_as(parts[0], ANY_NUMBER)
    # Codes have letters behind their digits too, of many kinds.
    return found if 0 < parts.loc[found, 1].nunique() <= N_UNITS else np.zeros(len(cells), dtype=bool)


def _refuse_mixed(table: Table, name: str) -> None:
    """Refuse numbers or dates among which a few cells are none: as categories they would be as many as they are.

    A table that was not read from a file has no entry: it was made of one that was looked at.
    """
    column, series = table.column(name), table.frame[name]
    few = column.distinct <= FEW_CODES
    of_a_file = table.codebook.get(name) is not None
    if column.kind != "text" or few or not of_a_file or table.declared_codebook.get(name) is not None:
        return
    codes, distinct = pd.factorize(cell_texts(series))
    cells, counts = pd.Series(distinct), np.bincount(codes[codes >= 0])
    numbers, dates = written_as(cells, ANY_NUMBER), written_as(cells, DATE)
    word, alike = ("dates", dates) if counts @ dates > counts @ numbers else ("numbers", numbers)
    n_other, half = int(counts @ ~alike), counts.sum() / 2

    def first(refused: np.ndarray) -> str:
        return f"first in row {int(np.argmax(np.append(refused, False)[codes])) + 1:,}"

    if 0 < n_other < half:
        raise InputError(
            f"Predictor '{name}' holds {word}, and {n_other:,} of its {table.rows:,} cells {is_or_are(n_other)} "
            f"none ({first(~alike)}). "
            "If they mean missing, name them (page Data, or --missing); if the column is one of categories, declare it "
            "so in the codebook (page Data; --categorical)."
        )
    if n_other:
        odd = written_as(cells.map(without_dress), ANY_NUMBER) & ~numbers
        odd &= counts @ (odd | numbers) > half
        said = "with other signs, of a currency, of percent or of a bound, or in those of another country"
        if not odd.any():
            odd, said = _with_units(cells), "with their unit"
            odd &= counts @ (odd | numbers) > half
    else:
        check_exact(series, name)
        plain = pd.to_numeric(cells, errors="coerce").notna().to_numpy()
        odd, said = numbers & ~plain, "in several ways, some with a comma or in groups"
    if odd.any():
        raise InputError(
            f"Predictor '{name}' holds numbers that are written {said} ({first(odd)}). Write them alike and without "
            "signs; if the column is one of categories, declare it so in the codebook (page Data; --categorical)."
        )
