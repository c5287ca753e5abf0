"""An anchor made of noisy counts: of the outcome, by each predictor (docs/methods/anchored.md).

Each table of counts has Laplace noise. To them a log-linear model without interactions of predictors is fitted,
given how noisy they are, and a table is simulated from it. All of that reads the noisy counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from synth_core.analysis.drawing import even_uniforms
from synth_core.analysis.fits import Fits
from synth_core.analysis.requirements import require_counting
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.mechanisms.noise import laplace
from synth_core.models import BY_BRACKETS, build_model
from synth_core.models.categories import OfCategories

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

FEW_VALUES = (
    12  # of a public number, each with counts of its own; one of more values is cut at its own quantiles
)
PUBLIC_CUTS = 10
EARLIER_CUTS = 12  # of an earlier sensitive number: at declared multiples of its scale
LEVEL_SCALE, SLOPE_SCALE = 3.0, 1.0  # prior deviations of log-linear terms: of a category, and by a level
TREND_SCALE = 5.0  # of a trend of ordered categories by a predictor, for a deviation of each
TREND_CUTS = 50  # a number of more values has its trend by the means of so many equal parts
FARTHEST = 4.0  # deviations, beyond which a trend by a number goes no further
STEEPEST = 8.0  # of a log density, from one end of a bracket to the other


@dataclass(frozen=True)
class NoisyCounts:
    """Tables of counts of an outcome's categories, with noise.

    Attributes
    ----------
    tables : tuple of arrays of shape (n_levels, n_categories)
        One for each predictor; without predictors one of a single level.
    deviation : float
        Standard deviation of the noise of a count, in records.
    """

    tables: tuple[Array, ...]
    deviation: float

    @property
    def total(self) -> float:
        """How many records were counted, as the noise tells it; at least 1."""
        return max(1.0, float(np.mean([table.sum() for table in self.tables])))

    @property
    def worth(self) -> float:
        """How many records would tell the shares as well as the noisy counts: the middle one of the tables.

        A count of n p records with noise s knows p as well as m records do where p / m = (s / n)^2. Small counts are
        known worse than large ones, so it is the mean over cells of p (n / s)^2, cells of equal counts supposed.
        """
        records = [(self.total / self.deviation) ** 2 / table.size for table in self.tables]
        return float(np.median(records))


def greatest_share(n_tables: int) -> float:
    """The share of epsilon for counts up to which the zCDP of counts and fit together is at most epsilon^2 / 8.

    With a share f the tables have f epsilon / m each, which is (f epsilon / m)^2 / 2 zCDP (Bun and Steinke 2016), and
    the fit ((1 - f) epsilon)^2 / 8. Their sum is at most epsilon^2 / 8 where f (1 + 4 / m) is at most 2.

    Examples
    --------
    >>> greatest_share(1), greatest_share(4)
    (0.4, 1.0)
    """
    return 2 * n_tables / (n_tables + 4)


def levels(fits: Fits) -> list[tuple[Codes, int]]:
    """For each predictor the level of every complete record, and how many levels there are; without any one level.

    Public predictors have the levels of the table, earlier sensitive variables those that were declared.
    """
    s, complete = fits.settings, fits.selection.complete
    levels_of_columns = []
    for name in s.predictors:
        column = fits.table.frame[name]
        codes, n = _public(column, name in s.categorical)
        levels_of_columns.append((codes[complete], n))
    for each in s.earlier:
        codes, n = earlier_codes(each, each.values(fits.table))
        levels_of_columns.append((codes[complete], n))
    return levels_of_columns or [(np.zeros(fits.model.records.n, dtype=np.int64), 1)]


def trend_columns(fits: Fits) -> Array:
    """Every predictor that is a number, for every complete record, of shape (n_records, n_columns): trends follow them.

    Each is centred and scaled; of an earlier sensitive one, which is what an anchor says of it, as it stands in a
    design. What is missing, and a zero with a probability of its own, are on no trend: they have levels.
    """
    s, complete = fits.settings, fits.selection.complete
    found = [np.zeros((int(np.sum(complete)), 0))]
    for name in s.predictors:
        column = fits.table.frame[name]
        if pd.api.types.is_numeric_dtype(column) and name not in s.categorical:
            found.append(_along(column.to_numpy(dtype=float)[complete]))
    found += [
        _along_earlier(each, each.values(fits.table)[complete]) for each in s.earlier if not each.categories
    ]
    return np.hstack(found)


def _along_earlier(each: EarlierVariable, values: Array) -> Array:
    """An earlier sensitive number as one column, in deviations from the mean of those on the trend, 0 for others."""
    along = each.columns(values)[:, 0]
    on_trend = ~(np.isnan(values) | (each.zeros & (values == 0)))
    if not on_trend.any():
        return np.zeros((len(values), 1))
    middle, spread = along[on_trend].mean(), along[on_trend].std() or 1.0
    return np.where(on_trend, np.clip((along - middle) / spread, -FARTHEST, FARTHEST), 0.0)[:, None]


def _along(values: Array) -> Array:
    """A public number as one column: the mean of its part among `TREND_CUTS`, in deviations from the mean."""
    if len(np.unique(values)) > TREND_CUTS:
        cuts = np.unique(np.quantile(values, np.arange(1, TREND_CUTS) / TREND_CUTS))
        part = np.searchsorted(cuts, values, side="right")
        values = (np.bincount(part, values) / np.maximum(np.bincount(part), 1))[part]
    apart = (values - values.mean()) / (values.std() or 1.0)
    return np.clip(apart, -FARTHEST, FARTHEST)[:, None]


def _public(column: pd.Series, categorical: bool) -> tuple[Codes, int]:
    numeric = pd.api.types.is_numeric_dtype(column) and not categorical
    if numeric and column.nunique() > FEW_VALUES:
        values = column.to_numpy(dtype=float)
        cuts = np.unique(np.nanquantile(values, np.arange(1, PUBLIC_CUTS) / PUBLIC_CUTS))
        codes = np.searchsorted(cuts, values, side="right")
    else:
        codes = pd.factorize(column.astype(str), sort=True)[
            0
        ]  # a missing value has none, and no complete record
    return codes.astype(np.int64), int(codes.max()) + 1


def earlier_codes(each: EarlierVariable, values: Array) -> tuple[Codes, int]:
    """Levels of an earlier sensitive variable: its categories, or what lies between declared multiples of its scale.

    Examples
    --------
    >>> earlier_codes(EarlierVariable("pay", scale=10.0), np.array([-1.0, 0.0, 4.0, 6.0, 1e9]))[0]
    array([ 0,  1,  2,  3, 13])
    """
    absent = np.isnan(values)
    if each.categories:
        n, codes = len(each.categories), np.where(absent, 0, values)
    else:
        cuts = each.scale * np.sinh(np.arange(EARLIER_CUTS) / 2)
        cuts = np.concatenate([[0.0, np.nextafter(0.0, 1.0)], cuts[1:]])  # zero has a level of its own
        n, codes = len(cuts) + 1, np.searchsorted(cuts, np.where(absent, 0.0, values), side="right")
    codes = np.where(absent, n, codes).astype(np.int64)
    return codes, n + each.missing


def counting_model(fits: Fits) -> OfCategories:
    """The declared categories of the outcome or, of an amount whatever its model, brackets: declared, or of the guess.

    Raises
    ------
    InputError
        If nothing is declared, or the outcome is a count; or a value lies outside declared edges.
    """
    model, s = fits.model, fits.settings
    if isinstance(model, OfCategories):
        return model
    require_counting(model, s)
    edges, records = s.bracket_edges, model.records
    if not edges:
        assert s.guess is not None
        edges = model.guess_edges(*s.guess)
        # What lies beyond a guess counts in its last brackets: a rule that reads a value alone.
        records = records.with_outcome(np.clip(records.outcome, edges[0], edges[-1]))
    model_of_counts = build_model(BY_BRACKETS, records, bracket_edges=edges)
    assert isinstance(model_of_counts, OfCategories)
    return model_of_counts


def noisy_margins(fits: Fits, epsilon: float, rng: np.random.Generator) -> NoisyCounts:
    """Count the records, which costs epsilon: withholding a value changes one count of each table by one.

    Raises
    ------
    InputError
        If nothing is declared to count by, see `counting_model`.
    """
    model, by = counting_model(fits), levels(fits)
    each = epsilon / len(by)
    tables = []
    for codes, n in by:
        counts = np.zeros((n, model.n_categories))
        np.add.at(counts, (codes, model.code), 1.0)
        tables.append(counts + laplace(counts.shape, each, rng))
    alpha = np.exp(-each)
    return NoisyCounts(tuple(tables), float(np.sqrt(2 * alpha) / (1 - alpha)))


def shares_given(counts: NoisyCounts, source: Fits, scores: Array) -> Array:
    """Probabilities of the categories of each complete record of `source`, of shape (n_records, n_categories).

    The most likely log-linear model given the noise, under normal priors. It has a term for each category, for each
    pair of a predictor's level and a category, and, where categories are in an order, a trend along it that is
    linear in each predictor that is a number. The prior of trends is wide: terms by level are drawn towards 0 each
    by itself, and what many small terms say together, such as a slope, would be lost with them.

    Parameters
    ----------
    source : Fits
        It has the predictors of the records, or where these are sensitive too what an anchor says of them.
    scores : array of shape (n_categories,)
        Where each category stands in their order, see `OfCategories.order_scores`.
    """
    by = levels(source)
    n_categories = counts.tables[0].shape[1]
    along = trend_columns(source) if scores.any() else np.zeros((len(by[0][0]), 0))
    keys = np.column_stack([*(codes for codes, _ in by), along])
    distinct, row_of, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    design = scipy.sparse.csr_array(  # one column a level
        np.hstack([np.eye(n)[distinct[:, j].astype(np.int64)] for j, (_, n) in enumerate(by)])
    )
    trend = distinct[:, len(by) :]
    told = np.vstack(counts.tables)
    mass = count * (counts.total / count.sum())
    # A count varies by chance too, where the source's records are not those that were counted.
    variance = counts.deviation**2 + 1.0
    n_terms = (design.shape[1] + 1) * n_categories

    def shares(at: Array) -> Array:
        terms = at[:n_terms].reshape(-1, n_categories)
        linear = design @ terms[1:] + terms[0] + np.multiply.outer(trend @ at[n_terms:], scores)
        return np.asarray(scipy.special.softmax(linear, axis=1))

    scale = np.full(n_terms + trend.shape[1], SLOPE_SCALE)
    scale[:n_categories], scale[n_terms:] = LEVEL_SCALE, TREND_SCALE

    def loss(at: Array) -> tuple[float, Array]:
        share = shares(at)
        short = (told - design.T @ (share * mass[:, None])) / variance
        back = design @ short
        slope = mass[:, None] * share * (back - (share * back).sum(axis=1, keepdims=True))
        prior = at / scale**2
        value = 0.5 * variance * float((short**2).sum()) + 0.5 * float(prior @ at)
        terms = np.vstack([slope.sum(axis=0)[None], design.T @ slope]).ravel()
        return value, prior - np.concatenate([terms, trend.T @ (slope @ scores)])

    start = np.zeros(len(scale))
    start[:n_categories] = np.log(
        np.maximum(sum(table.sum(axis=0) for table in counts.tables), counts.total / 1000)
    )
    start[:n_categories] -= start[:n_categories].mean()
    best = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "maxfun": 2000}
    )
    return shares(best.x)[row_of.ravel()]


def within_brackets(edges: Array, shares: Array, codes: Codes, uniform: Array) -> Array:
    """How far into its bracket each record lies, by a log density whose slope is that between neighbouring brackets.

    What a record's predictors say of its bracket they say of the value in it too: values spread alike within brackets,
    whatever the predictors, would make slopes too flat.

    Parameters
    ----------
    edges : array of shape (n_categories + 1,)
        Of brackets; on the logarithm where a bracket is above 0, as its values are spread.
    shares : array of shape (n_records, n_categories)
    codes : array of int of shape (n_records,)
    uniform : array of shape (n_records,), in (0, 1)

    Returns
    -------
    array of shape (n_records,), in (0, 1): the share of a bracket that lies below

    Examples
    --------
    >>> shares = np.array([[0.1, 0.3, 0.6], [0.3, 0.4, 0.3]])
    >>> within_brackets(np.array([1.0, 2.0, 4.0, 8.0]), shares, np.array([1, 1]), np.array([0.5, 0.5])).round(3)
    array([0.608, 0.5  ])
    """
    low, high = edges[:-1], edges[1:]
    logs, wide = low > 0, high > low
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.where(wide, np.where(logs, np.log(high / np.where(logs, low, 1.0)), high - low), 1.0)
    height = np.log(np.maximum(shares, 1e-300) / width)
    steep, n = np.zeros(shares.shape), len(low)
    alike = [wide[k] and wide[k + 1] and logs[k] == logs[k + 1] for k in range(n - 1)]
    for k in range(n):
        below, above = (k > 0 and alike[k - 1]), (k < n - 1 and alike[k])
        first, last = (k - 1 if below else k), (k + 1 if above else k)
        if first == last:
            continue
        apart = width[first : last + 1].sum() - (width[first] + width[last]) / 2
        steep[:, k] = width[k] * (height[:, last] - height[:, first]) / apart
    slope = np.clip(steep[np.arange(len(codes)), codes], -STEEPEST, STEEPEST)
    flat = np.abs(slope) < 1e-6
    slope = np.where(flat, 1.0, slope)
    return np.where(flat, uniform, np.log1p(uniform * np.expm1(slope)) / slope)


def spread_draws(shares: Array, rng: np.random.Generator) -> Codes:
    """A category for each record, as even as its shares among records of like shares (systematic sampling).

    Parameters
    ----------
    shares : array of shape (n_records, n_categories)
    """
    _, kind_of = np.unique(shares, axis=0, return_inverse=True)
    place = even_uniforms(kind_of.ravel(), rng)
    upto = np.cumsum(shares, axis=1)[:, :-1]
    return (place[:, None] > upto).sum(axis=1).astype(np.int64)
