"""Balanced drawing: of several draws of each record one is kept, so that tables of all records are what is expected.

Independent draws given the parameters add noise of their own to every table of the synthetic records. Here each record
is drawn several times; the mean of the tables of pairs and triples over all draws is what the model expects, and each
record in turn keeps the draw with which the tables of the kept ones lie nearest to it. Every kept record is a draw of
the model, whole, and nothing but the draws and the public columns is read: what a release promises of a draw of the
parameters, it promises of the records.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from synth_core.models.base import Array

Codes = NDArray[np.int64]
DRAWS = 16  # of each record
SWEEPS = 2  # over all records
BINS = 10  # of a number, with about as many draws in each
MAX_TABLES = 400  # pairs first
MAX_CELLS = 4_000  # of a table


def binned(values: Array, bins: int = BINS) -> Codes:
    """Codes of values, of any shape: numbers of more than `bins` values in bins of about as many; missing has its own.

    Examples
    --------
    >>> binned(np.array([[0.0, 1.0], [1.0, np.nan]])).tolist()
    [[0, 1], [1, 2]]
    """
    there = values[~np.isnan(values)]
    distinct = np.unique(there)
    if len(distinct) > bins:
        distinct = np.unique(np.quantile(there, np.arange(bins) / bins))
    codes = np.searchsorted(distinct, np.where(np.isnan(values), np.inf, values), side="right") - 1
    return np.where(np.isnan(values), len(distinct), np.maximum(codes, 0)).astype(np.int64)


def drawn_codes(values: Array, of_categories: bool) -> Codes:
    """Codes of drawn values by which records are balanced: categories as they are, numbers in bins.

    Zeros and missing values have codes of their own: in a bin with the smallest amounts the share of zeros would not
    be balanced, nor that of a category in a bin with its neighbours.

    Examples
    --------
    >>> drawn_codes(np.array([[0.0, 2.0], [2.0, np.nan]]), of_categories=False).tolist()
    [[2, 0], [0, 1]]
    """
    if of_categories:
        absent = np.isnan(values)
        codes = np.where(absent, 0.0, values).astype(np.int64)
        return np.where(absent, codes.max(initial=0) + 1, codes)
    zero = values == 0
    codes = binned(np.where(zero, np.nan, values))
    return np.where(zero, codes.max(initial=0) + 1, codes)


def balanced_choice(draws: Codes, public: Codes, rng: np.random.Generator) -> Codes:
    """Which draw each record keeps.

    Parameters
    ----------
    draws : array of int of shape (n_draws, n_records, n_columns)
        Codes of the synthetic columns.
    public : array of int of shape (n_records, n_public)
        Codes of the public columns.

    Returns
    -------
    array of int of shape (n_records,)
    """
    n_draws, n, width = draws.shape
    sizes = [*(draws.max(axis=(0, 1), initial=0) + 1), *(public.max(axis=0, initial=0) + 1)]
    tables = _tables([int(size) for size in sizes], width)
    start, strides = 0, np.zeros((len(sizes), len(tables)), dtype=np.int64)
    starts = np.zeros(len(tables), dtype=np.int64)
    for place, columns in enumerate(tables):
        shape = [int(sizes[k]) for k in columns]
        for position, column in enumerate(columns):
            strides[column, place] = math.prod(shape[position + 1 :])
        starts[place] = start
        start += math.prod(shape)
    fixed = public @ strides[width:] + starts  # (n_records, n_tables)
    moving = strides[:width]
    surplus = np.zeros(start)  # of kept records over what is expected, cell by cell
    for one in draws:
        surplus -= np.bincount((fixed + one @ moving).ravel(), minlength=start) / n_draws
    kept: Codes = rng.integers(n_draws, size=(n,), dtype=np.int64)
    cells = fixed + draws[kept, np.arange(n)] @ moving
    surplus += np.bincount(cells.ravel(), minlength=start)
    for _ in range(SWEEPS):
        for record in rng.permutation(n):
            at = draws[:, record] @ moving + fixed[record]  # (n_draws, n_tables)
            surplus[at[kept[record]]] -= 1
            kept[record] = surplus[at].sum(axis=1).argmin()
            surplus[at[kept[record]]] += 1
    return kept


def _tables(sizes: list[int], width: int) -> list[tuple[int, ...]]:
    """Sets of two and three columns with a synthetic one, pairs first; a column that is in none stands alone."""
    sets = [
        columns
        for size in (2, 3)
        for columns in itertools.combinations(range(len(sizes)), size)
        if columns[0] < width and math.prod(sizes[k] for k in columns) <= MAX_CELLS
    ][:MAX_TABLES]
    held = {k for columns in sets for k in columns}
    return [*((k,) for k in range(width) if k not in held), *sets]
