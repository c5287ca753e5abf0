"""Balanced draws: synthetic records whose tables are those that the model expects.

Independent draws add noise of their own to every table. Records are first spread evenly within each public
combination; then each in turn moves to the cell where the tables lie nearest to the expected ones, among the cells
that the model holds for likely enough. Both read the fitted model and the public columns only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synth_core.analysis.measured.log_linear import Array, Codes, Columns, Domain

LIKELY = 0.02  # expected records of a cell that a record may move to
SWEEPS = 2


def spread_cells(shares: Array, records_of: Sequence[Codes], rng: np.random.Generator) -> Codes:
    """A sensitive cell for each record, as even as the shares of its public combination (systematic sampling).

    Parameters
    ----------
    shares : array of shape (n_combinations, n_sensitive_cells)
    records_of : sequence of arrays of int
        The records of each combination.

    Returns
    -------
    array of int of shape (n_records,)
    """
    n = sum(map(len, records_of))
    cells = np.empty(n, dtype=np.int64)
    for share, rows in zip(shares, records_of, strict=True):
        places = (np.arange(len(rows)) + rng.random()) / len(rows)
        found = np.searchsorted(np.cumsum(share), places, side="right")
        cells[rng.permutation(rows)] = np.minimum(
            found, np.flatnonzero(share)[-1]
        )  # their sum may round to less
    return cells


def balanced_cells(
    domain: Domain,
    shares: Array,
    records_of: Sequence[Codes],
    expected: dict[Columns, Array],
    rng: np.random.Generator,
) -> Codes:
    """A sensitive cell for each record, such that tables of all records are near the expected ones.

    Parameters
    ----------
    shares : array of shape (n_combinations, n_sensitive_cells)
    records_of : sequence of arrays of int
        The records of each combination.
    expected : dict
        Tables of shape (n_public_cells, n_sensitive_cells) by their columns.

    Returns
    -------
    array of int of shape (n_records,)
    """
    cells = spread_cells(shares, records_of, rng)
    inner, outer, sizes = [], [], []
    places = np.unravel_index(np.arange(shares.shape[1]), domain.shape)
    for columns, table in expected.items():
        which = domain.sensitive(columns)
        inner.append(np.ravel_multi_index(tuple(places[k] for k in which), [domain.shape[k] for k in which]))
        outer.append(domain.public_cells(columns)[0] * table.shape[1])
        sizes.append(table.size)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    inner_cells = np.stack(inner)  # (n_tables, n_sensitive_cells)
    base = np.stack(outer) + start[:, None]  # (n_tables, n_combinations)
    surplus = -np.concatenate([table.ravel() for table in expected.values()])
    combinations = np.repeat(np.arange(len(records_of)), [len(rows) for rows in records_of])
    drawn = cells[np.concatenate(records_of)]
    for begins, inside in zip(base, inner_cells, strict=True):
        surplus += np.bincount(begins[combinations] + inside[drawn], minlength=len(surplus))
    for _ in range(SWEEPS):
        for combination in rng.permutation(len(records_of)):
            rows = rng.permutation(records_of[combination])
            likely = len(rows) * shares[combination] > LIKELY
            likely[cells[rows]] = True
            candidates = np.flatnonzero(likely)
            at = base[:, combination, None] + inner_cells[:, candidates]
            held = np.searchsorted(candidates, cells[rows])
            for row, place in zip(rows, held, strict=True):
                surplus[at[:, place]] -= 1
                best = int(surplus[at].sum(axis=0).argmin())
                surplus[at[:, best]] += 1
                cells[row] = candidates[best]
    return cells
