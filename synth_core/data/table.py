"""The confidential table, validated once at the border, and what is chosen from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from synth_core.data.readers import ReadOptions, read_frame, reader_errors_in_words
from synth_core.errors import InputError
from synth_core.system import limits

FEW_CODES = 10  # an integer column with at most so many distinct values may be a category


@dataclass(frozen=True)
class Column:
    """What is known of one column, without quoting its values.

    `kind` is "number", "code" (whole numbers that may be a category), "text", "date" or "empty".
    """

    name: str
    kind: str
    missing: int
    distinct: int
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table as loaded. `confidential` is False only for public or simulated examples."""

    name: str
    frame: pd.DataFrame
    confidential: bool = True
    read_options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def rows(self) -> int:
        return len(self.frame)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of names, types and values, of 16 hex digits: which table a result is of."""
        digest = hashlib.sha256()
        for column in self.frame.columns:
            series = self.frame[column]
            digest.update(repr((column, str(series.dtype), len(series))).encode())
            digest.update(pd.util.hash_pandas_object(series, index=False).to_numpy().tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(_describe(self.frame[name], name) for name in self.frame.columns)

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        near = [c.name for c in self.columns if c.name.strip().lower() == name.strip().lower()]
        hint = f" Did you mean '{near[0]}'?" if near else ""
        listed = ", ".join(c.name for c in self.columns[:20])
        more = ", …" if len(self.columns) > 20 else ""
        raise InputError(f"{self.name} has no column '{name}'.{hint} It has: {listed}{more}.")


def read_table(
    content: bytes, name: str, options: ReadOptions = ReadOptions(), confidential: bool = True
) -> Table:
    """Read, check and describe a file's bytes; raises InputError in plain words, whatever the file holds."""
    frame, used = read_frame(content, name, options)
    table = Table(name, frame, confidential, used)
    with reader_errors_in_words(name):
        table.columns  # noqa: B018  described here, where a failure can be said
    return table


def open_table(path: str) -> Table:
    """Read a table from a file of the user's."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.") from None
    return read_table(content, file.name)


def _describe(series: pd.Series, name: str) -> Column:
    missing = int(series.isna().sum())
    present = series.dropna()
    plain = series.dtype != object or all(map(np.isscalar, present))
    distinct = int(present.nunique()) if plain else len(present)
    if present.empty:
        return Column(name, "empty", missing, 0, "no values")
    note = "constant" if distinct == 1 else ""
    if pd.api.types.is_bool_dtype(series):
        return Column(name, "code", missing, distinct, note)
    if pd.api.types.is_numeric_dtype(series):
        infinite = int(np.isinf(present.to_numpy(dtype=float)).sum())
        if infinite:
            note = f"{infinite:,} infinite"
        whole = bool((present.to_numpy(dtype=float) % 1 == 0).all()) if not infinite else False
        kind = "code" if whole and distinct <= FEW_CODES else "number"
        return Column(name, kind, missing, distinct, note)
    if pd.api.types.is_datetime64_any_dtype(series):
        return Column(name, "date", missing, distinct, note)
    counts = present.astype(str).value_counts(sort=False)  # each text is read once, however often it stands
    bad = int(counts[pd.to_numeric(counts.index.to_series(), errors="coerce").isna().to_numpy()].sum())
    if 0 < bad < 0.5 * len(present):
        note = f"{bad:,} cells are not numbers"
    return Column(name, "text", missing, distinct, note)


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
        bad = np.isnan(values) & series.notna().to_numpy()
        if bad.any():
            raise InputError(
                f"Column '{name}' must be a number, and {bad.sum():,} of its {table.rows:,} cells "
                f"are not (first in row {int(np.argmax(bad)) + 1}). If these mark missing values, "
                f"leave the cells empty; if numbers use a decimal comma, say so when loading."
            )
    infinite = np.isinf(values)
    if infinite.any():
        raise InputError(
            f"Column '{name}' has {infinite.sum():,} infinite values "
            f"(first in row {int(np.argmax(infinite)) + 1})."
        )
    if column.distinct == 1:
        raise InputError(f"Column '{name}' is constant: there is nothing to synthesize.")
    return values


def check_rows(n: int, dropped: int) -> None:
    """Refuse a table that is too short once incomplete rows are left out."""
    if n < limits.MIN_ROWS:
        lost = f" ({dropped:,} more have missing values)" if dropped else ""
        raise InputError(f"Only {n:,} complete rows{lost}; at least {limits.MIN_ROWS} are needed.")
