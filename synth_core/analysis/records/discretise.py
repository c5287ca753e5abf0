"""Whole tables as codes: what measures of several columns together are computed on."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.table import WholeRecords

Codes = NDArray[np.int64]
Weights = NDArray[np.float64]
MISSING, OTHER = "missing", "another value"
BINS = 10  # of a number, by quantiles of the confidential table, zeros and missing values apart


@dataclass(frozen=True)
class DiscretisedTables:
    """A confidential and a synthetic table with the same codes.

    Attributes
    ----------
    names : tuple of str
    confidential, synthetic : arrays of shape (n_records, n_columns)
    n_codes : tuple of int
        Of each column.
    labels : tuple of tuple of str
        What each code of a column stands for.
    n_public : int
        How many columns are public: the first of them.
    weights : pair of arrays of shape (n_records,), optional
        How much each record of either table counts, 1 on average; None: each counts once.
    """

    names: tuple[str, ...]
    confidential: Codes
    synthetic: Codes
    n_codes: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...] = ()
    n_public: int = 0
    weights: tuple[Weights, Weights] | None = None

    @property
    def counted(self) -> tuple[Weights, Weights]:
        """How much each record of either table counts."""
        return self.weights or (np.ones(len(self.confidential)), np.ones(len(self.synthetic)))


def discretise(
    records: WholeRecords,
    blocks: Sequence[Block],
    synthetic: pd.DataFrame,
    predictors: Sequence[str],
    rows: NDArray[np.int64] | None = None,
    categorical: Collection[str] = (),
) -> DiscretisedTables:
    """Both tables as codes; synthetic records have the predictors of records.

    Parameters
    ----------
    synthetic : DataFrame
        The sensitive columns.
    rows : array of int of shape (n_synthetic,), optional
        Whose predictors each synthetic record has; by default the records in their order.
    categorical : collection of str
        Predictors whose numbers are codes.
    """
    frame = records.table.frame
    public = frame if rows is None else frame.iloc[rows]
    names = [*predictors, *(block.name for block in blocks)]
    levels = {block.name: block.options.get("categories") for block in blocks}
    pairs = [
        code_columns(
            frame[name],
            public[name] if name in predictors else synthetic[name],
            levels.get(name),
            name in categorical,
        )
        for name in names
    ]
    mine, theirs = (np.column_stack([pair[i] for pair in pairs]) for i in (0, 1))
    n_codes = tuple(int(max(a.max(), b.max())) + 1 for a, b, _ in pairs)
    labels = tuple((*known, MISSING)[:n] for n, (_, _, known) in zip(n_codes, pairs, strict=True))
    return DiscretisedTables(tuple(names), mine, theirs, n_codes, labels, len(names) - len(blocks))


def code_columns(
    mine: pd.Series, theirs: pd.Series, levels: tuple[str, ...] | None, categorical: bool = False
) -> tuple[Codes, Codes, tuple[str, ...]]:
    """Codes of two columns, the last of them for missing values, and what the others stand for.

    A value of the second that the first has nowhere has a code of its own, where values are not put into bins: numbers
    are, where there are many, but for those that are codes of categories.
    """
    if levels is None and not categorical and pd.api.types.is_numeric_dtype(mine) and mine.nunique() > BINS:
        values = mine.dropna().to_numpy(dtype=float)
        edges = np.unique(np.quantile(values[values != 0], np.linspace(0, 1, BINS + 1)[1:-1]))
        codes = [_binned(each.to_numpy(dtype=float, na_value=np.nan), edges) for each in (mine, theirs)]
        names = _bin_names(edges, whole=bool(np.all(values == np.round(values))))
    else:
        order = None if pd.api.types.is_numeric_dtype(mine) else str
        known = list(levels) if levels else sorted(mine.dropna().unique().tolist(), key=order)
        place = {level: i for i, level in enumerate(known)}
        codes = [each.map(place).to_numpy(dtype=float, na_value=np.nan) for each in (mine, theirs)]
        unknown = np.isnan(codes[1]) & theirs.notna().to_numpy()
        codes[1] = np.where(unknown, len(known), codes[1])
        names = (*map(_level_name, known), *((OTHER,) if unknown.any() else ()))
    last = int(np.nanmax(np.concatenate(codes))) + 1
    first, second = (np.where(np.isnan(each), last, each).astype(np.int64) for each in codes)
    return first, second, names[:last]


def _level_name(level: object) -> str:
    return f"{level:.12g}" if isinstance(level, float) else str(level)


def _bin_names(edges: np.ndarray, whole: bool) -> tuple[str, ...]:
    """Zero, and each bin from its edge up to the next; of whole numbers, by the first and last that are in it.

    Examples
    --------
    >>> _bin_names(np.array([24.0, 35.6, 37.0]), whole=True)
    ('0', 'below 24', '24 to 35', '36', '37 and more')
    >>> _bin_names(np.array([24.0, 35.6]), whole=False)
    ('0', 'below 24', '24 to 35.6', '35.6 and more')
    """
    firsts = np.ceil(edges) if whole else edges
    names = [f"below {_edge_name(firsts[0])}"]
    for low, high in itertools.pairwise(edges):
        if whole and np.ceil(low) < np.ceil(high):  # else no whole number is between them
            low, high = np.ceil(low), np.ceil(high) - 1
        names.append(_edge_name(low) if low == high else f"{_edge_name(low)} to {_edge_name(high)}")
    return ("0", *names, f"{_edge_name(firsts[-1])} and more")


def _edge_name(edge: float) -> str:
    return f"{edge:,.4g}" if abs(edge) < 1e4 else f"{edge:,.0f}"


def _binned(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each number; zeros have one of their own."""
    bins = np.searchsorted(edges, values, side="right").astype(float) + 1
    return np.where(np.isnan(values), np.nan, np.where(values == 0, 0.0, bins))
