"""Values that mean missing, such as N, -9 or a single point: what they are, and a frame without them.

A marker is written as its text, for every column, or as COLUMN=TEXT, for one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from synth_core.data.spellings import ANY_NUMBER, written_as
from synth_core.errors import InputError
from synth_core.system import limits

LONGEST_TOKEN = 12  # characters of a lone text that is proposed as a marker


def checked_markers(markers: Iterable[str]) -> tuple[str, ...]:
    """Markers without surrounding space, each once; raises InputError for an empty, long or surplus one."""
    found = tuple(
        dict.fromkeys(text for marker in markers if (text := marker.strip()))
    )  # blank is missing anyway
    if len(found) > limits.MAX_MARKERS:
        raise InputError(f"At most {limits.MAX_MARKERS} values can mean missing (given: {len(found)}).")
    for marker in found:
        if len(marker) > limits.MAX_MARKER_LENGTH:
            raise InputError(f"A value that means missing has at most {limits.MAX_MARKER_LENGTH} characters.")
    return found


def without_markers(
    frame: pd.DataFrame,
    markers: Iterable[str],
    decimal: str | Mapping[str, str] = ".",
    texts: Collection[str] = (),
) -> pd.DataFrame:
    """The frame with every marked cell empty; a column of text that then holds only numbers becomes one of numbers.

    Parameters
    ----------
    markers : iterable of str
        A number is met in every spelling, a text letter by letter but for surrounding space.
    decimal : str or mapping
        Decimal sign of numbers that were read as text, of all columns or of each.
    texts : collection of str
        Columns of text that stay so, whatever is left: those that were declared no number.

    Returns
    -------
    pandas.DataFrame
        Columns that hold no marker are shared with `frame`.

    Raises
    ------
    InputError
        If a marker names a column that the frame does not have.
    """
    changed = {}
    for name, marked in by_column(markers, list(frame.columns)).items():
        series = frame[name]
        sign = decimal if isinstance(decimal, str) else decimal.get(name, ".")
        cleared = _without(series, marked, sign, name in texts)
        if cleared is not series:
            changed[name] = cleared
    return frame.assign(**changed) if changed else frame


def markers_of(markers: Iterable[str], kept: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """The markers that concern these columns, of a frame of `columns`."""
    wanted, listed = set(kept), list(columns)
    named = [(marker, _parted(marker, listed)) for marker in markers]
    return tuple(marker for marker, (column, one, _) in named if not one or column in wanted)


def by_column(markers: Iterable[str], columns: list[str]) -> dict[str, list[str]]:
    """Each column's own texts that mean missing."""
    found: dict[str, list[str]] = {}
    for marker in markers:
        name, equals, text = _parted(marker, columns)
        for column in [name] if equals else columns:
            found.setdefault(column, []).append(text)
    return found


def _parted(marker: str, columns: list[str]) -> tuple[str, bool, str]:
    """A marker's column, whether it names one, and its text; a column's name may have an equals sign itself."""
    cuts = [i for i, sign in enumerate(marker) if sign == "=" and i > 0]
    for cut in reversed(cuts):
        if marker[:cut].strip() in columns:
            return marker[:cut].strip(), True, marker[cut + 1 :].strip()
    if cuts:
        raise InputError(
            f"There is no column '{marker[: cuts[0]].strip()}', which '{marker}' names among the values that mean "
            "missing."
        )
    return "", False, marker


def _without(series: pd.Series, texts: list[str], decimal: str, stays: bool) -> pd.Series:
    if pd.api.types.is_bool_dtype(series) or pd.api.types.is_datetime64_any_dtype(series):
        return series
    if not pd.api.types.is_numeric_dtype(series):
        marked = cell_texts(series).isin(texts).to_numpy(dtype=bool)
        if not marked.any():
            return series
        series = series.mask(marked) if stays else _as_numbers(series.mask(marked), decimal)
        if not pd.api.types.is_numeric_dtype(series):
            return series
    numbers = [number for text in texts if (number := as_number(text, decimal)) is not None]
    # A whole number is compared as one: beyond 2**53 a floating-point number would be its neighbours too. One of 32
    # bits holds 0.1 as the nearest of its own.
    single = [float(np.float32(number)) for number in numbers if number % 1 != 0]
    marked = series.isin(
        [int(number) if number % 1 == 0 else number for number in numbers] + single
    ).to_numpy(dtype=bool, na_value=False)
    if not marked.any():
        return series
    if pd.api.types.is_integer_dtype(series) and (series.max() > 2**53 or series.min() < -(2**53)):
        series = series.astype("Int64")  # a floating-point number, which can be empty too, would round it
    return series.mask(marked)


def cell_texts(series: pd.Series) -> pd.Series:
    """The cells as text without surrounding space; a missing one stays missing."""
    if series.dtype != object:  # among objects 1, 1.0 and True are one
        codes, distinct = pd.factorize(series)
        texts = np.array([*(str(cell).strip() for cell in distinct), None], dtype=object)
        return pd.Series(texts[codes], index=series.index)
    return series.map(lambda cell: str(cell).strip(), na_action="ignore")


def as_number(text: str, decimal: str = ".") -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        number = float(text.replace(decimal, ".") if decimal != "." else text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _as_numbers(series: pd.Series, decimal: str) -> pd.Series:
    """A column of text as numbers, if every present cell is one."""
    texts = cell_texts(series)
    present = texts[texts.notna()]
    if present.empty:
        return pd.Series(np.full(len(series), np.nan), index=series.index)
    spelled = present.str.replace(decimal, ".", regex=False) if decimal != "." else present
    numbers = pd.to_numeric(spelled, errors="coerce")
    if numbers.isna().any() or (numbers.abs() >= 2.0**53).any():  # the latter a float would round
        return series
    return numbers.astype(float).reindex(series.index)


def lone_text(texts: pd.Index, counts: np.ndarray) -> tuple[str, int]:
    """The only text among numbers, and in how many cells it stands; empty and 0 where there is no such.

    Parameters
    ----------
    texts : Index
        The distinct cells of a column of text.
    counts : array of the same length
        How often each stands.
    """
    plain = pd.Series(texts.astype(str)).str.strip()
    wrong = ~written_as(plain, ANY_NUMBER)
    tokens = plain[wrong].unique()
    if len(tokens) != 1 or wrong.all() or not 0 < len(tokens[0]) <= LONGEST_TOKEN:
        return "", 0
    return str(tokens[0]), int(counts[wrong].sum())
