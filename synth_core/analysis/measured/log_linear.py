"""A log-linear model of the sensitive cells given the public ones, fitted to noisy tables of counts.

p(x | z) is proportional to exp of the sum over terms c of theta_c[z_c, x_c]. A term is a set of columns with a
sensitive one. The expected table of a set is the sum over records of p(x | z), at the public values that they have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.measured.cell_sums import CellSums

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
    """

    public: Codes
    records: Array
    public_shape: tuple[int, ...]
    shape: tuple[int, ...]
    ordered: tuple[bool | None, ...]
    possible: NDArray[np.bool_] | None = None

    @property
    def n_public(self) -> int:
        return len(self.public_shape)

    def shape_of(self, columns: Columns) -> tuple[int, ...]:
        """Cells of each column of a table."""
        return tuple((*self.public_shape, *self.shape)[column] for column in columns)

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
        Deviation of a term of one column, of two, of three, …; the last holds for more.
    steps : tuple of float
        Deviation of the difference of neighbouring cells along an ordered axis, likewise by order; inf: no smoothing.
    along : tuple of int
        The columns whose cells are smoothed.
    trend : float
        Deviation of the slope of a pair along an ordered column, whose scores have mean square 1.
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


class _Term:
    """Where a set of columns lies in the table of all cells."""

    def __init__(self, domain: Domain, columns: Columns):
        self.columns, self.sensitive = columns, domain.sensitive(columns)
        self.cell, self.n_public_cells = domain.public_cells(columns)
        self.n_cells = math.prod(domain.shape[k] for k in self.sensitive)
        self.shape = self.n_public_cells, self.n_cells
        self.axes = domain.shape_of(columns)


