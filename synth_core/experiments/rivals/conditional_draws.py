"""Records from a graphical model, conditional on their public columns: variables are summed out until few are left."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.experiments.rivals.cells import Codes

Array = NDArray[np.float64]
JOINT_CELLS = 1_000_000  # drawn from at once
MAX_CELLS = 20_000_000  # of the largest table that summing out makes


def conditional_draws(
    factors: list[tuple[tuple[str, ...], Array]],
    public: Codes,
    shape: tuple[int, ...],
    rng: np.random.Generator,
    even: bool = True,
) -> Codes:
    """Sensitive codes of records from a graphical model, conditional on their public codes.

    Parameters
    ----------
    factors : list of (column names, log-potentials)
        Columns p0, p1, … and s0, s1, …; an axis may have more cells at its end, which are not drawn.
    public : array of int of shape (n_records, n_public)
    shape : tuple of int
        Cells of the sensitive columns.
    even : bool
        Whether the records of one law have one uniform in each of equal parts of (0, 1), as `mbi` rounds.

    Returns
    -------
    array of int of shape (n_records, n_sensitive)

    Raises
    ------
    InputError
        If the model ties too many columns together.
    """
    prepared = [_with_public_first(names, values, shape) for names, values in factors]
    every_column = [np.zeros([n if k == j else 1 for j in range(len(shape))]) for k, n in enumerate(shape)]
    distinct, cell_of = np.unique(public, axis=0, return_inverse=True)
    cell_of = cell_of.ravel() if public.shape[1] else np.zeros(len(public), dtype=np.int64)
    found = np.zeros((len(public), len(shape)), dtype=np.int64)
    for cell, codes in enumerate(distinct if public.shape[1] else np.zeros((1, 0), dtype=np.int64)):
        rows = rng.permutation(np.flatnonzero(cell_of == cell))
        given = [values[tuple(codes[k] for k in columns)].astype(float) for columns, values in prepared]
        given += every_column
        found[rows] = _draws(given, shape, len(rows), rng, even)
    return found


def _draws(
    factors: list[Array], shape: tuple[int, ...], n: int, rng: np.random.Generator, even: bool
) -> Codes:
    """n records of the law whose logarithm is the sum of the factors.

    Parameters
    ----------
    factors : list of arrays
        With an axis for every column, of length 1 where it does not enter.
    """
    left, summed_out = list(range(len(shape))), []
    while math.prod(shape[k] for k in left) > JOINT_CELLS:
        sizes = {k: math.prod(_union(factors, k)) for k in left}
        column = min(left, key=lambda k: sizes[k])
        if sizes[column] > MAX_CELLS:
            raise InputError(
                f"The model ties so many columns together that {sizes[column]:,} cells would have to be held; at most "
                f"{MAX_CELLS:,} can be. Declare fewer bins, or take fewer variables."
            )
        joint: Array = sum((f for f in factors if f.shape[column] > 1), np.zeros(_union(factors, column)))
        factors = [f for f in factors if f.shape[column] == 1]
        factors.append(np.asarray(scipy.special.logsumexp(joint, axis=column, keepdims=True)))
        summed_out.append((column, joint))
        left.remove(column)
    rest = tuple(shape[k] if k in left else 1 for k in range(len(shape)))
    law = scipy.special.softmax(sum(factors, np.zeros(rest)).ravel())
    drawn = np.searchsorted(np.cumsum(law), _uniforms(np.zeros(n, dtype=np.int64), rng, even), side="right")
    records = np.column_stack(np.unravel_index(np.minimum(drawn, len(law) - 1), rest)).astype(np.int64)
    for column, joint in reversed(summed_out):
        records[:, column] = _drawn_column(joint, column, records, rng, even)
    return records


def _union(factors: list[Array], column: int) -> tuple[int, ...]:
    """The shape of the sum of the factors in which a column enters."""
    return np.broadcast_shapes(*(f.shape for f in factors if f.shape[column] > 1), (1,) * factors[0].ndim)


def _drawn_column(joint: Array, column: int, records: Codes, rng: np.random.Generator, even: bool) -> Codes:
    """A column of records, given the columns drawn before it."""
    others = tuple(size if k != column else 1 for k, size in enumerate(joint.shape))
    place = np.ravel_multi_index(tuple(np.minimum(records, np.array(others) - 1).T), others)
    laws = np.moveaxis(joint, column, -1).reshape(-1, joint.shape[column])
    shares = np.cumsum(scipy.special.softmax(laws[place], axis=1), axis=1)
    drawn = (shares < _uniforms(place, rng, even)[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, joint.shape[column] - 1), dtype=np.int64)


def _uniforms(law: Codes, rng: np.random.Generator, even: bool) -> Array:
    """A uniform a record; if even, one in each of equal parts of (0, 1) for the records of one law."""
    uniforms = rng.random(len(law))
    if not even:
        return uniforms
    _, of, counts = np.unique(law, return_inverse=True, return_counts=True)
    order = np.lexsort((rng.random(len(law)), of))  # their order follows the columns drawn before
    rank = np.empty(len(law))
    rank[order] = np.arange(len(law)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray((rank + uniforms) / counts[of])


def _with_public_first(
    names: tuple[str, ...], values: Array, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], Array]:
    """The public columns of a factor, and its values with their axes first and an axis for every sensitive column."""
    public = [axis for axis, name in enumerate(names) if name[0] == "p"]
    sensitive = sorted(
        (axis for axis, name in enumerate(names) if name[0] == "s"), key=lambda axis: int(names[axis][1:])
    )
    moved = np.transpose(values, [*public, *sensitive])
    places = [int(names[axis][1:]) for axis in sensitive]
    index: tuple[Any, ...] = (..., *(slice(0, shape[k]) for k in places))
    moved = moved[index]
    wide = [shape[k] if k in places else 1 for k in range(len(shape))]
    return tuple(int(names[axis][1:]) for axis in public), moved.reshape([*moved.shape[: len(public)], *wide])
