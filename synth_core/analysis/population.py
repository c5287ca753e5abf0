"""Estimates of the population: distribution, mean and percentiles by survey weights, with design-based intervals.

All functions know NumPy only. Intervals take the weights as those of a design with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.utility import AT_ZERO, SHARE_OF, Statistic, near_zeros, statistic_name

Array = NDArray[np.float64]
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Population:
    """How close a synthetic variable is to the confidential one, both by survey weights; means over data sets.

    Attributes
    ----------
    name, weight : str
        Of the variable and of the weights' column.
    ecdf_max : float
        The largest difference of the weighted distribution functions; of categories the total variation distance.
    statistics : tuple of Statistic
        Weighted mean and percentiles, or shares of categories, with design-based 95 % intervals.
    """

    name: str
    weight: str
    ecdf_max: float
    statistics: tuple[Statistic, ...]


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """The smallest value at or below which this share of the weight lies.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    place = int(np.searchsorted(upto, share * upto[-1] * (1 - 1e-12)))
    return float(values[order][min(place, len(values) - 1)])


def standard_error(values: Array, weights: Array) -> float:
    """Of a weighted mean, by linearisation (Särndal, Swensson and Wretman 1992, 5.7): Taylor's, with replacement."""
    n, total = len(values), weights.sum()
    if n < 2:
        return float("nan")
    scores = weights * (values - np.average(values, weights=weights)) / total
    return float(np.sqrt(n / (n - 1) * (scores**2).sum()))


def mean_with_interval(values: Array, weights: Array) -> tuple[float, tuple[float, float]]:
    """A weighted mean, or share, and its 95 % interval."""
    mean, half = float(np.average(values, weights=weights)), _Z95 * standard_error(values, weights)
    return mean, (mean - half, mean + half)


def quantile_with_interval(values: Array, weights: Array, share: float) -> tuple[float, tuple[float, float]]:
    """A weighted quantile and its 95 % interval (Woodruff 1952): quantiles at the ends of the interval of the share."""
    middle = weighted_quantile(values, weights, share)
    half = _Z95 * standard_error((values <= middle).astype(float), weights)
    low, high = (
        weighted_quantile(values, weights, float(np.clip(share + side * half, 0.0, 1.0))) for side in (-1, 1)
    )
    return middle, (low, high)


def weighted_distance(mine: tuple[Array, Array], theirs: tuple[Array, Array]) -> float:
    """The largest difference of two weighted distribution functions, each of values and their weights."""
    points = np.unique(np.concatenate([mine[0], theirs[0]]))
    steps = []
    for values, weights in (mine, theirs):
        order = np.argsort(values, kind="stable")
        upto = np.concatenate([[0.0], np.cumsum(weights[order])]) / weights.sum()
        steps.append(upto[np.searchsorted(values[order], points, side="right")])
    return float(np.abs(steps[0] - steps[1]).max())


def population_of(
    name: str,
    weight: str,
    confidential: tuple[Array, Array],
    synthetic: Sequence[tuple[Array, Array]],
    percentiles: tuple[float, ...],
    categories: tuple[str, ...] | None = None,
) -> Population:
    """Weighted estimates of both.

    Parameters
    ----------
    confidential : pair of arrays
        Values or codes that are there, and the survey weights of their records.
    synthetic : sequence of pairs of arrays
        The same of each data set.
    categories : tuple of str, optional
        What codes stand for.
    """
    found: list[list[tuple[float, tuple[float, float]]]] = []
    for values, weights in (confidential, *synthetic):
        if categories is not None:
            found.append(
                [mean_with_interval((values == c).astype(float), weights) for c in range(len(categories))]
            )
        else:
            found.append(
                [mean_with_interval(values, weights)]
                + [quantile_with_interval(values, weights, p / 100) for p in percentiles]
            )
    if categories is not None:
        names = [SHARE_OF + category for category in categories]
        gaps = [
            0.5 * sum(abs(a[0] - b[0]) for a, b in zip(found[0], each, strict=True)) for each in found[1:]
        ]
    else:
        names = ["mean", *map(statistic_name, percentiles)]
        gaps = [weighted_distance(confidential, each) for each in synthetic]
    statistics = [_averaged(each, [sets[k] for sets in found]) for k, each in enumerate(names)]
    if categories is None:
        statistics[1:] = _with_shares(statistics[1:], percentiles, (confidential, *synthetic))
    return Population(name, weight, float(np.mean(gaps)), tuple(statistics))


def _averaged(name: str, estimates: Sequence[tuple[float, tuple[float, float]]]) -> Statistic:
    """The estimate of the confidential table, and the means over those of the synthetic ones."""
    mine, *theirs = estimates
    low, high = (float(np.mean([interval[side] for _, interval in theirs])) for side in (0, 1))
    return Statistic(name, *mine, float(np.mean([value for value, _ in theirs])), (low, high))


def _with_shares(
    statistics: Sequence[Statistic],
    percentiles: tuple[float, ...],
    samples: Sequence[tuple[Array, Array]],
) -> list[Statistic]:
    """Percentiles, those at the zeros with the share that is compared in their place."""
    values, weights = samples[0]
    below, upto = (float(weights[at].sum() / weights.sum()) for at in (values < 0, values <= 0))
    own = np.array([each.confidential for each in statistics])
    near = near_zeros(below, upto, np.array(percentiles) / 100, own)
    if not near.any():
        return list(statistics)
    at_zero = _averaged(AT_ZERO, [mean_with_interval((x <= 0).astype(float), w) for x, w in samples])
    return [
        replace(each, instead=at_zero) if replaced else each
        for each, replaced in zip(statistics, near, strict=True)
    ]


def population_words(population: Population) -> str:
    """The weighted estimates of a variable in words."""
    errors = ", ".join(
        f"{each.words} {100 * each.error:+.1f} {each.unit}"
        for each in population.statistics
        if math.isfinite(each.error) and not each.name.startswith(SHARE_OF)
    )
    points = f"{100 * population.ecdf_max:.1f} points"
    return f"{population.name} off by at most {points}{f' ({errors})' if errors else ''}"


def populations_words(populations: Sequence[Population]) -> str:
    """The weighted estimates of all variables in a sentence; empty without survey weights."""
    if not populations:
        return ""
    said = "; ".join(map(population_words, populations))
    return f"In the population, by {populations[0].weight}: {said}."
