"""Combining rules: the variance of an estimate from m synthetic data sets, u_1..u_m within and b between them.

None holds by itself: which one does, and by what factor it misses, is measured (`experiments.studies.coverage`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Rule = Callable[[Array, Array, float], float]


def as_confidential(estimates: Array, variances: Array, pseudo: float = 1.0) -> float:
    """u-bar: as if the synthetic data sets were the confidential one.

    Parameters
    ----------
    estimates, variances : arrays of shape (m,)
        q_l, and the variance u_l that ordinary software gives for it, of each data set.
    pseudo : float
        Not read here.
    """
    return float(np.mean(variances))


def partially_synthetic(estimates: Array, variances: Array, pseudo: float = 1.0) -> float:
    """u-bar + b / m (Reiter 2003). Of one data set b is unknown, and this is u-bar."""
    return float(np.mean(variances)) + _between(estimates) / len(estimates)


def whole_between(estimates: Array, variances: Array, pseudo: float = 1.0) -> float:
    """u-bar + b: for a mean whose data sets share an error that each shows alone. Of one data set this is u-bar.

    Its intervals are Student's, see `degrees_of_freedom`.
    """
    return float(np.mean(variances)) + _between(estimates)


def raab(estimates: Array, variances: Array, pseudo: float = 1.0) -> float:
    """u-bar (1 + 2 / m), parameters drawn from their posterior (Raab, Nowok and Dibben 2016); holds for m = 1 too."""
    return float(np.mean(variances)) * (1 + 2 / len(estimates))


def pseudo_posterior(estimates: Array, variances: Array, pseudo: float = 1.0) -> float:
    """u-bar (n sum a_i^2 / (sum a_i)^2 + (n / sum a_i + d) / m), for a draw of a pseudo posterior of weights a_i.

    Parameters
    ----------
    pseudo : float
        The factor in brackets, see `pseudo_factor`.
    """
    return float(np.mean(variances)) * pseudo


def pseudo_factor(weights: Array, m: int, even: bool = False, prior_records: float = 0.0) -> float:
    """The factor of `pseudo_posterior`: what weights, the draw of the parameters and that of the values add.

    Parameters
    ----------
    weights : array of shape (n_records,)
        Of the fit; 1 without weights, c of an anchored one.
    m : int
        Data sets.
    even : bool
        Whether values are spread evenly given the parameters: then they hardly add to the variance.
    prior_records : float
        How many records the prior counts as, which was made of the same table (noisy counts).

    Examples
    --------
    >>> pseudo_factor(np.ones(10), 1), pseudo_factor(np.ones(10), 1, even=True), pseudo_factor(np.full(10, 0.5), 2)
    (3.0, 2.0, 2.5)
    """
    n, told = len(weights), float(weights.sum())
    if told + prior_records <= 0:
        return float("inf")
    spread = n * float((weights**2).sum()) / told**2 if prior_records == 0 else 1.0
    return spread + (n / (told + prior_records) + (0.0 if even else 1.0)) / m


def _between(estimates: Array) -> float:
    return float(np.var(estimates, ddof=1)) if len(estimates) > 1 else 0.0


RULES: Mapping[str, Rule] = {
    "u": as_confidential,
    "u + b/m": partially_synthetic,
    "u + b": whole_between,
    "u (1 + 2/m)": raab,
    "pseudo posterior": pseudo_posterior,
}


def degrees_of_freedom(rule: str, estimates: Array, variances: Array) -> float:
    """Of the interval by a rule: (m - 1) (1 + u / b)^2 by u + b, where few data sets tell b roughly (Rubin 1987).

    Examples
    --------
    >>> q, u = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> degrees_of_freedom("u + b", q, u), degrees_of_freedom("u", q, u)
    (4.0, inf)
    """
    between = _between(estimates)
    if rule != "u + b" or between == 0:
        return float("inf")
    return (len(estimates) - 1) * (1 + float(np.mean(variances)) / between) ** 2


def as_normal(variance: float, df: float, level: float = 0.95) -> float:
    """The variance whose normal interval is as long as Student's t with these degrees of freedom makes it."""
    return variance * float(stats.t.isf((1 - level) / 2, df) / stats.norm.isf((1 - level) / 2)) ** 2


def interval(
    estimates: Array, variance: float, level: float = 0.95, df: float = np.inf
) -> tuple[float, float]:
    """The interval around the mean of the estimates, by Student's t; normal for infinite degrees of freedom.

    Examples
    --------
    >>> low, high = interval(np.array([1.0, 3.0]), 1.0)
    >>> round(low, 2), round(high, 2)
    (0.04, 3.96)
    """
    half = float(stats.t.isf((1 - level) / 2, df) * np.sqrt(variance))
    middle = float(np.mean(estimates))
    return middle - half, middle + half
