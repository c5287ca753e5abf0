"""A log-linear model of the sensitive cells given the public ones, fitted to noisy tables of counts.

p(x | z) is proportional to exp of the sum over terms c of theta_c[z_c, x_c]. A term is a set of columns with a
sensitive one. The expected table of a set is the sum over records of p(x | z), at the public values that they have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.measured.cell_sums import Blocks, CellSums
from synth_core.analysis.measured.smoothing import Smoothing

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Columns = tuple[int, ...]  # of a table, ascending: public ones first, then sensitive ones


@dataclass(frozen=True, eq=False)
class Domain:
    """The cells of a table: which public combinations there are, and how the sensitive columns are cut.

    Attributes
    ----------
    public : array of int of shape (n_cells, n_public)
        Distinct combinations of public codes.
    records : array of shape (n_cells,)
        How many records have each; at least 1.
    public_shape, shape : tuple of int
        Cells of each public and of each sensitive column.
    ordered : tuple of bool or None
        Of each column, public ones first: whether its cells are in an order; None where they may be.
    possible : array of bool of shape (n_cells, *shape), or None
        The sensitive cells that records of a public combination may be in; every combination has one. None: all.
    missing : tuple of bool
        Of each column, public ones first, whether its last cell is of missing values, which are in no order; empty
        where none is.
    """

    public: Codes
    records: Array
    public_shape: tuple[int, ...]
    shape: tuple[int, ...]
    ordered: tuple[bool | None, ...]
    possible: NDArray[np.bool_] | None = None
    missing: tuple[bool, ...] = ()

    @property
    def n_public(self) -> int:
        return len(self.public_shape)

    def shape_of(self, columns: Columns) -> tuple[int, ...]:
        """Cells of each column of a table."""
        return tuple((*self.public_shape, *self.shape)[column] for column in columns)

    def present_of(self, columns: Columns) -> tuple[int, ...]:
        """Cells of each column of a table without that of missing values: those that may be in an order."""
        missing = self.missing or (False,) * len(self.ordered)
        return tuple(
            size - missing[column] for size, column in zip(self.shape_of(columns), columns, strict=True)
        )

    def public_cells(self, columns: Columns) -> tuple[Codes, int]:
        """The cell of each public combination in the public part of a table, and how many cells that has."""
        names = [column for column in columns if column < self.n_public]
        shape = self.shape_of(tuple(names))
        if not names:
            return np.zeros(len(self.public), dtype=np.int64), 1
        return np.ravel_multi_index(tuple(self.public[:, names].T), shape), math.prod(shape)

    def sensitive(self, columns: Columns) -> tuple[int, ...]:
        """Which sensitive columns, counted from 0, are in a table."""
        return tuple(column - self.n_public for column in columns if column >= self.n_public)


@dataclass(frozen=True)
class PriorScales:
    """Scales of the normal priors of terms.

    Attributes
    ----------
    of_order : tuple of float
        Deviation of a term of one column, of two, of three, …; the last holds for more. Of a pair, cells of missing
        values have that of one column: a value is seldom missing whatever the other column says.
    steps : tuple of float
        Deviation of the difference of neighbouring cells along an ordered axis, likewise by order; inf: no smoothing.
    along : tuple of int
        The columns whose cells are smoothed.
    trend : float
        Deviation of the slope of a row of a pair along an ordered column, whose scores have mean square 1. The one
        slope of a pair, along both columns, has that of a term of one column.
    """

    of_order: tuple[float, ...] = (3.0, 1.0, 0.3)
    steps: tuple[float, ...] = (math.inf, math.inf, math.inf)
    along: tuple[int, ...] = ()
    trend: float = 2.0


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Noisy counts of a set of columns.

    Attributes
    ----------
    columns : tuple of int
    counts : array of shape (n_public_cells, n_sensitive_cells)
    deviation : float
        Standard deviation of the noise of a count, in records.
    """

    columns: Columns
    counts: Array
    deviation: float

    @property
    def precision(self) -> float:
        """Of a count as one of drawn records: a whole number has a variance of about 1 beside that of the noise."""
        return 1 / (self.deviation**2 + 1.0)


