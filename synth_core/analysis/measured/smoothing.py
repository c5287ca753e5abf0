"""Random-walk priors along ordered axes: normal steps between neighbouring cells of a term."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
# Of a term: the cells of its columns, the deviation of a step, and the axes that are smoothed, each with how many of
# its cells are in the order: the first ones.
Axes = tuple[tuple[int, ...], float, tuple[tuple[int, int], ...]]


class Smoothing:
    """The steps of all terms at once: a loop over terms and axes would take as long as the model itself.

    Parameters
    ----------
    terms : iterable of (tuple of int, float, tuple of (int, int))
        Of each term, in the order of their parameters: cells of its columns, the deviation of a step, and the axes
        that are smoothed, each with how many of its cells are in the order, from the first on.
    rng : Generator, optional
        Draws what the priors expect of a step; else that is 0.

    Examples
    --------
    >>> value, slope = Smoothing([((2, 2), 0.5, ((1, 2),))]).penalty(np.array([0.0, 1.0, 3.0, 3.0]))
    >>> value, slope.tolist()
    (2.0, [-4.0, 4.0, 0.0, 0.0])
    """

    def __init__(self, terms: Iterable[Axes], rng: np.random.Generator | None = None):
        lower, upper, centres, deviations, self.n_cells = [], [], [], [], 0
        for shape, deviation, axes in terms:
            cells = self.n_cells + np.arange(math.prod(shape)).reshape(shape)
            self.n_cells += cells.size
            for axis, length in axes:
                first, last = (cells.take(range(a, length + a - 1), axis) for a in (0, 1))
                lower.append(first.ravel())
                upper.append(last.ravel())
                drawn = np.zeros(first.shape) if rng is None else rng.normal(0.0, deviation, first.shape)
                centres.append(drawn.ravel())
                deviations.append(np.full(first.size, deviation))
        self.lower, self.upper = (
            np.concatenate([np.empty(0, dtype=np.int64), *each]) for each in (lower, upper)
        )
        self._centres, deviation_of = (np.concatenate([np.empty(0), *each]) for each in (centres, deviations))
        self.precisions = deviation_of**-2.0

    @property
    def precision_of_cells(self) -> Array:
        """The second derivative of the penalty by each cell's own parameter."""
        return self._at(self.upper, self.precisions) + self._at(self.lower, self.precisions)

    def penalty(self, parameters: Array) -> tuple[float, Array]:
        """Half the squared steps, each times its precision, and the gradient; of the terms' cells."""
        steps = parameters[self.upper] - parameters[self.lower] - self._centres
        weighted = self.precisions * steps
        slope = self._at(self.upper, weighted) - self._at(self.lower, weighted)
        return 0.5 * float(steps @ weighted), slope

    def _at(self, cells: Codes, values: Array) -> Array:
        """Sums of values by cell."""
        return np.asarray(np.bincount(cells, values, self.n_cells), dtype=np.float64)
