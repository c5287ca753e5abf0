"""A column's values as places among declared categories, and codes that only their spelling tells apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc

from synth_core.data.distinct import Distinct
from synth_core.errors import InputError

NO_CATEGORY = -1.0  # the code of a value that is no declared category
_WHOLE = r"^([+-]?\d+)[.,]0+$"  # 1.0 beside blanks is 1


def category_places(
    series: pd.Series,
    categories: tuple[str, ...],
    cells: pyarrow.Array | None = None,
    marks: Collection[str] = (),
    others: Mapping[str, str] = {},
) -> np.ndarray:
    """Places among the categories, `NO_CATEGORY` of other values, missing as NaN.

    A category may be declared as the file writes it, such as 10.10, or None among numbers, where nobody said that this
    means missing; or in another spelling, unless the file has both: then these are two codes.

    Parameters
    ----------
    cells : pyarrow.Array, optional
        As the file writes them.
    marks : collection of str
        Texts that mean missing.
    others : mapping
        What else a value is called: of a label that stands for a code in the file the code, or of a code its label.
    """
    present = series.notna().to_numpy()
    values = series[present]
    # Among objects 1 and True are one to pandas, and two to a reader.
    index, kinds = (np.arange(len(values)), values) if values.dtype == object else pd.factorize(values)
    place = {category: float(i) for i, category in enumerate(categories)}
    typed = np.full(len(series), np.nan)
    spelled = ((*own, *_spellings(others.get(own[0], ""))) for own in map(_spellings, kinds))
    found = [next((place[each] for each in texts if each in place), NO_CATEGORY) for texts in spelled]
    typed[present] = np.array(found, dtype=float)[index]
    return typed if cells is None else _as_written(typed, cells, place, marks)


def _as_written(
    typed: np.ndarray, cells: pyarrow.Array, place: Mapping[str, float], marks: Collection[str]
) -> np.ndarray:
    """Places by what the file writes, and those of another spelling where it does not write the category itself."""
    distinct = Distinct.of(cells)
    texts = distinct.cells.to_pylist()
    own, whole = (
        np.array([np.nan if text in marks else place.get(text, np.nan) for text in spelled])
        for spelled in (texts, [re.sub(_WHOLE, r"\1", text) for text in texts])
    )
    another_code = np.isin(typed, own) & (distinct.spread(whole) != typed)
    own = distinct.spread(own)
    return np.where(np.isnan(own), np.where(another_code, NO_CATEGORY, typed), own)


def _spellings(value: object) -> tuple[str, ...]:
    """A category as files write it: a code 1 as 1 or, beside blanks, 1.0, and a logical value in three ways."""
    if isinstance(value, float | np.floating) and value % 1 == 0:
        return (str(int(value)),)
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text, text.capitalize(), text.upper(), text.lower()
    return text, re.sub(_WHOLE, r"\1", text)


def check_told_apart(series: pd.Series, cells: pyarrow.Array | None, name: str) -> None:
    """Refuse numbers that are used as codes where the file writes one in several ways: 10.1 and 10.10 may be two.

    Raises
    ------
    InputError
        That names the column, and no value.
    """
    if cells is None or not pd.api.types.is_numeric_dtype(series):
        return
    texts = pc.utf8_trim_whitespace(cells.filter(pyarrow.array(series.notna().to_numpy())))
    if pc.count_distinct(pc.replace_substring_regex(texts, _WHOLE, r"\1")).as_py() > series.nunique():
        raise InputError(
            f"The codes of column '{name}' can be read in two ways: the file writes one number in several ways, as "
            "10.1 and 10.10, which may be one code or two. Declare the column a category in the codebook if they are "
            "several; write them alike if they are one."
        )
