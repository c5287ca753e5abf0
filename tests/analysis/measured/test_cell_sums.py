"""Sums of tables over all cells and tables from all cells, against naive loops."""

import itertools

import numpy as np
import pytest

from synth_core.analysis.measured import cell_sums
from synth_core.analysis.measured.cell_sums import CellSums

LEVELS = (4, 3, 2, 2, 3)  # of the public columns


def naive(shape, tables, n, values):
    """The sum over the tables at each combination and cell, and the tables of these sums."""
    cells, begin, parts = np.zeros((n, *shape)), 0, []
    for sensitive, public, size in tables:
        axes = tuple(shape[k] for k in sensitive)
        table = values[begin : begin + size * int(np.prod(axes))].reshape(size, *axes)
        wide = [shape[k] if k in sensitive else 1 for k in range(len(shape))]
        for z in range(n):
            cells[z] += table[public[z]].reshape(wide)
        parts.append((sensitive, public, size, axes))
        begin += table.size
    found = []
    for sensitive, public, size, axes in parts:
        table = np.zeros((size, *axes))
        gone = tuple(1 + k for k in range(len(shape)) if k not in sensitive)
        for z, one in enumerate(cells.sum(axis=gone)):
            table[public[z]] += one
        found.append(table.ravel())
    return cells, np.concatenate(found)


@pytest.mark.parametrize("block", [1, 60, 10**6])
@pytest.mark.parametrize("fewer", [1, 8, 10**6])
@pytest.mark.parametrize("together", [False, True])  # whether a table of all sensitive columns is among them
def test_sums_are_those_of_a_loop_whatever_is_added_up_first(block, fewer, together, monkeypatch, rng):
    """Kinds of combinations, blocks and halves are ways to the same sums."""
    monkeypatch.setattr(cell_sums, "BLOCK", block)
    monkeypatch.setattr(cell_sums, "FEWER", fewer)
    shape = (3, 2, 4)
    public = np.unique(np.column_stack([rng.integers(0, k, 90) for k in LEVELS]), axis=0)
    n = len(public)
    tables = []
    for size in range(1, 3 + together):
        for sensitive in itertools.combinations(range(3), size):
            tables.append((sensitive, np.zeros(n, dtype=np.int64), 1))
            if size < 3 or together:
                tables += [(sensitive, public[:, j], k) for j, k in enumerate(LEVELS)]
    sums = CellSums(shape, tables, n)
    assert len(sums.parts) == 1 + (len(sums.blocks) >= cell_sums.MANY) == 1 + (block < 10**6)
    values = rng.normal(size=sums.n_cells)
    cells, gathered = naive(shape, tables, n, values)
    got = np.empty_like(cells)
    for at, part in itertools.chain(*sums.spread(values)):
        got[at] = part
    np.testing.assert_allclose(got, cells, atol=1e-12)
    np.testing.assert_allclose(sums.gather(sums.spread(values)), gathered, atol=1e-9)
