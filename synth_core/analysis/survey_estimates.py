"""Estimates of a population by survey weights, with design-based standard errors and intervals.

All functions know NumPy only. The design is taken as one with replacement, of records or of the units that were drawn
together, within strata where they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.utility import AT_ZERO, SHARE_OF, Z95, Statistic, near_zeros, statistic_name
from synth_core.data.survey_weights import Survey

Array = NDArray[np.float64]
Sample = tuple[Array, Survey]  # values or codes that are there, and how their records were sampled
Estimate = tuple[float, tuple[float, float]]  # with its 95 % interval


def weighted_quantiles(values: Array, weights: Array, shares: Array) -> Array:
    """The smallest value at or below which each share of the weight lies.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.9]))
    array([2., 3.])
    """
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    places = np.searchsorted(upto, np.asarray(shares) * upto[-1] * (1 - 1e-12))
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])


def linearised_error(scores: Array, survey: Survey) -> Array:
    """The standard error of an estimate whose linearised scores sum to 0 (Särndal, Swensson and Wretman 1992, 5.7).

    Scores of records that were drawn together are summed, and vary around the mean of their stratum. Of a stratum with
    one such sum nothing is known of how they vary: it is held against the mean of all, which is as a rule too much.
    Where only some of what was drawn from a stratum is here, the sums of the others are 0.

    Parameters
    ----------
    scores : array of shape (n_records,) or (n_records, n_estimates)
        How much each record moves the estimate, to first order.

    Returns
    -------
    array of shape () or (n_estimates,)
        Not a number where fewer than two were drawn.
    """
    strata = survey.strata
    if survey.units is not None:
        units = survey.units
        if strata is not None:  # those of like names in two strata are two
            units = strata * (units.max(initial=0) + 1) + units
        _, first, place = np.unique(units, return_index=True, return_inverse=True)
        summed = np.zeros((len(first), *scores.shape[1:]))
        np.add.at(summed, place, scores)
        scores, strata = summed, None if strata is None else strata[first]
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    apart, drawn = [scores], [len(scores)]
    if strata is not None:
        order = np.argsort(strata, kind="stable")
        apart = np.split(scores[order], np.flatnonzero(np.diff(strata[order])) + 1)
        drawn = [len(each) for each in apart]
        if survey.drawn is not None:
            drawn = survey.drawn[np.unique(strata)].tolist()
    middle = scores.mean(axis=0)
    return np.asarray(
        np.sqrt(sum(_variance_of_sum(each, n, middle) for each, n in zip(apart, drawn, strict=True)))
    )


def _variance_of_sum(scores: Array, n: int, middle: Array) -> Array:
    """The variance of the sum of what was drawn from one stratum: n scores, of which those that are not here are 0."""
    centre = scores.sum(axis=0) / n if n > 1 else middle
    around = ((scores - centre) ** 2).sum(axis=0) + (n - len(scores)) * centre**2
    return np.asarray(n / max(n - 1, 1) * around)


def standard_error(values: Array, survey: Survey) -> float:
    """Of a weighted mean or share, by linearisation."""
    weights = survey.weights
    scores = weights * (values - np.average(values, weights=weights)) / weights.sum()
    return float(linearised_error(scores, survey))


def mean_with_interval(values: Array, survey: Survey) -> Estimate:
    """A weighted mean, or share, and its 95 % interval."""
    mean, half = float(np.average(values, weights=survey.weights)), Z95 * standard_error(values, survey)
    return mean, (mean - half, mean + half)


def quantile_with_interval(values: Array, survey: Survey, share: float) -> Estimate:
    """A weighted quantile and its 95 % interval (Woodruff 1952): quantiles at the ends of the interval of the share."""
    middle = float(weighted_quantiles(values, survey.weights, np.array([share]))[0])
    half = Z95 * standard_error((values <= middle).astype(float), survey)
    ends = np.clip([share - half, share + half], 0.0, 1.0)
    low, high = weighted_quantiles(values, survey.weights, ends)
    return middle, (float(low), float(high))


def weighted_statistics(
    confidential: Sample,
    synthetic: Sequence[Sample],
    percentiles: tuple[float, ...],
    categories: tuple[str, ...] | None = None,
) -> tuple[Statistic, ...]:
    """Weighted mean and percentiles of both, or shares of categories, with design-based 95 % intervals.

    Parameters
    ----------
    synthetic : sequence of Sample
        Of each data set: what is said of them are means.
    categories : tuple of str, optional
        What codes stand for.
    """
    if categories is not None:
        return tuple(
            compared(SHARE_OF + category, [_share(sample, code) for sample in (confidential, *synthetic)])
            for code, category in enumerate(categories)
        )
    both = [_ascending(sample) for sample in (confidential, *synthetic)]
    mean = compared("mean", [mean_with_interval(*sample) for sample in both])
    found = [
        compared(statistic_name(p), [quantile_with_interval(*sample, p / 100) for sample in both])
        for p in percentiles
    ]
    return (mean, *_with_shares(found, percentiles, both))


def _ascending(sample: Sample) -> Sample:
    """A sample in ascending order: it is sorted again for every percentile, which then costs little."""
    values, survey = sample
    order = np.argsort(values, kind="stable")
    return values[order], survey.of(order)


def _share(sample: Sample, code: int) -> Estimate:
    values, survey = sample
    return mean_with_interval((values == code).astype(float), survey)


def compared(name: str, estimates: Sequence[Estimate]) -> Statistic:
    """The estimate of the confidential table, and the means over those of the synthetic ones."""
    mine, *theirs = estimates
    low, high = (float(np.mean([interval[side] for _, interval in theirs])) for side in (0, 1))
    return Statistic(name, *mine, float(np.mean([value for value, _ in theirs])), (low, high))


def shares_around_zero(values: Array, weights: Array) -> tuple[float, float]:
    """The weighted shares of values below 0, and at or below it."""
    below, upto = (float(weights[at].sum() / weights.sum()) for at in (values < 0, values <= 0))
    return below, upto


def _with_shares(
    statistics: Sequence[Statistic], percentiles: tuple[float, ...], samples: Sequence[Sample]
) -> list[Statistic]:
    """Percentiles, those at the zeros with the share that is compared in their place."""
    values, survey = samples[0]
    own = np.array([each.confidential for each in statistics])
    around = shares_around_zero(values, survey.weights)
    near = near_zeros(*around, np.array(percentiles) / 100, own)
    if not near.any():
        return list(statistics)
    at_zero = compared(AT_ZERO, [mean_with_interval((x <= 0).astype(float), s) for x, s in samples])
    return [
        replace(each, instead=at_zero) if replaced else each
        for each, replaced in zip(statistics, near, strict=True)
    ]
