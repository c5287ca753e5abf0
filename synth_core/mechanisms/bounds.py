"""Lipschitz bounds, streamed: what one record can do to the (pseudo) log posterior.

Nothing of size n_draws x n_records is ever held: blocks of records pass through, and only
the running maxima stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = slice | NDArray[np.int64]

BLOCK_ELEMENTS = 2**18  # 2 MiB of float64: stays in a core's cache between the passes


@dataclass(frozen=True)
class Bounds:
    """By-record Lipschitz bounds of one fit, and the extremes of every draw.

    Attributes
    ----------
    lipschitz_bounds : array of shape (n_records,)
        Delta_i = max over draws of |t_si|, in nats, with t the weighted log-likelihood.
    oscillations : array of shape (n_records,)
        max over draws of t_si minus min over draws, in nats: free of the unit in which a density is taken.
    draw_max, draw_min : arrays of shape (n_draws,)
        max and min over records of t_si. A weight of 0 contributes t = 0.
    """

    lipschitz_bounds: Array
    oscillations: Array
    draw_max: Array
    draw_min: Array

    @property
    def lipschitz_bound(self) -> float:
        """Delta, the largest of the by-record bounds."""
        return float(self.lipschitz_bounds.max())

    @property
    def oscillation(self) -> float:
        """The largest of the by-record oscillations."""
        return float(self.oscillations.max())

    def clamped(self, censor_bound: float) -> Bounds:
        """These bounds with every term clamped to [-censor_bound, censor_bound], as censoring does.

        Of an oscillation clamping may leave less than is said here.
        """
        return Bounds(
            np.minimum(self.lipschitz_bounds, censor_bound),
            np.minimum(self.oscillations, 2 * censor_bound),
            np.clip(self.draw_max, -censor_bound, censor_bound),
            np.clip(self.draw_min, -censor_bound, censor_bound),
        )

    def growth(self) -> Array:
        """Delta computed from the first s draws, s = 1..n_draws, of shape (n_draws,)."""
        return np.maximum.accumulate(np.maximum(np.abs(self.draw_max), np.abs(self.draw_min)))


def lipschitz_bounds(
    log_lik: Callable[[Rows], Array],
    n_records: int,
    n_draws: int,
    weights: Array | None = None,
    check: Callable[[float], None] = lambda share: None,
    block_elements: int = BLOCK_ELEMENTS,
) -> Bounds:
    """Running maxima of |alpha_i * log p(x_i | theta_s)| (PPM, section 3, step 2c).

    Parameters
    ----------
    log_lik : callable
        Given rows (a slice, or an index array), the unweighted log-likelihoods of these
        records in nats, of shape (n_draws, n_rows). It may be overwritten.
    weights : array of shape (n_records,), optional
        alpha; None means 1 for every record. A record of weight 0 is skipped, so that a
        non-finite likelihood there stays harmless.
    check : callable
        Called with the share done after every block; raises to stop.
    block_elements : int
        Draws times records of a block.

    Raises
    ------
    ValueError
        If there are no records or no draws.
    """
    if n_records == 0 or n_draws == 0:
        raise ValueError("bounds need at least one record and one draw")
    per_record, oscillations = np.zeros((2, n_records))
    draw_max = np.full(n_draws, -np.inf)
    draw_min = np.full(n_draws, np.inf)
    step = max(1, block_elements // n_draws)
    for start in range(0, n_records, step):
        rows: Rows = slice(start, min(start + step, n_records))
        if weights is not None:
            block_weights = weights[rows]
            if not block_weights.all():
                np.maximum(draw_max, 0.0, out=draw_max)
                np.minimum(draw_min, 0.0, out=draw_min)
                rows = start + np.flatnonzero(block_weights)
                block_weights = weights[rows]
                if rows.size == 0:
                    continue
        terms = log_lik(rows)
        if weights is not None:
            terms *= block_weights
        highest, lowest = terms.max(axis=0), terms.min(axis=0)
        per_record[rows] = np.maximum(highest, -lowest)
        oscillations[rows] = apart(highest, lowest)
        np.maximum(draw_max, terms.max(axis=1), out=draw_max)
        np.minimum(draw_min, terms.min(axis=1), out=draw_min)
        check(min(1.0, (start + step) / n_records))
    return Bounds(per_record, oscillations, draw_max, draw_min)


def apart(highest: Array, lowest: Array) -> Array:
    """The difference; infinite where either is not finite."""
    finite = np.isfinite(highest) & np.isfinite(lowest)
    return np.subtract(highest, lowest, out=np.full(highest.shape, np.inf), where=finite)
