"""Sets of three values that many synthetic records have and hardly a confidential one, though each pair is usual.

As `unlikely` does with pairs, and what its pairs and values tell already is not told again: where a pair is too
frequent by a factor r, its triples are expected to be so too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.records.discretise import Codes, DiscretisedTables

Array = NDArray[np.float64]
MOST = 200  # sets of three columns that are looked at: those with most sensitive columns, then in the table's order
SAMPLED = 50_000  # records of either table: a share that is noticed is seen in as many


@dataclass(frozen=True, eq=False)
class CountedTriples:
    """The cells of three columns that synthetic records are in: codes of shape (n_cells, 3), counts of either table."""

    columns: tuple[int, int, int]
    codes: Codes
    confidential: Codes
    synthetic: Codes
    excess: Array
    told: NDArray[np.bool_]


def triples_of(n_columns: int, n_public: int) -> list[tuple[int, int, int]]:
    """Sets of three columns with a sensitive one last.

    Examples
    --------
    >>> triples_of(4, 2)
    [(0, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1, 3)]
    """
    every = [each for each in itertools.combinations(range(n_columns), 3) if each[2] >= n_public]
    return sorted(every, key=lambda each: -sum(column >= n_public for column in each))[:MOST]


def sampled(side: Codes) -> Codes:
    """The records that are looked at, always the same."""
    if len(side) <= SAMPLED:
        return side
    return side[np.random.default_rng(0).permutation(len(side))[:SAMPLED]]


def count_triples(
    tables: DiscretisedTables,
    looked_at: tuple[Codes, Codes],
    ratios: dict[tuple[int, int], Array],
    told: dict[tuple[int, int], NDArray[np.bool_]],
) -> list[CountedTriples]:
    """The cells of each set of columns.

    Parameters
    ----------
    looked_at : pair of arrays of int
        The records of either table that are counted, see `sampled`.
    ratios : dict
        Of each pair of columns with a sensitive second one, how often each of its cells is in the synthetic table for
        one time in the confidential one, at least 1.
    told : dict
        Of each such pair the cells that are told already.
    """
    mine, theirs = looked_at
    found = []
    for columns in triples_of(len(tables.names), tables.n_public):
        sizes = tuple(tables.n_codes[column] for column in columns)
        keys, synthetic = np.unique(_keys(theirs, columns, sizes), return_counts=True)
        known, counts = np.unique(_keys(mine, columns, sizes), return_counts=True)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        codes = np.column_stack(np.unravel_index(keys, sizes))
        excess, hidden = np.ones(len(keys)), np.zeros(len(keys), dtype=bool)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            pair = columns[a], columns[b]
            if pair in ratios:
                at = codes[:, a], codes[:, b]
                excess = np.maximum(excess, ratios[pair][at])
                hidden |= told[pair][at]
        confidential = np.where(known[place] == keys, counts[place], 0)
        found.append(CountedTriples(columns, codes, confidential, synthetic, excess, hidden))
    return found


def in_cells(
    side: Codes, columns: tuple[int, ...], n_codes: tuple[int, ...], cells: Codes
) -> NDArray[np.bool_]:
    """Which records are in one of these cells, given by their codes."""
    sizes = tuple(n_codes[column] for column in columns)
    return np.isin(_keys(side, columns, sizes), np.ravel_multi_index(tuple(cells.T), sizes))


def _keys(side: Codes, columns: tuple[int, ...], sizes: tuple[int, ...]) -> Codes:
    return np.ravel_multi_index(tuple(side[:, list(columns)].T), sizes)
