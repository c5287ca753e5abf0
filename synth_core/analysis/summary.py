"""A result thinned to what a screen can show: a few hundred points however many records. Confidential.

Curves are evaluated exactly at the points kept, so thinning loses detail between points and
changes none of them; extremes are always kept.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult, R
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.measures import cramers_v
from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.utility import category_shares

Array = NDArray[np.float64]

CURVE_POINTS = 256
SCATTER_POINTS = 240
ROWS_SHOWN = 20  # of a synthetic table
MAX_CELLS = 144  # of a pair's table: more are not read on a screen
_DENSITY_BINS = 512


@dataclass(frozen=True)
class Density:
    """A violin's outline: heights of a density, peak 1, at ascending values; of one value only, a single point."""

    at: list[float]
    height: list[float]


@dataclass(frozen=True)
class FiveNumbers:
    """Minimum, quartiles and maximum of values."""

    minimum: float
    q25: float
    median: float
    q75: float
    maximum: float

    @property
    def in_order(self) -> tuple[float, ...]:
        return self.minimum, self.q25, self.median, self.q75, self.maximum


@dataclass(frozen=True)
class BoundsSummary:
    """By-record Lipschitz bounds as a figure shows them; `largest_record` counts from 1."""

    density: Density
    five: FiveNumbers
    largest_record: int


@dataclass(frozen=True)
class WeightsSummary:
    """Weights of records as a figure shows them; `zero` records have weight 0."""

    density: Density
    five: FiveNumbers
    mean: float
    zero: int


@dataclass(frozen=True)
class WeightsAndBounds:
    """Weights and bounds of some records, which count from 1; `outside` is λ of a sensitive range, or empty."""

    record: list[int]
    weight: list[float]
    bound: list[float]
    outside: list[float]


@dataclass(frozen=True)
class Growth:
    """How the Lipschitz bound grows with the number of draws it is measured at."""

    draws: list[int]
    bound: list[float]


@dataclass(frozen=True)
class PrivacySummary:
    """Curves of privacy of what samples a posterior; of several variables, their joint bounds alone."""

    bounds: BoundsSummary
    weights: WeightsSummary | None = None
    scatter: WeightsAndBounds | None = None
    growth: Growth | None = None


@dataclass(frozen=True)
class EcdfPoints:
    """An empirical distribution function: shares of records at or below ascending values."""

    at: list[float]
    share: list[float]


@dataclass(frozen=True)
class EcdfSummary:
    """Both distribution functions, and the value where they are furthest apart with both shares there."""

    confidential: EcdfPoints
    synthetic: EcdfPoints
    place: float
    at_place: tuple[float, float]


@dataclass(frozen=True)
class PairSummary:
    """A pair of columns in both tables.

    Attributes
    ----------
    names : (str, str)
    association : float
        Absolute difference of Cramér's V.
    labels : (list of str, list of str)
        Of the cells of each column.
    confidential, synthetic : list of lists of float
        Shares of the records by cell; empty where the cells are too many to be read.
    """

    names: tuple[str, str]
    association: float
    labels: tuple[list[str], list[str]]
    confidential: list[list[float]]
    synthetic: list[list[float]]

    @property
    def difference(self) -> float:
        """Total variation distance of the shares of its cells."""
        return float(np.abs(np.subtract(self.confidential, self.synthetic)).sum()) / 2

    @property
    def used(self) -> tuple[list[int], list[int]]:
        """The rows and the columns in which a record of either table is."""
        cells = np.array(self.confidential) + np.array(self.synthetic)
        rows, columns = (np.flatnonzero(cells.any(axis=axis)).tolist() for axis in (1, 0))
        return rows, columns

    def only(self, rows: list[int], columns: list[int]) -> PairSummary:
        """These cells."""
        labels = [self.labels[0][i] for i in rows], [self.labels[1][j] for j in columns]
        mine, theirs = (
            [[side[i][j] for j in columns] for i in rows] for side in (self.confidential, self.synthetic)
        )
        return replace(self, labels=labels, confidential=mine, synthetic=theirs)