class _Trend:
    """A trend of a pair along one of its ordered columns: a slope for each cell of the other column.

    The association of a number is mostly a slope over many cells. Priors of single cells shrink each of them, and with
    them the slope, where noise is large (the row effects model, Goodman 1979).
    """

    def __init__(self, place: int, term: _Term, axis: int):
        self.place, self.axes, self.axis = place, term.axes, axis
        scores = np.linspace(-1.0, 1.0, term.axes[axis])
        self.scores = scores / math.sqrt(float((scores**2).mean()))
        self.n_slopes = term.axes[1 - axis]

    def table(self, slopes: Array) -> Array:
        """What slopes add to each cell of the pair, in its shape as a term."""
        return np.outer(self.scores, slopes) if self.axis == 0 else np.outer(slopes, self.scores)

    def by_slopes(self, table: Array, power: int = 1) -> Array:
        """Sums over the ordered column of a value of each cell times the score, of shape (n_slopes,)."""
        return np.tensordot(self.scores**power, table.reshape(self.axes), (0, self.axis))


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
        self.trends = [
            _Trend(place, term, axis)
            for place, term in enumerate(self.terms)
            if len(term.columns) == 2
            for axis, column in enumerate(term.columns)
            if domain.ordered[column] and term.axes[axis] > 2
        ]
        self.n_cells = sum(math.prod(term.shape) for term in self.terms)
        self.n_parameters = self.n_cells + sum(trend.n_slopes for trend in self.trends)
        self._all = tuple(range(1, 1 + len(domain.shape)))

    @cached_property
    def _sums(self) -> CellSums:
        tables = [(term.sensitive, term.cell, term.n_public_cells) for term in self.terms]
        return CellSums(self.domain.shape, tables, len(self.domain.public))

    def split(self, parameters: Array) -> list[Array]:
        """The cells' own parameters of each term, of shape (n_public_cells, n_sensitive_cells)."""
        ends = np.cumsum([math.prod(term.shape) for term in self.terms])
        parts = np.split(parameters[: self.n_cells], ends[:-1])
        return [part.reshape(term.shape) for part, term in zip(parts, self.terms, strict=True)]

    def _with_trends(self, parameters: Array) -> list[Array]:
        """What each term adds in each of its cells: its own parameters and trends."""
        tables, begin = self.split(parameters), self.n_cells
        for trend in self.trends:
            slopes = parameters[begin : begin + trend.n_slopes]
            tables[trend.place] = tables[trend.place] + trend.table(slopes).reshape(
                self.terms[trend.place].shape
            )
            begin += trend.n_slopes
        return tables

    def _by_parameters(self, tables: Sequence[Array], power: int = 1) -> Array:
        """Sums over the cells that each parameter enters, of a value of each cell times its score there."""
        trends = [trend.by_slopes(tables[trend.place], power) for trend in self.trends]
        return np.concatenate([*(table.ravel() for table in tables), *trends])

    def shares(self, parameters: Array) -> Array:
        """p(x | z) of every public combination, of shape (n_cells, *shape)."""
        shares = np.empty((len(self.domain.public), *self.domain.shape))
        for block, cells in self._shares(parameters):
            shares[block] = cells
        return shares

    def _shares(self, parameters: Array) -> Iterator[tuple[slice, Array]]:
        """p(x | z) by blocks of public combinations."""
        for block, cells in self._sums.spread(self._with_trends(parameters)):
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
        tables = model._sums.gather((block, cells[block]) for block in model._sums.blocks)
        found = dict(zip([term.columns for term in model.terms], tables, strict=True))
        return [found[columns] for columns in sets]

    @cached_property
    def _mass(self) -> Array:
        return self.domain.records.reshape(-1, *(1 for _ in self.domain.shape))

    def _prior(self, scales: PriorScales) -> tuple[Array, list[list[tuple[int, float]]]]:
        """The deviation of each parameter, and of each term its smoothed axes with the precision of a step."""
        deviations, smooth = [], []
        for term in self.terms:
            order = len(term.columns)
            size = scales.of_order[min(order, len(scales.of_order)) - 1]
            step = scales.steps[min(order, len(scales.steps)) - 1]
            deviations.append(np.full(math.prod(term.shape), size))
            axes = [axis for axis, c in enumerate(term.columns) if c in scales.along and math.isfinite(step)]
            smooth.append([(axis, step**-2) for axis in axes])
        deviations += [np.full(trend.n_slopes, scales.trend) for trend in self.trends]
        return np.concatenate(deviations), smooth

    def fit(
        self,
        measured: Sequence[NoisyTable],
        scales: PriorScales,
        start: Array | None = None,
        rng: np.random.Generator | None = None,
        iterations: int = 200,
    ) -> Array:
        """The most likely parameters given the tables, under normal priors; of shape (n_parameters,).

        Parameters
        ----------
        measured : sequence of NoisyTable
            Of sets of columns that are terms.
        start : array, optional
        rng : Generator, optional
            Draws the centres of the priors, so that with perturbed tables the answer is about a draw of the posterior.
        """
        deviation, smooth = self._prior(scales)
        place = {term.columns: k for k, term in enumerate(self.terms)}
        told = {place[table.columns]: table for table in measured}
        middle = np.zeros(self.n_parameters) if rng is None else rng.normal(0.0, deviation)
        steps = self._steps(smooth, rng)
        unit = 1 / np.sqrt(deviation**-2 + self._curvature(measured, middle if start is None else start))
        held = np.empty((len(self.domain.public), *self.domain.shape))  # expected records of each cell

        def expected_cells(parameters: Array) -> Iterator[tuple[slice, Array]]:
            for block, cells in self._shares(parameters):
                yield block, np.multiply(cells, self._mass[block], out=held[block])

        def loss(scaled: Array) -> tuple[float, Array]:
            moved = unit * scaled
            parameters = middle + moved
            expected = self._sums.gather(expected_cells(parameters))
            value, residuals = 0.0, [np.zeros(term.shape) for term in self.terms]
            for k, table in told.items():
                # Variance 1 beside the noise: a count of drawn records is a whole number.
                variance = table.deviation**2 + 1.0
                residuals[k] = (expected[k] - table.counts) / variance
                value += 0.5 * variance * float((residuals[k] ** 2).sum())
            slope = self._by_parameters(self._sums.gather(self._centred(held, residuals)))
            penalty, slopes = self._smoothing(parameters, smooth, steps)
            value += 0.5 * float(((moved / deviation) ** 2).sum()) + penalty
            slope[: self.n_cells] += slopes
            return value, unit * (slope + moved / deviation**2)

        first = np.zeros(self.n_parameters) if start is None else (start - middle) / unit
        best = scipy.optimize.minimize(
            loss,
            first,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-7, "maxcor": 20},
        )
        return np.asarray(middle + unit * best.x)

    def _centred(self, held: Array, residuals: Sequence[Array]) -> Iterator[tuple[slice, Array]]:
        """What the residuals of tables say of each cell, less their mean under p(x | z), times its expected records.

        Parameters
        ----------
        held : array of shape (n_cells, *shape)
            Expected records.
        """
        for block, back in self._sums.spread(residuals):
            cells, records = held[block], self._mass[block]
            mean = np.einsum("zx,zx->z", cells.reshape(len(cells), -1), back.reshape(len(cells), -1))
            back -= mean.reshape(records.shape) / records
            back *= cells
            yield block, back

    def _curvature(self, measured: Sequence[NoisyTable], parameters: Array) -> Array:
        """About the second derivative of each parameter's own: it makes the search shorter and changes no answer."""
        tables = self._sums.gather((b, cells * self._mass[b]) for b, cells in self._shares(parameters))
        found = []
        for term, expected in zip(self.terms, tables, strict=True):
            told = sum(
                1 / (table.deviation**2 + 1.0) / math.prod(self.domain.shape_of(beside))
                for table in measured
                for beside in [tuple(c for c in table.columns if c not in term.columns)]
            )
            found.append(expected**2 * told)
        return self._by_parameters(found, power=2)

    def _steps(
        self, smooth: Sequence[Sequence[tuple[int, float]]], rng: np.random.Generator | None
    ) -> list[list[Array | float]]:
        """What the priors expect of the steps along ordered axes: 0, or a draw."""
        if rng is None:
            return [[0.0 for _ in axes] for axes in smooth]
        return [
            [
                rng.normal(0.0, precision**-0.5, np.diff(np.zeros(term.axes), axis=axis).shape)
                for axis, precision in axes
            ]
            for term, axes in zip(self.terms, smooth, strict=True)
        ]

    def _smoothing(
        self,
        parameters: Array,
        smooth: Sequence[Sequence[tuple[int, float]]],
        steps: Sequence[Sequence[Array | float]],
    ) -> tuple[float, Array]:
        """Half the squared steps along ordered axes, each times its precision, and the gradient."""
        value, slopes = 0.0, []
        for part, term, axes, centres in zip(self.split(parameters), self.terms, smooth, steps, strict=True):
            table = part.reshape(term.axes)
            slope = np.zeros_like(table)
            for (axis, precision), centre in zip(axes, centres, strict=True):
                step = np.diff(table, axis=axis) - centre
                value += 0.5 * precision * float((step**2).sum())
                slope -= precision * np.diff(step, axis=axis, prepend=0.0, append=0.0)
            slopes.append(slope.ravel())
        return value, np.concatenate(slopes)
