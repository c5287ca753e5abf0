"""One column of a table: what is known of it, and its values as places among declared categories."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synth_core.data.codebook import Entry
from synth_core.data.missing import lone_text
from synth_core.data.spellings import ANY_NUMBER, written_as

OF_A_CODE = 5  # records, at least, that have the same code: amounts of one size hardly repeat
FEW_CODES = 10  # an integer column with at most so many distinct values may be a category
_ID_NAME = re.compile(
    r"(^|[\W_])(id|key|serial(no)?|number|nr|no)$|^(new|c|cu|hh|case|person|record|row)id$", re.I
)
_UNIT_NAME = re.compile(r"^(hh|house(hold)?|dwelling|family|firm|enterprise|establishment)s?$", re.I)


@dataclass(frozen=True)
class Column:
    """What is known of one column, without quoting its values.

    `kind` is "number", "code" (whole numbers that may be a category), "text", "date" or "empty"; `whole` is whether
    a column of numbers has whole ones only, `identifier` whether it seems to name records instead of measuring them.
    `narrow` is whether these differ by less than a factor of two and repeat, as years do and codes such as 101 to 130.
    `lone_text` is the only text in a column that otherwise holds numbers, and stands in `lone_rows` rows: it may mean
    missing.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    note: str = ""
    whole: bool = False
    identifier: bool = False
    lone_text: str = ""
    lone_rows: int = 0
    narrow: bool = False


def describe(series: pd.Series, name: str, entry: Entry | None = None) -> Column:
    """What is known of a column, as its codebook declares it and its values show."""
    missing = int(series.isna().sum())
    present = series.dropna()
    distinct = int(present.nunique())
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
        identifier = whole and kind == "number" and _names_records(series, name, distinct)
        if identifier:
            note = "seems to be an ID"
        ends = (float(present.min()), float(present.max())) if whole else (0.0, 0.0)
        narrow = ends[1] < 2 * ends[0] and OF_A_CODE * distinct <= len(present)
        return Column(name, kind, missing, distinct, note, whole, identifier, narrow=narrow)
    if pd.api.types.is_datetime64_any_dtype(series) or (entry is not None and entry.kind == "date"):
        return Column(name, "date", missing, distinct, note)
    counts = present.astype(str).value_counts(sort=False)  # each text is read once, however often it stands
    token, rows = lone_text(counts.index, counts.to_numpy())
    bad = int(counts[~written_as(counts.index.to_series(), ANY_NUMBER)].sum())
    if 0 < bad < 0.5 * len(present) or token:
        note = "1 cell is not a number" if bad == 1 else f"{bad:,} cells are not numbers"
    elif counts.index.str.casefold().nunique() < distinct:
        note = "some differ in capitals alone"
    return Column(name, "text", missing, distinct, note, lone_text=token, lone_rows=rows)


def _names_records(series: pd.Series, name: str, distinct: int) -> bool:
    """Whether whole numbers number the records, or units of several: by their name, by their order, or by both."""
    counted = distinct == len(series) and (series.is_monotonic_increasing or series.is_monotonic_decreasing)
    together = bool(_UNIT_NAME.search(name)) and int((series != series.shift()).sum()) == distinct
    return bool(_ID_NAME.search(name)) or counted or together