class _Term:
    """Where a set of columns lies in the table of all cells."""

    def __init__(self, domain: Domain, columns: Columns):
        self.columns, self.sensitive = columns, domain.sensitive(columns)
        self.cell, self.n_public_cells = domain.public_cells(columns)
        self.n_cells = math.prod(domain.shape[k] for k in self.sensitive)
        self.shape = self.n_public_cells, self.n_cells
        self.axes, self.present = domain.shape_of(columns), domain.present_of(columns)


def _cell_deviations(term: _Term, of_order: tuple[float, ...]) -> Array:
    """The prior deviations of the cells of a term."""
    deviations = np.full(term.axes, of_order[min(len(term.columns), len(of_order)) - 1])
    if len(term.columns) == 2:
        first, second = term.present
        deviations[first:] = deviations[:, second:] = of_order[0]
    return deviations.ravel()


class _Trend:
    """A trend of a pair along its ordered columns: a slope for each cell of the other column, or one of the pair.

    The association of a number is mostly a slope over many cells. Priors of single cells shrink each of them, and with
    them the slope, where noise is large (the row effects model, Goodman 1979). Likewise priors of rows shrink the
    slopes of rare ones: one slope of all, along both columns (uniform association), tells them by the others.

    Parameters
    ----------
    begin : int
        The pair's first parameter.
    axes, present : tuple of int
        Its cells, and those without missing values, which a trend leaves as they are.
    along : tuple of int
        The axis that the trend is along, or both.
    """

    def __init__(self, begin: int, axes: tuple[int, ...], present: tuple[int, ...], along: tuple[int, ...]):
        scores = np.ones(axes)
        for axis in along:
            own = np.zeros(axes[axis])
            own[: present[axis]] = np.linspace(-1.0, 1.0, present[axis])
            own /= math.sqrt(float((own[: present[axis]] ** 2).mean()))
            scores *= own[:, None] if axis == 0 else own
        rows = [axis for axis in (0, 1) if axis not in along]
        self.of_pair, self.n_slopes = not rows, axes[rows[0]] if rows else 1
        self.cells = begin + np.arange(math.prod(axes))
        self.slopes = np.indices(axes)[rows[0]].ravel() if rows else np.zeros(math.prod(axes), dtype=np.int64)
        self.scores = scores.ravel()


