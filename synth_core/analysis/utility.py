"""Utility: how close the synthetic values are to the confidential ones.

All functions know NumPy only. Quantiles are NumPy's default (R type 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Sides = tuple[Array, Array]  # of a confidential and a synthetic table

BOOTSTRAP_DRAWS = 500
SHARE_OF = "share of "  # before a category, the key of a statistic
AT_ZERO = "share at or below 0"
MISSING = "share missing"
NEAR_ZEROS = 0.05  # a share of zeros that is so far off moves a percentile to 0 or away from it
_RESAMPLE_MEANS_UP_TO = 1_000
Z95 = 1.959963984540054  # half of a 95 % interval in standard errors
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class EcdfDistance:
    """Distances of two empirical distribution functions (Woo et al. 2009).

    `ecdf_max` is max |D| and `ecdf_avg` the mean of D^2 over the merged sample;
    `location` is where |D| is largest.
    """

    ecdf_max: float
    ecdf_avg: float
    location: float


def ecdf_distance(confidential: Array, synthetic: Array, weights: Sides | None = None) -> EcdfDistance:
    """Compare two samples by D = F_confidential - F_synthetic at the merged points.

    Parameters
    ----------
    confidential : array of shape (n,)
    synthetic : array of shape (m,)
    weights : pair of arrays of shapes (n,) and (m,), optional
        How often each value counts, by default once: whole weights are values that stand several times.

    Examples
    --------
    >>> ecdf_distance(np.array([1.0, 2.0]), np.array([3.0, 4.0])).ecdf_max
    1.0
    """
    merged = np.concatenate([confidential, synthetic])
    order = np.argsort(merged, kind="stable")
    values = merged[order]
    from_confidential = order < len(confidential)
    of_sides = [from_confidential, ~from_confidential]  # counts of booleans: faster than sums of ones
    if weights is not None:
        weight = np.concatenate(weights)[order]
        of_sides = [np.where(side, weight, 0.0) for side in of_sides]
    # Tied points share the value reached at the last of them.
    last = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    mine, theirs = (np.cumsum(side)[last] for side in of_sides)
    steps = mine / mine[-1] - theirs / theirs[-1]
    count = np.diff(mine + theirs, prepend=0)
    largest = int(np.argmax(np.abs(steps)))
    return EcdfDistance(
        ecdf_max=float(np.abs(steps[largest])),
        ecdf_avg=float(count @ steps**2 / count.sum()),
        location=float(values[last[largest]]),
    )


def distance_of(
    confidential: Array, synthetic: Array, categories: tuple[str, ...] | None, weights: Sides | None = None
) -> EcdfDistance:
    """The distance of two distributions, of numbers or of codes of categories; `weights` as for `ecdf_distance`."""
    if categories is None:
        return ecdf_distance(confidential, synthetic, weights)
    return category_distance(confidential, synthetic, len(categories), weights)


def category_distance(
    confidential: Array, synthetic: Array, n_categories: int, weights: Sides | None = None
) -> EcdfDistance:
    """The distance of two samples of codes, in the order of categories that makes it largest.

    That is the order of the difference of their shares, and `ecdf_max` is then the total variation distance, half of
    the sum of the absolute differences.

    Examples
    --------
    >>> category_distance(np.array([0.0, 1, 1, 2]), np.array([0.0, 0, 0, 2]), 3).ecdf_max
    0.5
    """
    own = (None, None) if weights is None else weights
    shares = [
        category_shares(each, n_categories, w) for each, w in zip((confidential, synthetic), own, strict=True)
    ]
    place = np.argsort(np.argsort(shares[1] - shares[0], kind="stable"))
    mine, theirs = (place[each.astype(int)].astype(float) for each in (confidential, synthetic))
    distance = ecdf_distance(mine, theirs, weights)
    return replace(distance, location=float(np.flatnonzero(place == distance.location)[0]))


def category_shares(
    codes: Array | NDArray[np.int64], n_categories: int, weights: Array | None = None
) -> Array:
    """Share of each category, of shape (n_categories,)."""
    counted = np.bincount(codes.astype(int), weights, n_categories)
    return np.asarray(counted / counted.sum())


def share_statistics(
    confidential: Array, synthetic: Array, categories: tuple[str, ...], seed: int
) -> tuple[Statistic, ...]:
    """Share of each category in both, with bootstrap intervals.

    Parameters
    ----------
    confidential : array of shape (n_records,)
        Codes, the places among the categories.
    synthetic : array of shape (n_datasets, n_records)
    """
    n = len(confidential)
    rng, rng_synthetic = np.random.default_rng([seed, 11]), np.random.default_rng([seed, 12])

    def resampled(share: float, random: np.random.Generator) -> Array:
        return random.binomial(n, share, BOOTSTRAP_DRAWS) / n  # exactly the bootstrap's

    statistics_of_shares = []
    for code, category in enumerate(categories):
        mine, theirs = float((confidential == code).mean()), (synthetic == code).mean(axis=1)
        statistics_of_shares.append(
            Statistic(
                SHARE_OF + category,
                mine,
                _interval(resampled(mine, rng)),
                float(theirs.mean()),
                _interval(_barycenter([resampled(each, rng_synthetic) for each in theirs])),
            )
        )
    return tuple(statistics_of_shares)


def bootstrap_quantile(
    ordered: Array, probability: float, rng: np.random.Generator, draws: int = BOOTSTRAP_DRAWS
) -> Array:
    """Bootstrap draws of a type-7 quantile, without resampling.

    The k-th order statistic of a resample is the sample's value at rank ceil(n * U), with U
    the k-th order statistic of n uniforms: a Beta(k, n - k + 1) variable. The next order
    statistic given this one is U + (1 - U) * Beta(1, n - k). So the exact bootstrap
    distribution costs O(draws), whatever n.

    Parameters
    ----------
    ordered : array of shape (n,)
        The sample, ascending.

    Returns
    -------
    array of shape (draws,)
    """
    n = len(ordered)
    position = (n - 1) * probability
    k = int(np.floor(position))
    share = position - k
    first = rng.beta(k + 1, n - k, draws)
    lower = ordered[np.clip(np.ceil(n * first).astype(int) - 1, 0, n - 1)]
    if share == 0 or k + 1 >= n:
        return lower
    second = first + (1 - first) * rng.beta(1, n - k - 1, draws)
    upper = ordered[np.clip(np.ceil(n * second).astype(int) - 1, 0, n - 1)]
    return lower + share * (upper - lower)


def bootstrap_mean(values: Array, rng: np.random.Generator, draws: int = BOOTSTRAP_DRAWS) -> Array:
    """Bootstrap draws of the mean, of shape (draws,).

    Above 1,000 values the normal limit is drawn from instead of resamples.
    """
    n = len(values)
    if n > _RESAMPLE_MEANS_UP_TO:
        return rng.normal(values.mean(), values.std() / np.sqrt(n), draws)
    counts = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)])
    return counts @ values / n


@dataclass(frozen=True)
class Statistic:
    """One summary of the confidential and the synthetic values, with 95 % intervals.

    Attributes
    ----------
    instead : Statistic or None
        Of a percentile that is 0, or next to the zeros: the share at or below 0, which is compared in its place, since
        such a percentile has no relative error that says anything. See `near_zeros`.
    """

    name: str
    confidential: float
    confidential_interval: tuple[float, float]
    synthetic: float
    synthetic_interval: tuple[float, float]
    instead: Statistic | None = None

    @property
    def compared(self) -> Statistic:
        """What is compared: itself, or the share that stands in its place."""
        return self.instead or self

    @property
    def error(self) -> float:
        """How far off it is: relative to |confidential|, and infinite where that is 0; of `instead` the difference."""
        return self.error_at(self.compared.synthetic)

    def error_at(self, value: float) -> float:
        """The error if the synthetic value, of `instead` where there is one, were another one."""
        error = value - self.compared.confidential
        if self.instead is not None or error == 0:
            return error
        return error / abs(self.confidential) if self.confidential else float(np.sign(error) * np.inf)

    @property
    def confidential_error(self) -> float:
        """The standard error of the confidential value, of which its interval is 1.96 to either side on average."""
        low, high = self.confidential_interval
        return (high - low) / (2 * Z95)

    @property
    def words(self) -> str:
        """What is compared, in words."""
        return statistic_words(self.compared.name)

    @property
    def unit(self) -> str:
        """What a hundred of an error are in: percent of the confidential value, or percentage points."""
        return "%" if self.instead is None else "points"


def mean_of_sets(same: Sequence[Statistic]) -> Statistic:
    """The mean of one statistic over data sets, and that of `instead`; an interval has the means of their ends."""
    low, high = (float(np.mean([each.synthetic_interval[end] for each in same])) for end in (0, 1))
    shares = [each.instead for each in same if each.instead is not None]
    return replace(
        same[0],
        synthetic=float(np.mean([each.synthetic for each in same])),
        synthetic_interval=(low, high),
        instead=mean_of_sets(shares) if shares else None,
    )


def distinct(statistics: Iterable[Statistic]) -> tuple[Statistic, ...]:
    """Statistics whose comparisons differ: the share at or below 0 stands once, for all percentiles at the zeros."""
    return tuple({each.compared.name: each for each in reversed(list(statistics))}.values())[::-1]


def statistic_name(percentile: float) -> str:
    """The key of a percentile: "median" or "q" and the number."""
    return "median" if percentile == 50 else f"q{percentile:g}"


def percentile_words(percentile: float) -> str:
    """A percentile in words.

    Examples
    --------
    >>> percentile_words(1), percentile_words(12), percentile_words(97.5)
    ('1st percentile', '12th percentile', '97.5th percentile')
    """
    text = f"{percentile:g}"
    last = "" if text[-2:] in ("11", "12", "13") or "." in text else text[-1]
    return text + {"1": "st", "2": "nd", "3": "rd"}.get(last, "th") + " percentile"


def statistic_words(name: str) -> str:
    """The key of a statistic in words.

    Examples
    --------
    >>> statistic_words("mean"), statistic_words("q90"), statistic_words("share of widowed")
    ('mean', '90th percentile', 'share of widowed')
    """
    if name in ("mean", "median", AT_ZERO, MISSING) or name.startswith(SHARE_OF):
        return name
    return percentile_words(float(name.removeprefix("q")))


def _interval(draws: Array) -> tuple[float, float]:
    low, high = np.quantile(draws, _INTERVAL)
    return float(low), float(high)


def _barycenter(draws: list[Array]) -> Array:
    """Average the quantile functions: the Wasserstein barycenter (PPM, section 5.2)."""
    return np.mean([np.sort(each) for each in draws], axis=0)


def statistics(
    confidential: Array, synthetic: Array, percentiles: tuple[float, ...], seed: int
) -> tuple[Statistic, ...]:
    """Mean and percentiles of both, with bootstrap intervals.

    Parameters
    ----------
    confidential : array of shape (n_records,)
    synthetic : array of shape (n_datasets, n_records)
    percentiles : tuple of float, in (0, 100)
    seed : int
        The confidential intervals depend on it and on the data only.
    """
    ordered = np.sort(confidential)
    ordered_synthetic = np.sort(synthetic, axis=1)
    rng, rng_synthetic = np.random.default_rng([seed, 11]), np.random.default_rng([seed, 12])
    shares = np.array(percentiles) / 100
    names = ["mean", *map(statistic_name, percentiles)]
    mine = [confidential.mean(), *np.quantile(ordered, shares)]
    theirs = [synthetic.mean(), *np.quantile(ordered_synthetic, shares, axis=1).mean(axis=1)]
    replaced = near_zeros(*shares_around_zero(ordered), shares, np.array(mine[1:]))
    at_zero = _share_at_zero(ordered, ordered_synthetic, seed) if replaced.any() else None
    my_draws = [bootstrap_mean(confidential, rng)]
    their_draws = [_barycenter([bootstrap_mean(each, rng_synthetic) for each in synthetic])]
    for share in shares:
        my_draws.append(bootstrap_quantile(ordered, share, rng))
        resampled = [bootstrap_quantile(each, share, rng_synthetic) for each in ordered_synthetic]
        their_draws.append(_barycenter(resampled))
    # All intervals at once: a call of np.quantile costs more than its numbers.
    low, high = np.quantile(my_draws + their_draws, _INTERVAL, axis=1)
    intervals = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    instead = [None, *(at_zero if each else None for each in replaced)]
    known = zip(names, mine, intervals[: len(names)], theirs, intervals[len(names) :], instead, strict=True)
    return tuple(
        Statistic(name, float(x), around_x, float(y), around_y, share)
        for name, x, around_x, y, around_y, share in known
    )


def shares_around_zero(ordered: Array) -> tuple[float, float]:
    """The shares of an ascending sample below 0, and at or below it."""
    below, upto = (np.searchsorted(ordered, 0.0, side) / len(ordered) for side in ("left", "right"))
    return float(below), float(upto)


def near_zeros(below: float, upto: float, shares: Array, values: Array) -> NDArray[np.bool_]:
    """Which percentiles have no relative error that says anything: they are 0, or a small error of the share of zeros
    makes them 0.

    Parameters
    ----------
    below, upto : float
        The shares below 0, and at or below it.
    shares : array of shape (n_percentiles,)
        The percentiles, in (0, 1).
    values : array of shape (n_percentiles,)

    Examples
    --------
    >>> near_zeros(0.0, 0.14, np.array([0.1, 0.15, 0.5]), np.array([0.0, 900.0, 40_000.0]))
    array([ True,  True, False])
    """
    margin = min(NEAR_ZEROS, upto - below)
    near = (shares >= below - margin) & (shares <= upto + margin)
    return (values == 0) | (near & (upto > below))


def _share_at_zero(ordered: Array, ordered_synthetic: Array, seed: int) -> Statistic:
    """The share at or below 0 of both, with bootstrap intervals: the bootstrap of a share is binomial."""
    rng, rng_synthetic = np.random.default_rng([seed, 13]), np.random.default_rng([seed, 14])

    def resampled(values: Array, random: np.random.Generator) -> tuple[float, Array]:
        share = shares_around_zero(values)[1]
        return share, random.binomial(len(values), share, BOOTSTRAP_DRAWS) / len(values)

    mine, draws = resampled(ordered, rng)
    theirs = [resampled(each, rng_synthetic) for each in ordered_synthetic]
    share, around = float(np.mean([each for each, _ in theirs])), _barycenter([each for _, each in theirs])
    return Statistic(AT_ZERO, mine, _interval(draws), share, _interval(around))
