"""Whole numbers within intervals: what a count is, where bins and brackets say only between which ends it lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def whole_between(low: Array, high: Array, part: Array) -> Array:
    """A whole number of each interval [low, high), each of them equally likely where `part` is uniform.

    An interval without one gives the nearest to its middle.

    Parameters
    ----------
    low, high, part : arrays of shape (n_records,)
        `part` in [0, 1).

    Examples
    --------
    >>> whole_between(np.array([0.0, 9.5, 0.2]), np.array([3.0, 12.0, 0.8]), np.array([0.9, 0.1, 0.5]))
    array([ 2., 10.,  0.])
    """
    first = np.ceil(low)
    count = np.ceil(high) - first
    return np.where(
        count > 0, first + np.floor(np.minimum(part, 1 - 1e-12) * count), np.rint((low + high) / 2)
    )