class LogLinear:
    """The model of some terms over a domain.

    Parameters
    ----------
    domain : Domain
    terms : sequence of tuple of int
        Sets of columns; that of each sensitive column alone is added.
    """

    def __init__(self, domain: Domain, terms: Sequence[Columns]):
        self.domain = domain
        alone = [(domain.n_public + k,) for k in range(len(domain.shape))]
        made = [_Term(domain, columns) for columns in dict.fromkeys((*alone, *terms))]
        self.terms = sorted(made, key=lambda term: term.sensitive)  # those of one stack stand together
        self._ends = np.cumsum([math.prod(term.shape) for term in self.terms])
        self.n_cells = int(self._ends[-1])
        self.trends = [
            _Trend(int(end) - math.prod(term.shape), term.axes, term.present, along)
            for end, term in zip(self._ends, self.terms, strict=True)
            if len(term.columns) == 2
            for along in self._along(term)
        ]
        self.n_parameters = self.n_cells + sum(trend.n_slopes for trend in self.trends)
        self._all = tuple(range(1, 1 + len(domain.shape)))

    def _along(self, term: _Term) -> list[tuple[int, ...]]:
        """The axes of the trends of a pair: each ordered one, and both where they may be in an order."""
        orders = [
            self.domain.ordered[column] if size > 2 else False
            for column, size in zip(term.columns, term.present, strict=True)
        ]
        both = [(0, 1)] if all(order is not False for order in orders) else []
        return [*((axis,) for axis, order in enumerate(orders) if order), *both]

    @cached_property
    def _sums(self) -> CellSums:
        tables = [(term.sensitive, term.cell, term.n_public_cells) for term in self.terms]
        return CellSums(self.domain.shape, tables, len(self.domain.public))

    @cached_property
    def scores(self) -> scipy.sparse.csr_array:
        """How much of each slope each cell of the terms has, of shape (n_cells, n_slopes)."""
        begins = np.cumsum([0, *(trend.n_slopes for trend in self.trends)])
        none, whole = np.empty(0), np.empty(0, dtype=np.int64)
        scores = np.concatenate([none, *(trend.scores for trend in self.trends)])
        cells = np.concatenate([whole, *(trend.cells for trend in self.trends)])
        slopes = np.concatenate([whole, *(t.slopes + b for t, b in zip(self.trends, begins, strict=False))])
        return scipy.sparse.csr_array((scores, (cells, slopes)), (self.n_cells, int(begins[-1])))

    @cached_property
    def _scores_by_slope(self) -> scipy.sparse.csr_array:
        return self.scores.T.tocsr()

    def split(self, cells: Array) -> list[Array]:
        """Parameters, or other values, of the cells of each term, of shape (n_public_cells, n_sensitive_cells)."""
        parts = np.split(cells[: self.n_cells], self._ends[:-1])
        return [part.reshape(term.shape) for part, term in zip(parts, self.terms, strict=True)]

    def _added(self, parameters: Array) -> Array:
        """What terms add in each of their cells: its own parameter and trends."""
        return np.asarray(parameters[: self.n_cells] + self.scores @ parameters[self.n_cells :])

    def shares(self, parameters: Array) -> Array:
        """p(x | z) of every public combination, of shape (n_cells, *shape)."""
        shares = np.empty((len(self.domain.public), *self.domain.shape))
        for block, cells in itertools.chain(*self._shares(parameters)):
            shares[block] = cells
        return shares

    def _shares(self, parameters: Array) -> list[Blocks]:
        """p(x | z) by blocks of public combinations, in parts as `CellSums.spread` has them."""
        return [self._normalised(part) for part in self._sums.spread(self._added(parameters))]

    def _normalised(self, part: Blocks) -> Blocks:
        for block, cells in part:
            if self.domain.possible is not None:
                np.copyto(cells, -np.inf, where=~self.domain.possible[block])
            cells -= cells.max(axis=self._all, keepdims=True)
            np.exp(cells, out=cells)
            cells /= cells.sum(axis=self._all, keepdims=True)
            yield block, cells

    def expected(self, shares: Array, sets: Sequence[Columns]) -> list[Array]:
        """Expected tables of sets of columns, of shape (n_public_cells, n_sensitive_cells) each."""
        return self.tables(shares * self._mass, sets)

    def tables(self, cells: Array, sets: Sequence[Columns]) -> list[Array]:
        """Tables of sets of columns from a count of each cell, of shape (n_cells, *shape)."""
        known = {term.columns for term in self.terms}
        model = self if known.issuperset(sets) else LogLinear(self.domain, sets)
        tables = model.split(model._sums.gather([((block, cells[block]) for block in model._sums.blocks)]))
        found = dict(zip([term.columns for term in model.terms], tables, strict=True))
        return [found[columns] for columns in sets]

    @cached_property
    def _mass(self) -> Array:
        return self.domain.records.reshape(-1, *(1 for _ in self.domain.shape))

    def deviations(self, scales: PriorScales) -> Array:
        """The prior deviation of each parameter."""
        cells = [_cell_deviations(term, scales.of_order) for term in self.terms]
        slopes = [
            np.full(each.n_slopes, scales.of_order[0] if each.of_pair else scales.trend)
            for each in self.trends
        ]
        return np.concatenate([*cells, *slopes])

    def smoothing(self, scales: PriorScales, rng: np.random.Generator | None) -> Smoothing:
        """The priors of steps along the columns that are smoothed."""
        last = len(scales.steps)
        steps = [scales.steps[min(len(term.columns), last) - 1] for term in self.terms]
        return Smoothing(
            (
                (
                    term.axes,
                    step,
                    tuple(
                        (a, term.present[a])
                        for a, c in enumerate(term.columns)
                        if c in scales.along and math.isfinite(step)
                    ),
                )
                for term, step in zip(self.terms, steps, strict=True)
            ),
            rng,
        )

    def fit(
        self,
        measured: Sequence[NoisyTable],
        scales: PriorScales,
        start: Array | None = None,
        rng: np.random.Generator | None = None,
        iterations: int = 200,
        heard: Callable[[], object] = lambda: None,
    ) -> Array:
        """The most likely parameters given the tables, under normal priors; of shape (n_parameters,).

        Parameters
        ----------
        measured : sequence of NoisyTable
            Of sets of columns that are terms.
        start : array, optional
        rng : Generator, optional
            Draws the centres of the priors, so that with perturbed tables the answer is about a draw of the posterior.
        heard : callable
            Called after each iteration; what it raises ends the fit.
        """
        deviation = self.deviations(scales)
        middle, precision = np.zeros(self.n_parameters), deviation**-2
        if rng is not None:
            middle = rng.normal(0.0, deviation)
        smoothing = self.smoothing(scales, rng)
        curvature = precision + self._curvature(measured, middle if start is None else start)
        curvature[: self.n_cells] += smoothing.precision_of_cells
        unit = 1 / np.sqrt(curvature)
        counts, told = self.told(measured)
        held = np.empty((len(self.domain.public), *self.domain.shape))  # expected records of each cell

        def expected_cells(part: Blocks) -> Blocks:
            for block, cells in part:
                yield block, np.multiply(cells, self._mass[block], out=held[block])

        def loss(scaled: Array) -> tuple[float, Array]:
            moved = unit * scaled
            parameters = middle + moved
            away = self._sums.gather([expected_cells(part) for part in self._shares(parameters)]) - counts
            residuals = told * away
            back = self._sums.spread(residuals)
            slope = self._sums.gather([self._centred(held, part) for part in back])
            penalty, slopes = smoothing.penalty(parameters)
            pull = precision * moved
            value = 0.5 * float(residuals @ away + pull @ moved) + penalty
            return value, unit * (np.concatenate([slope + slopes, self._scores_by_slope @ slope]) + pull)

        first = np.zeros(self.n_parameters) if start is None else (start - middle) / unit
        best = scipy.optimize.minimize(
            loss,
            first,
            jac=True,
            method="L-BFGS-B",
            callback=lambda _: heard(),
            options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-7, "maxcor": 10},
        )
        return np.asarray(middle + unit * best.x)

    def told(self, measured: Sequence[NoisyTable]) -> tuple[Array, Array]:
        """Noisy counts of the cells of the terms, and the precision of each; 0 of tables that were not counted.

        Of a table that was counted twice the mean by precision.
        """
        summed, told = np.zeros(self.n_cells), np.zeros(self.n_cells)
        begins = dict(zip((t.columns for t in self.terms), (0, *self._ends), strict=False))
        for table in measured:
            here = slice(begins[table.columns], begins[table.columns] + table.counts.size)
            summed[here] += table.precision * table.counts.ravel()
            told[here] += table.precision
        return np.divide(summed, told, out=np.zeros(self.n_cells), where=told > 0), told

    def _centred(self, held: Array, part: Blocks) -> Blocks:
        """What the residuals of tables say of each cell, less their mean under p(x | z), times its expected records.

        Parameters
        ----------
        held : array of shape (n_cells, *shape)
            Expected records.
        part : iterator
            The residuals, spread.
        """
        for block, back in part:
            cells, records = held[block], self._mass[block]
            mean = np.einsum("zx,zx->z", cells.reshape(len(cells), -1), back.reshape(len(cells), -1))
            back -= mean.reshape(records.shape) / records
            back *= cells
            yield block, back

    def _curvature(self, measured: Sequence[NoisyTable], parameters: Array) -> Array:
        """About the second derivative of each parameter's own: it makes the search shorter and changes no answer."""
        expected = self._sums.gather(
            [((b, cells * self._mass[b]) for b, cells in part) for part in self._shares(parameters)]
        )
        told = [
            sum(
                table.precision / math.prod(self.domain.shape_of(beside))
                for table in measured
                for beside in [tuple(c for c in table.columns if c not in term.columns)]
            )
            for term in self.terms
        ]
        found = expected**2 * np.repeat(told, [math.prod(term.shape) for term in self.terms])
        return np.concatenate([found, self._scores_by_slope.power(2) @ found])