@dataclass(frozen=True)
class Closeness:
    """A line about how near the synthetic table is, as the gate will say it."""

    title: str
    warns: bool
    finding: str


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a synthetic table, as text."""

    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ShapeLine:
    """One thing that is told of a variable in both tables, such as how many of its values are zero."""

    variable: str
    what: str
    confidential: str
    synthetic: str


@dataclass(frozen=True)
class ResultSummary:
    """What a screen shows of one mechanism: its plain numbers and thinned curves. Confidential.

    Attributes
    ----------
    numbers : ResultNumbers
    density_scale : str
        On which scale densities are taken, in words.
    rows_dropped : int
        Rows of the table that are not used.
    privacy : PrivacySummary or None
        None without a posterior: neither bounds nor weights.
    ecdf : EcdfSummary or None
        None of several variables.
    pairs : tuple of PairSummary
        Of several variables: those of which at least one is sensitive.
    closeness : tuple of Closeness
        What stands out in the synthetic table; empty where it was not looked for.
    first_rows : FirstRows or None
    shape : tuple of ShapeLine
        How the sensitive variables look in both tables.
    old : bool
        Whether it stands for a result that is still at work.
    """

    numbers: ResultNumbers
    density_scale: str
    rows_dropped: int
    privacy: PrivacySummary | None
    ecdf: EcdfSummary | None
    pairs: tuple[PairSummary, ...] = ()
    closeness: tuple[Closeness, ...] = ()
    first_rows: FirstRows | None = None
    shape: tuple[ShapeLine, ...] = ()
    old: bool = False

    @property
    def mechanism(self) -> str:
        return self.numbers.mechanism

    @property
    def approximate(self) -> bool:
        """Whether it is a preview."""
        return self.numbers.preview_khat is not None

    def from_cache(self) -> Self:
        """The same, said to have been stored."""
        return replace(self, numbers=replace(self.numbers, cached=True))


def density(values: Array, points: int = 96) -> Density:
    """The outline of a Gaussian kernel estimate within the data's range.

    Binned and smoothed by convolution: O(n), whatever the bandwidth.
    """
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return Density([low], [1.0])
    counts, edges = np.histogram(values, bins=_DENSITY_BINS, range=(low, high))
    spread = min(values.std(), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34)
    bandwidth = 0.9 * (spread or values.std()) * len(values) ** -0.2
    width = max(bandwidth / (edges[1] - edges[0]), 1.5)
    reach = int(np.ceil(4 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    # Reflection at both ends: a violin must not lose mass where the data pile up at a bound.
    padded = np.pad(counts.astype(float), reach, mode="symmetric" if reach <= len(counts) else "edge")
    smooth = np.convolve(padded, kernel, mode="valid")
    at = np.linspace(low, high, points)
    height = np.interp(at, (edges[1:] + edges[:-1]) / 2, smooth)
    return Density(at.tolist(), (height / height.max()).tolist())


def five_numbers(values: Array) -> FiveNumbers:
    """Minimum, quartiles, maximum."""
    return FiveNumbers(*np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist())


def ecdf_points(values: Array, points: int = CURVE_POINTS, weights: Array | None = None) -> EcdfPoints:
    """The empirical distribution function at evenly spaced ranks of a sample, by weights where there are any."""
    n, order = len(values), np.argsort(values, kind="stable")
    at = values[order][np.unique(np.linspace(0, n - 1, min(points, n)).astype(int))]
    return EcdfPoints(at.tolist(), shares_upto(values, at, weights).tolist())


def shares_upto(values: Array, at: Array, weights: Array | None = None) -> Array:
    """The share of a sample at or below each of some values, by weights where there are any."""
    order = np.argsort(values, kind="stable")
    counted = np.ones(len(values)) if weights is None else weights[order]
    upto = np.cumsum(counted)
    places = np.searchsorted(values[order], at, side="right")
    return np.asarray(np.append(0.0, upto)[places] / upto[-1])


def scatter_rows(bounds: Array, points: int = SCATTER_POINTS) -> NDArray[np.int64]:
    """Records that show weights against bounds: evenly by rank of the bound, the top ten in."""
    order = np.argsort(bounds, kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, min(points, len(order))).astype(int))
    return np.unique(np.concatenate([order[ranks], order[-10:]]))


def bounds_of(bounds: Array) -> BoundsSummary:
    """By-record bounds as a figure shows them: their density, five numbers, and whose is the largest."""
    return BoundsSummary(density(bounds), five_numbers(bounds), int(np.argmax(bounds)) + 1)


def summary_of(analysis: AnyAnalysis[R], result: R) -> ResultSummary:
    """What a screen shows of a result of an analysis, of one sensitive variable or of several."""
    numbers, tables = result.summary_numbers, analysis.discretised(result)
    return ResultSummary(
        numbers,
        analysis.density_scale,
        analysis.used_rows.dropped,
        privacy_of(result, numbers.several),
        None if numbers.several else _ecdf(analysis, result),
        () if tables is None else pairs_of(tables, set(analysis.outcomes)),
    )


def privacy_of(result: AnyResult, several: bool) -> PrivacySummary | None:
    """Bounds of the records; of one variable also its weights, and how its bound grows with draws."""
    bounds = result.lipschitz_bounds
    if not bounds.size:
        return None
    if several:
        return PrivacySummary(bounds_of(bounds))
    [fit] = result.fits
    rows = scatter_rows(bounds)
    steps = np.unique(np.geomspace(1, len(result.growth), 24).astype(int)) - 1
    return PrivacySummary(
        bounds_of(bounds),
        WeightsSummary(
            density(fit.weights), five_numbers(fit.weights), float(fit.weights.mean()), fit.n_zero_weight
        ),
        WeightsAndBounds(
            (rows + 1).tolist(),
            fit.weights[rows].tolist(),
            bounds[rows].tolist(),
            fit.outside[rows].tolist() if fit.outside.size else [],
        ),
        Growth((steps + 1).tolist(), result.growth[steps].tolist()),
    )


def _ecdf(analysis: AnyAnalysis[R], result: R) -> EcdfSummary:
    """The distribution functions of the only sensitive variable."""
    [alone], [outcome] = analysis.analyses(False), analysis.confidential.values()
    survey = alone.survey if analysis.settings.accuracy_by else None
    return ecdf_of(result.fits[0], outcome, None if survey is None else survey.weights)


def ecdf_of(result: Result, outcome: Array, weights: Array | None = None) -> EcdfSummary:
    """The distribution functions of the confidential values and of the first synthetic ones, by survey weights."""
    synthetic, place = result.synthetic[0], result.ecdf_location
    mine, theirs = (
        float(shares_upto(values, np.array([place]), weights)[0]) for values in (outcome, synthetic)
    )
    return EcdfSummary(
        ecdf_points(outcome, weights=weights), ecdf_points(synthetic, weights=weights), place, (mine, theirs)
    )


def pairs_of(
    tables: DiscretisedTables, sensitive: set[str], most_cells: int = MAX_CELLS
) -> tuple[PairSummary, ...]:
    """The association and the shares by cell of each pair of columns that synthesis touches; of more cells none."""
    pairs = []
    for i, j in itertools.combinations(range(len(tables.names)), 2):
        if not sensitive & {tables.names[i], tables.names[j]}:
            continue
        sides = tables.confidential[:, [i, j]], tables.synthetic[:, [i, j]]
        tied = [
            cramers_v(side[:, 0], side[:, 1], own) for side, own in zip(sides, tables.counted, strict=True)
        ]
        n_codes = tables.n_codes[i], tables.n_codes[j]
        few = n_codes[0] * n_codes[1] <= most_cells
        mine, theirs = (
            _shares(side, n_codes, own) if few else []
            for side, own in zip(sides, tables.counted, strict=True)
        )
        labels = list(tables.labels[i]), list(tables.labels[j])
        names = tables.names[i], tables.names[j]
        pairs.append(PairSummary(names, abs(tied[0] - tied[1]), labels, mine, theirs))
    return tuple(pairs)


def _shares(codes: NDArray[np.int64], n_codes: tuple[int, int], weights: Array) -> list[list[float]]:
    """Shares of the records by cell."""
    cells = category_shares(codes[:, 0] * n_codes[1] + codes[:, 1], n_codes[0] * n_codes[1], weights)
    shares: list[list[float]] = cells.reshape(n_codes).tolist()
    return shares
