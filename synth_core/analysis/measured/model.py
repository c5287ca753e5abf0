"""Synthetic records from noisy measurements: public columns and noise in, records out; nothing confidential is read.

Sensitive columns are modelled together as far as their cells can be held; beyond that in groups, each given the public
columns and the synthetic values of the groups before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.drawing import even_uniforms
from synth_core.analysis.fits import Progress, tells_nothing
from synth_core.analysis.measured.balanced import balanced_cells, spread_cells
from synth_core.analysis.measured.cell_limits import dealt_within, left_by_limits, within_limits
from synth_core.analysis.measured.cells import FREE, PRESENT, PublicSide
from synth_core.analysis.measured.log_linear import Columns, Domain, LogLinear, NoisyTable, PriorScales
from synth_core.analysis.measured.measuring import Measurements
from synth_core.analysis.measured.prior_scales import LEARNING, STEPS, learnt_scales, scaled
from synth_core.analysis.measured.sampled import Sampling
from synth_core.analysis.measured.structural_missing import structural_missing
from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.analysis.measured.within import fine_shares, values_of
from synth_core.data.decided import possible
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError

MAX_CELLS = 1_000_000  # public combinations times sensitive cells of one group
ITERATIONS, ROUGH = 200, 60
USUAL = STEPS[2]  # where scales are not learnt


@dataclass(frozen=True, eq=False)
class _Group:
    """Sensitive columns that are modelled together, given the public ones and the earlier ones.

    `records_of` are the records of each combination of what is given; `measured` the tables whose last column is here;
    `shares` what each record counts in these, less than 1 where a unit of several counts as one.
    """

    records_of: list[Codes]
    model: LogLinear
    measured: list[NoisyTable]
    shares: Array

    @property
    def ordered(self) -> tuple[int, ...]:
        """The columns that are in an order."""
        return tuple(column for column, order in enumerate(self.model.domain.ordered) if order)


class MeasuredModel:
    """A model of the noisy tables of one file.

    Parameters
    ----------
    public : PublicSide
    tables : sequence of NoisyTable
    rng : callable
        Random numbers of a stream. They need not be secret: all that is drawn follows from the measurements.
    progress : callable
    sampling : callable, optional
        Samples the posterior that several data sets are drawn from; without it each is of a perturbed refit.
    """

    def __init__(
        self,
        public: PublicSide,
        tables: Sequence[NoisyTable],
        rng: Callable[..., np.random.Generator],
        progress: Progress = tells_nothing,
        sampling: Sampling | None = None,
    ):
        self.public, self.tables, self.rng, self.progress = public, tables, rng, progress
        self.n_public = len(public.shape)
        self._fits: list[tuple[PriorScales, Array]] = []
        self._sampling = sampling
        self._posterior: Posterior | None = None
        self.structural = structural_missing(public, tables)

    @cached_property
    def _groups(self) -> list[tuple[int, int]]:
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
        variables, given = public.variables, np.column_stack([public.codes, drawn[:, :begin]])
        width, limits = given.shape[1], [each for each in public.limits if begin <= each.variable < end]
        if public.decided is not None:  # records that rules tell apart are no one combination
            given = np.column_stack([given, public.decided[:, begin:end], *(each.rows for each in limits)])
        if given.shape[1]:
            cells, place = np.unique(given, axis=0, return_inverse=True)
        else:
            cells, place = np.zeros((1, 0), dtype=np.int64), np.zeros(n, dtype=np.int64)
        order = np.argsort(place.ravel(), kind="stable")
        records_of = np.split(order, np.cumsum(np.bincount(place.ravel(), minlength=len(cells)))[:-1])
        shape, possible = tuple(each.n for each in variables[begin:end]), None
        if public.decided is not None:
            flags = width + end - begin
            decided, here = cells[:, width:flags], variables[begin:end]
            possible = possible_cells(decided, here)
            possible &= left_by_limits(
                limits, cells[:, flags:], cells[:, self.n_public : width], begin, here, decided
            )
            if not possible.reshape(len(cells), -1).any(axis=1).all():
                raise InputError(
                    f"Together the rules leave some record no cell of {', '.join(each.name for each in here)}: declare "
                    "edges of brackets where ranges of rules end."
                )
        possible = self._without_structural(cells, begin, end, possible)
        domain = Domain(
            cells[:, :width],
            np.bincount(place.ravel(), public.shares, minlength=len(cells)).astype(float),
            (*public.shape, *(each.n for each in variables[:begin])),
            shape,
            (*public.ordered, *(each.ordered for each in variables[:end])),
            possible,
            (*(False for _ in public.shape), *(each.missing for each in variables[:end])),
        )
        # Earlier variables stand with the public columns here.
        measured = [
            replace(table, counts=table.counts.reshape(domain.public_cells(table.columns)[1], -1))
            for table in self.tables
            if begin <= table.columns[-1] - self.n_public < end
        ]
        model = LogLinear(domain, [table.columns for table in measured])
        return _Group(records_of, model, measured, public.shares)

    def _without_structural(
        self, cells: Codes, begin: int, end: int, possible: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_] | None:
        """The cells that are possible, less those that structural missing values leave nobody in."""
        for each in (each for each in self.structural if begin <= each.variable < end):
            decided = np.full((len(cells), end - begin), FREE)
            decided[:, each.variable - begin] = each.decided[cells[:, each.column]]
            left = possible_cells(decided, self.public.variables[begin:end])
            if possible is not None:
                left &= possible
            if left.reshape(len(left), -1).any(axis=1).all():  # else rules say otherwise
                possible = left
        return possible

    def _drawn(self, draw: Callable[[int, _Group], Codes]) -> Codes:
        """Cells of records, group by group, each given those drawn before it; of shape (n_records, n_variables)."""
        drawn = np.zeros((self.public.n_records, len(self.public.variables)), dtype=np.int64)
        for number, (begin, end) in enumerate(self._groups):
            group = self._group(begin, end, drawn)
            cells = draw(number, group)
            drawn[:, begin:end] = np.column_stack(np.unravel_index(cells, group.model.domain.shape))
        return drawn

    def expected(self, sets: Sequence[Columns]) -> list[Array]:
        """About what is expected of tables of sets of columns, in their order: by it is chosen what is counted."""
        return self._roughly(sets)[1]

    def rough_codes(self) -> Codes:
        """Cells of synthetic records from a rough fit, of shape (n_records, n_variables)."""
        return self._roughly([])[0]

    def _roughly(self, sets: Sequence[Columns]) -> tuple[Codes, list[Array]]:
        """Cells of records by a rough fit, and what it expects of tables."""
        found: dict[Columns, Array] = {}

        def roughly(number: int, group: _Group) -> Codes:
            scales = scaled(1.0, USUAL, group.ordered)
            shares = group.model.shares(group.model.fit(group.measured, scales, iterations=ROUGH))
            begin, end = self._groups[number]
            here = [each for each in sets if begin <= each[-1] - self.n_public < end]
            found.update(zip(here, group.model.expected(shares, here), strict=True))
            return spread_cells(shares.reshape(len(shares), -1), group.records_of, self.rng(3, number))

        codes = self._drawn(roughly)
        return codes, [found[each] for each in sets]

    def _most_likely(self, number: int, group: _Group) -> tuple[PriorScales, Array]:
        """Scales of the priors, learnt by the first group, and the most likely parameters; found once for a group."""
        if len(self._fits) <= number:
            # The first group learns the scales too. Where one goes on for longer, the share waits at its end.
            begin, end = (LEARNING * (each > 0) + ITERATIONS * each for each in (number, number + 1))
            total, done = LEARNING + ITERATIONS * len(self._groups), count(begin + 1)

            def heard() -> None:
                self.progress("fitting a model of the noisy tables", min(next(done), end) / total)

            heard()
            if number == 0:
                scales, start = learnt_scales(group.model, group.measured, self.rng(1), heard)
            else:
                scales, start = replace(self._fits[0][0], along=group.ordered), None
            fitted = group.model.fit(group.measured, scales, start, iterations=ITERATIONS, heard=heard)
            self._fits.append((scales, fitted))
        return self._fits[number]

    @property
    def only(self) -> LogLinear | None:
        """The model where all sensitive columns are modelled together; None where they are in groups."""
        [(begin, end), *others] = self._groups
        nothing = np.zeros((self.public.n_records, end), dtype=np.int64)
        return None if others else self._group(begin, end, nothing).model

    @property
    def diagnostics(self) -> Diagnostics | None:
        """Of the posterior, once a data set was drawn from it."""
        return None if self._posterior is None else self._posterior.diagnostics

    def _draw(self, sampling: Sampling, group: _Group, stream: int) -> Array:
        """The parameters of a data set: of each another draw of the posterior."""
        if self._posterior is None:
            seed = int(self.rng(6).integers(1, 2**31))
            self._posterior = sampling(group.model, group.measured, *self._most_likely(0, group), seed)
        order = self.rng(6).permutation(self._posterior.n_draws)
        return np.asarray(self._posterior.draws["theta"][order[stream % len(order)]])

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

        def balanced(number: int, group: _Group) -> Codes:
            rng, model = self.rng(2, stream, number), group.model
            scales, parameters = self._most_likely(number, group)
            if perturbed and self._sampling is not None:
                parameters = self._draw(self._sampling, group, stream)
            elif perturbed:
                told = _redrawn(group, parameters, rng)
                parameters = model.fit(told, scales, parameters, rng=rng, iterations=ITERATIONS)
            shares, sets = model.shares(parameters), [table.columns for table in group.measured]
            # Every record is drawn, whatever it counts in what was measured.
            records = np.array([len(rows) for rows in group.records_of], dtype=float)
            everybody = shares * records.reshape(-1, *(1 for _ in model.domain.shape))
            expected = dict(zip(sets, model.tables(everybody, sets), strict=True))
            flat = shares.reshape(len(shares), -1)
            return balanced_cells(model.domain, flat, group.records_of, expected, rng)

        return self._drawn(balanced)


def possible_cells(decided: Codes, variables: Sequence[Variable]) -> NDArray[np.bool_]:
    """The sensitive cells that records may be in, of shape (n_combinations, *cells of the variables).

    Parameters
    ----------
    decided : array of int of shape (n_combinations, n_variables)
        As those of `PublicSide`.

    Examples
    --------
    >>> two = Variable("pay", 2, missing=True), Variable("sex", 2)
    >>> possible_cells(np.array([[-1, 0], [-2, -1], [2, -1]]), two).sum(axis=(1, 2))
    array([3, 4, 2])
    """
    possible = np.ones((len(decided), *(each.n for each in variables)), dtype=bool)
    for k, (variable, cell) in enumerate(zip(variables, decided.T, strict=True)):
        own = (cell[:, None] < 0) | (cell[:, None] == np.arange(variable.n))
        if variable.missing:
            own[cell == PRESENT, -1] = False
        possible &= own.reshape(len(own), *(variable.n if j == k else 1 for j in range(len(variables))))
    return possible


def _redrawn(group: _Group, parameters: Array, rng: np.random.Generator) -> list[NoisyTable]:
    """The tables as another sample of records and other noise would have given them."""
    model, measured = group.model, group.measured
    shares, sets = model.shares(parameters), [table.columns for table in measured]
    flat = shares.reshape(len(shares), -1)
    counts = np.zeros_like(flat)
    for place, (share, rows) in enumerate(zip(flat, group.records_of, strict=True)):
        if (group.shares[rows] == 1).all():
            counts[place] = rng.multinomial(len(rows), share)
        else:
            np.add.at(counts[place], rng.choice(len(share), len(rows), p=share), group.shares[rows])
    by_chance, expected = model.tables(counts.reshape(shares.shape), sets), model.expected(shares, sets)
    return [
        replace(
            table,
            counts=table.counts + drawn - mean + rng.normal(0.0, table.deviation, table.counts.shape),
        )
        for table, drawn, mean in zip(measured, by_chance, expected, strict=True)
    ]


def synthetic_values(
    model: MeasuredModel, measured: Measurements, stream: int, perturbed: bool
) -> tuple[Array, ...]:
    """One data set: of each variable numbers or codes of categories, missing as NaN; arrays of shape (n_records,)."""
    return values_at(model, measured, model.codes(stream, perturbed), stream, perturbed)


def values_at(
    model: MeasuredModel, measured: Measurements, codes: Codes, stream: int, perturbed: bool
) -> tuple[Array, ...]:
    """Values of records whose cells are drawn, as those of `synthetic_values`."""
    fine, categories = {each.variable: each for each in measured.fine}, model.public.categories
    values: list[Array] = []
    sensitive: dict[str, tuple[Array, tuple[str, ...] | None]] = {}  # that rules may read
    every = np.arange(model.public.n_records)
    for k, variable in enumerate(model.public.variables):
        rng, mine = model.rng(4, stream, k), codes[:, k]
        if k not in fine:
            values.append(np.where(mine == variable.n_values, np.nan, mine.astype(float)))
            sensitive[variable.name] = values[-1], categories.get(variable.name)
            continue
        counted = model.public.shares * model.public.undecided(k)
        records = np.bincount(mine, counted, variable.n)[: variable.n_values].astype(float)
        shares = fine_shares(variable, fine[k], records, rng if perturbed else None)
        drawn = values_of(variable, mine, shares, even_uniforms(mine, rng))
        if limits := model.public.limits_of(k):
            left = possible(limits, sensitive, every, None)
            drawn = within_limits(left, variable, mine, dealt_within(left, mine, drawn, rng))
        values.append(drawn)
        if model.public.fixed is not None:  # a number that a rule says, and not one of its bracket
            said = model.public.fixed[:, k]
            values[-1] = np.where(np.isnan(said), values[-1], said)
        sensitive[variable.name] = values[-1], None
    return tuple(values)
