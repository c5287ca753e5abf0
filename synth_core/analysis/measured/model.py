"""Synthetic records from noisy measurements: public columns and noise in, records out; nothing confidential is read.

Sensitive columns are modelled together as far as their cells can be held; beyond that in groups, each given the public
columns and the synthetic values of the groups before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth_core.analysis.measured.balanced import balanced_cells, spread_cells
from synth_core.analysis.measured.cells import Array, Codes, PublicSide
from synth_core.analysis.measured.log_linear import Columns, Domain, LogLinear, NoisyTable, PriorScales
from synth_core.analysis.measured.measuring import Measurements
from synth_core.analysis.measured.prior_scales import STEPS, learnt_scales, scaled
from synth_core.analysis.measured.within import even_places, fine_shares, values_of

MAX_CELLS = 3_000_000  # public combinations times sensitive cells of one group
ITERATIONS, ROUGH = 200, 60
USUAL = STEPS[2]  # where scales are not learnt
Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class _Group:
    """Sensitive columns that are modelled together, given the public ones and the earlier ones."""

    domain: Domain
    columns: tuple[int, ...]  # of the file, public ones first: those given, then those modelled
    records_of: list[Codes]

    def local(self, columns: Columns) -> Columns:
        """The places of columns of the file in this group."""
        return tuple(self.columns.index(column) for column in columns)


class MeasuredModel:
    """A model of the measurements of one file.

    Parameters
    ----------
    public : PublicSide
    measured : Measurements
    rng : callable
        Random numbers of a stream. They need not be secret: all that is drawn follows from the measurements.
    """

    def __init__(
        self,
        public: PublicSide,
        tables: Sequence[NoisyTable],
        rng: Callable[..., np.random.Generator],
        progress: Progress = lambda text, share: None,
    ):
        self.public, self.tables, self.rng, self.progress = public, tables, rng, progress
        self.scales: list[tuple[PriorScales, Array]] = []
        self.n_public = len(public.shape)

    def groups(self) -> list[tuple[int, int]]:
        """The first sensitive variable of each group and that after its last."""
        sizes, found, begin = [each.n for each in self.public.variables], [], 0
        cells = len(np.unique(self.public.codes, axis=0)) if self.n_public else 1
        for end in range(1, len(sizes) + 1):
            if end == len(sizes) or cells * math.prod(sizes[begin : end + 1]) > MAX_CELLS:
                found.append((begin, end))
                begin, cells = end, self.public.n_records
        return found

    def _group(self, begin: int, end: int, drawn: Codes) -> _Group:
        """The variables from `begin` to `end`, given `drawn`, the cells of the earlier ones."""
        public, n = self.public, self.public.n_records
        given = np.column_stack([public.codes, drawn[:, :begin]])
        sizes = (*public.shape, *(each.n for each in public.variables[:begin]))
        earlier = tuple(each.ordered for each in public.variables)
        if given.shape[1]:
            cells, place = np.unique(given, axis=0, return_inverse=True)
        else:
            cells, place = np.zeros((1, 0), dtype=np.int64), np.zeros(n, dtype=np.int64)
        order = np.argsort(place.ravel(), kind="stable")
        records_of = np.split(order, np.cumsum(np.bincount(place.ravel(), minlength=len(cells)))[:-1])
        domain = Domain(
            cells,
            np.array([float(len(rows)) for rows in records_of]),
            sizes,
            tuple(each.n for each in public.variables[begin:end]),
            (*public.ordered, *earlier[:end]),
        )
        return _Group(domain, tuple(range(self.n_public + end)), records_of)

    def _measured(self, begin: int, end: int) -> list[NoisyTable]:
        """The tables whose last column is in the group; for it earlier variables stand with the public columns."""
        sizes = (*self.public.shape, *(each.n for each in self.public.variables))
        found = []
        for table in self.tables:
            if begin <= table.columns[-1] - self.n_public < end:
                given = math.prod(sizes[c] for c in table.columns if c < self.n_public + begin)
                found.append(replace(table, counts=table.counts.reshape(given, -1)))
        return found

    def expected(self, sets: Sequence[Columns]) -> list[Array]:
        """About what is expected of tables of sets of columns, in their order: by it is chosen what is counted."""
        drawn = np.zeros((self.public.n_records, len(self.public.variables)), dtype=np.int64)
        found: dict[Columns, Array] = {}
        for number, (begin, end) in enumerate(self.groups()):
            group, measured = self._group(begin, end, drawn), self._measured(begin, end)
            model = LogLinear(group.domain, [table.columns for table in measured])
            along = tuple(column for column, order in enumerate(group.domain.ordered) if order)
            shares = model.shares(model.fit(measured, scaled(1.0, USUAL, along), iterations=ROUGH))
            here = [s for s in sets if begin <= s[-1] - self.n_public < end]
            found |= dict(zip(here, model.expected(shares, here), strict=True))
            flat = shares.reshape(len(shares), -1)
            cells = spread_cells(flat, group.records_of, self.rng(3, number))
            drawn[:, begin:end] = np.column_stack(np.unravel_index(cells, group.domain.shape))
        return [found[each] for each in sets]

    def _fitted(
        self, model: LogLinear, measured: Sequence[NoisyTable], number: int, rng: np.random.Generator | None
    ) -> Array:
        """Parameters of a group; the scales of its priors are learnt once, by the first group."""
        if len(self.scales) <= number:
            self.progress("fitting a model of the noisy tables", number / len(self.groups()))
            start = None
            if number == 0:
                scales, start = learnt_scales(model, measured, self.rng(1))
            else:
                along = [column for column, order in enumerate(model.domain.ordered) if order]
                scales = replace(self.scales[0][0], along=tuple(along))
            fitted = model.fit(measured, scales, start, iterations=ITERATIONS)
            self.scales.append((scales, fitted))
        scales, start = self.scales[number]
        if rng is None and len(start) == model.n_parameters:
            return start
        return model.fit(measured, scales, start, rng=rng, iterations=ITERATIONS)

    def codes(self, stream: int, perturbed: bool) -> Codes:
        """Cells of synthetic records, balanced over the measured tables, of shape (n_records, n_variables).

        Parameters
        ----------
        stream : int
            The number of the data set.
        perturbed : bool
            From a draw of the model given the measurements, as several data sets must be; else from the most likely
            one.
        """
        drawn = np.zeros((self.public.n_records, len(self.public.variables)), dtype=np.int64)
        for number, (begin, end) in enumerate(self.groups()):
            rng = self.rng(2, stream, number)
            group, measured = self._group(begin, end, drawn), self._measured(begin, end)
            model = LogLinear(group.domain, [table.columns for table in measured])
            parameters = self._fitted(model, measured, number, None)
            if perturbed:
                told = _redrawn(model, parameters, group, measured, rng)
                parameters = self._fitted(model, told, number, rng)
            shares = model.shares(parameters)
            flat = shares.reshape(len(shares), -1)
            sets = [table.columns for table in measured]
            expected = dict(zip(sets, model.expected(shares, sets), strict=True))
            cells = balanced_cells(group.domain, flat, group.records_of, expected, rng)
            drawn[:, begin:end] = np.column_stack(np.unravel_index(cells, group.domain.shape))
        return drawn


def _redrawn(
    model: LogLinear,
    parameters: Array,
    group: _Group,
    measured: Sequence[NoisyTable],
    rng: np.random.Generator,
) -> list[NoisyTable]:
    """The tables as another sample of records and other noise would have given them."""
    shares = model.shares(parameters)
    sets = [table.columns for table in measured]
    cells = _independent(shares.reshape(len(shares), -1), group.records_of, rng)
    one = np.zeros(shares.shape).reshape(len(shares), -1)
    for place, rows in enumerate(group.records_of):
        np.add.at(one[place], cells[rows], 1.0)
    by_chance = model.tables(one.reshape(shares.shape), sets)
    expected = model.expected(shares, sets)
    return [
        replace(
            table,
            counts=table.counts + drawn - mean + rng.normal(0.0, table.deviation, table.counts.shape),
        )
        for table, drawn, mean in zip(measured, by_chance, expected, strict=True)
    ]


def _independent(shares: Array, records_of: Sequence[Codes], rng: np.random.Generator) -> Codes:
    cells = np.empty(sum(map(len, records_of)), dtype=np.int64)
    for share, rows in zip(shares, records_of, strict=True):
        found = np.searchsorted(np.cumsum(share), rng.random(len(rows)), side="right")
        cells[rows] = np.minimum(found, len(share) - 1)
    return cells


def synthetic_values(
    model: MeasuredModel, measured: Measurements, stream: int, perturbed: bool
) -> tuple[Array, ...]:
    """One data set: of each variable numbers or codes of categories, missing as NaN; arrays of shape (n_records,)."""
    codes = model.codes(stream, perturbed)
    fine = {each.variable: each for each in measured.fine}
    values = []
    for k, variable in enumerate(model.public.variables):
        rng, mine = model.rng(4, stream, k), codes[:, k]
        if k not in fine:
            values.append(np.where(mine == variable.n_values, np.nan, mine.astype(float)))
            continue
        records = np.bincount(mine, minlength=variable.n)[: variable.n_values].astype(float)
        shares = fine_shares(variable, fine[k], records, rng if perturbed else None)
        values.append(values_of(variable, mine, shares, even_places(mine, rng)))
    return tuple(values)
