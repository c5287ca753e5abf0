"""Sums of tables over all cells, and tables from all cells: what the log-linear model does at each step of its search.

All cells are public combinations times sensitive cells, up to a million. They are gone through in blocks that stay in
the processor's cache, and only tables of the largest sets of sensitive columns are spread over them: a table of fewer
columns is added to a larger one first, and is a sum of it later.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Blocks = Iterator[tuple[slice, Array]]
BLOCK = 32_768  # cells that are gone through together
MANY = 8  # blocks: from so many on two halves are gone through side by side
FEWER = 8  # combinations to a kind, at least, where tables are joined


class _Margin:
    """The tables of one set of sensitive columns, their public cells one after the other.

    Parameters
    ----------
    sensitive : tuple of int
        Which sensitive columns, counted from 0.
    begin : int
        Where its first cell stands among the cells of all tables.
    cells : list of (array of int of shape (n_combinations,), int)
        The public cell of each combination in each of these tables, and how many that has.
    shape : tuple of int
        Cells of every sensitive column.
    """

    def __init__(
        self,
        sensitive: tuple[int, ...],
        begin: int,
        cells: list[tuple[Codes, int]],
        shape: tuple[int, ...],
    ):
        self.sensitive = sensitive
        ends = np.cumsum([n for _, n in cells])
        rows = np.column_stack([cell + end - n for (cell, n), end in zip(cells, ends, strict=True)])
        kinds, kind_of = _kinds(rows)
        self.rows = _picking(kind_of, sum(map(len, kinds)))
        self.combinations = self.rows.T.tocsr()
        self.kinds = scipy.sparse.vstack([_picking(each, int(ends[-1])) for each in kinds], format="csr")
        self.rows_of_kinds = self.kinds.T.tocsr()
        self.wide = [size if k in sensitive else 1 for k, size in enumerate(shape)]
        self.n_cells = math.prod(self.wide)
        self.n_rows = int(ends[-1])  # one: the same for every combination
        self.n_kinds = 1 if self.n_rows == 1 else self.kinds.shape[0]
        self.span = slice(begin, begin + self.n_rows * self.n_cells)
        self.larger: _Margin | None = None

    def of(self, cells: Array) -> Array:
        """Its own of the cells of all tables, of shape (n_rows, n_cells)."""
        return cells[self.span].reshape(self.n_rows, self.n_cells)

    def by_kind(self, cells: Array) -> Array:
        """The same added up for each kind of combination, of shape (n_kinds, n_cells); a row where all are alike."""
        own = self.of(cells)
        return own if self.n_rows == 1 else np.asarray(self.kinds @ own)

    def put(self, kinds: Array, cells: Array) -> None:
        """Set its own of the cells of all tables to sums over kinds of combinations, of shape (n_kinds, n_cells)."""
        self.of(cells)[...] = kinds if self.n_rows == 1 else self.rows_of_kinds @ kinds


def _kinds(rows: Codes) -> tuple[list[Codes], Codes]:
    """Kinds of combinations: those that are alike in some tables are one, since all is the same for them there.

    With ten public columns the tables of a sensitive one have ten rows a combination, and a few hundred kinds of five
    columns each stand for thousands of combinations: what is added up once a kind is a fifth of the work.

    Parameters
    ----------
    rows : array of int of shape (n_combinations, n_tables)

    Returns
    -------
    kinds : list of array of int of shape (n_kinds, n_tables of the group)
        The rows of each kind, by group of tables.
    kind_of : array of int of shape (n_combinations, n_groups)
        The kinds of each combination, those of one group after those of another.
    """
    groups: list[tuple[Codes, Codes]] = []
    begin = 0
    while begin < rows.shape[1]:
        first, kind = np.unique(rows[:, begin], return_index=True, return_inverse=True)[1:]
        end = begin + 1
        while end < rows.shape[1]:
            joint = kind * (int(rows[:, end].max()) + 1) + rows[:, end]
            wider, wider_kind = np.unique(joint, return_index=True, return_inverse=True)[1:]
            if len(wider) > len(rows) / FEWER:
                break
            first, kind, end = wider, wider_kind, end + 1
        groups.append((rows[first, begin:end], kind))
        begin = end
    begins = np.cumsum([0, *(len(kinds) for kinds, _ in groups)])
    kind_of = np.column_stack([kind + b for (_, kind), b in zip(groups, begins, strict=False)])
    return [kinds for kinds, _ in groups], kind_of


def _picking(columns: Codes, n: int) -> scipy.sparse.csr_array:
    """The matrix that adds up some rows of n, of shape (n_sums, n), from which ones, of shape (n_sums, n_of_each)."""
    every = np.arange(0, columns.size + 1, columns.shape[1])
    return scipy.sparse.csr_array((np.ones(columns.size), columns.ravel(), every), (len(columns), n))


class CellSums:
    """Sums of some tables over all cells, and these tables from all cells.

    Parameters
    ----------
    shape : tuple of int
        Cells of every sensitive column.
    tables : sequence of (tuple of int, array of int of shape (n_combinations,), int)
        Of each table its sensitive columns, the public cell of each combination, and how many that has; those of the
        same sensitive columns one after the other.
    n : int
        Public combinations.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        tables: Sequence[tuple[tuple[int, ...], Codes, int]],
        n: int,
    ):
        self.shape, self.n, self.n_cells = shape, n, 0
        self.step = max(1, BLOCK // math.prod(shape))
        self.blocks = [slice(begin, min(begin + self.step, n)) for begin in range(0, n, self.step)]
        half = (len(self.blocks) + 1) // 2
        self.parts = [self.blocks[:half], self.blocks[half:]] if len(self.blocks) >= MANY else [self.blocks]
        made = []
        for sensitive, mine in itertools.groupby(tables, key=lambda each: each[0]):
            made.append(_Margin(sensitive, self.n_cells, [each[1:] for each in mine], shape))
            self.n_cells = made[-1].span.stop
        made.sort(key=lambda each: (len(each.sensitive), each.sensitive))
        # Tables of all sensitive columns are not held by combination: that would be all cells once more.
        self.whole = made.pop() if made and len(made[-1].sensitive) == len(shape) else None
        self.whole_rows = [] if self.whole is None else [self.whole.rows[block] for block in self.blocks]
        self.whole_combinations = [rows.T.tocsr() for rows in self.whole_rows]
        self.margins = made
        for each in made:
            wider = [other for other in made if set(each.sensitive) < set(other.sensitive)]
            each.larger = min(wider, key=lambda other: other.n_cells, default=None)
        self.largest = [each for each in made if each.larger is None]

    def spread(self, tables: Array) -> list[Blocks]:
        """The sum of tables over the cells of each block of combinations, of shape (n_block, *shape).

        Parameters
        ----------
        tables : array of shape (n_cells_of_all_tables,)
            One table after the other, each of (n_public_cells, n_sensitive_cells).

        Returns
        -------
        list of iterators over (slice, array)
            Of a part of the blocks each, as `gather` takes them; an array is used again for the next block.
        """
        held = self._held(tables)
        whole = None if self.whole is None else self.whole.by_kind(tables)
        return [self._spread(blocks, held, whole) for blocks in self.parts]

    def _spread(self, blocks: Sequence[slice], held: list[Array], whole: Array | None) -> Blocks:
        room = np.empty((self.step, *self.shape))
        for block in blocks:
            cells = room[: block.stop - block.start]
            if whole is None:
                cells[...] = 0.0
            elif self.whole is not None and self.whole.n_rows == 1:
                cells[...] = whole.reshape(1, *self.shape)
            else:
                cells[...] = (self.whole_rows[block.start // self.step] @ whole).reshape(cells.shape)
            for each in held:
                cells += each if len(each) == 1 else each[block]
            yield block, cells

    def _held(self, tables: Array) -> list[Array]:
        """Tables added up to those of the largest sets: a row a combination, or one for all."""
        sums: dict[tuple[int, ...], Array] = {}
        for each in self.margins:
            stacked = each.by_kind(tables)
            mine = stacked if each.n_rows == 1 else each.rows @ stacked
            own = mine.reshape(-1, *each.wide)
            sums[each.sensitive] = own + sums[each.sensitive] if each.sensitive in sums else own
            if each.larger is not None:
                target, grown = each.larger.sensitive, sums[each.sensitive]
                sums[target] = sums[target] + grown if target in sums else grown
        return [sums[each.sensitive] for each in self.largest]

    def gather(self, parts: Sequence[Blocks]) -> Array:
        """Every table from the cells of all blocks, in parts that are gone through side by side."""
        sums = {
            each.sensitive: np.empty((self.n, *(self.shape[k] for k in each.sensitive)))
            for each in self.largest
        }
        found = np.zeros(self.n_cells)
        every = tuple(range(len(self.shape)))

        def add(part: Blocks) -> Array:
            whole = np.empty(0) if self.whole is None else np.zeros((self.whole.n_kinds, self.whole.n_cells))
            for block, cells in part:
                for each in self.largest:
                    sums[each.sensitive][block] = _summed(cells, every, each.sensitive)
                if self.whole is not None:
                    flat, number = cells.reshape(len(cells), -1), block.start // self.step
                    alike = self.whole.n_rows == 1
                    whole += flat.sum(axis=0) if alike else self.whole_combinations[number] @ flat
            return whole

        wholes = list(_threads().map(add, parts)) if len(parts) > 1 else [add(each) for each in parts]
        if self.whole is not None:
            self.whole.put(np.sum(wholes, axis=0), found)
        for each in reversed(self.margins):
            if each.larger is not None:
                larger = each.larger.sensitive
                sums[each.sensitive] = _summed(sums[larger], larger, each.sensitive)
            flat = sums[each.sensitive].reshape(self.n, -1)
            each.put(flat.sum(axis=0) if each.n_rows == 1 else each.combinations @ flat, found)
        return found


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Two threads, as many as there are halves: sums do not depend on how many processors there are."""
    return ThreadPoolExecutor(2, thread_name_prefix="sums of cells")


def _summed(cells: Array, columns: tuple[int, ...], kept: tuple[int, ...]) -> Array:
    """Sums over the columns that are not kept; over last ones by a product: faster than sums of few neighbours."""
    axes = tuple(1 + axis for axis, column in enumerate(columns) if column not in kept)
    shape = [len(cells), *(size for axis, size in enumerate(cells.shape[1:], 1) if axis not in axes)]
    if axes and axes[-1] == cells.ndim - 1 and axes == tuple(range(axes[0], cells.ndim)):
        rows = cells.reshape(math.prod(shape), -1)
        return np.asarray((rows @ np.ones(rows.shape[1])).reshape(shape))
    return np.asarray(cells.sum(axis=axes))
