"""The Pareto frontier of epsilon against error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def frontier(epsilon: Array, error: Array) -> NDArray[np.int64]:
    """Points that no other point beats: none has both a smaller or equal epsilon and error.

    Parameters
    ----------
    epsilon, error : arrays of shape (n_points,)
        Smaller is better for both. Points with a value that is not finite are never on it.

    Returns
    -------
    array of indices, epsilon ascending and so error descending; equal points are all kept.

    Examples
    --------
    >>> frontier(np.array([1.0, 2.0, 3.0]), np.array([0.3, 0.4, 0.1])).tolist()
    [0, 2]
    """
    usable = np.flatnonzero(np.isfinite(epsilon) & np.isfinite(error))
    order = usable[np.lexsort((error[usable], epsilon[usable]))]
    kept: list[int] = []
    for i in order:
        last = kept[-1] if kept else None
        better = last is None or error[i] < error[last]
        same = last is not None and error[i] == error[last] and epsilon[i] == epsilon[last]
        if better or same:
            kept.append(int(i))
    return np.array(kept, dtype=np.int64)


def frontiers(epsilon: Array, error: Array, guarantee: list[str]) -> dict[str, NDArray[np.int64]]:
    """One frontier per guarantee.

    An epsilon that holds for every table and one that is local to this table are different
    promises, and so are those of a whole value and of a value within its range: a point is
    only ever beaten by points of its own guarantee.

    Parameters
    ----------
    guarantee : list of str, of length n_points

    Returns
    -------
    dict from guarantee to indices into the arrays
    """
    names = np.array(guarantee)
    places = {}
    for name in dict.fromkeys(guarantee):
        mine = np.flatnonzero(names == name)
        places[name] = mine[frontier(epsilon[mine], error[mine])]
    return places
