"""Lipschitz bounds, streamed: what one record can do to the (pseudo) log posterior.

Nothing of size n_draws x n_records is ever held: blocks of records pass through, and only
the running maxima stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    highest, lowest : arrays of shape (n_records,)
        max and min over draws of t_si, in nats, with t the weighted log-likelihood. A weight of 0 contributes t = 0.
    draw_max, draw_min : arrays of shape (n_draws,)
        max and min over records of t_si.
    """

    highest: Array
    lowest: Array
    draw_max: Array
    draw_min: Array

    @property
    def lipschitz_bounds(self) -> Array:
        """Delta_i = max over draws of |t_si|, in nats, of shape (n_records,)."""
        return np.maximum(self.highest, -self.lowest) + 0.0  # no -0

    @property
    def oscillations(self) -> Array:
        """max over draws of t_si minus min over draws, in nats, of shape (n_records,): free of a density's unit."""
        return spread(self.highest, self.lowest)

    @property
    def lipschitz_bound(self) -> float:
        """Delta, the largest of the by-record bounds."""
        return float(self.lipschitz_bounds.max())

    @property
    def oscillation(self) -> float:
        """The largest of the by-record oscillations."""
        return float(self.oscillations.max())

    def clamped(self, censor_bound: float) -> Bounds:
        """These bounds with every term clamped to [-censor_bound, censor_bound], as censoring does."""
        arrays = (self.highest, self.lowest, self.draw_max, self.draw_min)
        return Bounds(*(np.clip(each, -censor_bound, censor_bound) for each in arrays))

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
    highest, lowest = np.zeros((2, n_records))
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
        highest[rows], lowest[rows] = terms.max(axis=0), terms.min(axis=0)
        np.maximum(draw_max, terms.max(axis=1), out=draw_max)
        np.minimum(draw_min, terms.min(axis=1), out=draw_min)
        check(min(1.0, (start + step) / n_records))
    return Bounds(highest, lowest, draw_max, draw_min)


def unit_lipschitz_bounds(
    log_lik: Callable[[Rows], Array],
    units: NDArray[np.int64],
    n_draws: int,
    weights: Array,
    clamp: float | None = None,
    check: Callable[[float], None] = lambda share: None,
    block_elements: int = BLOCK_ELEMENTS,
) -> Bounds:
    """Running maxima of |sum over the records i of a unit of alpha_i * log p(x_i | theta_s)|.

    What all records of a unit do together is found draw by draw: their own maxima, added up, would overstate it.

    Parameters
    ----------
    log_lik, n_draws, weights, check, block_elements
        As those of `lipschitz_bounds`.
    units : array of int of shape (n_records,)
        The same number for records of the same unit.
    clamp : float, optional
        What each record's term is clamped at before they are added up.

    Returns
    -------
    Bounds
        With, at each record, the extremes of its unit.
    """
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(units[order]) != 0))
    highest, lowest = np.empty((2, len(units)))
    draw_max, draw_min = np.full(n_draws, -np.inf), np.full(n_draws, np.inf)
    step, first = max(1, block_elements // n_draws), 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + step)))  # units are not cut
        rows = order[starts[first] : starts[last] if last < len(starts) else None]
        counted = weights[rows] != 0  # a likelihood that is not finite is harmless at weight 0
        terms = np.zeros((n_draws, len(rows)))
        terms[:, counted] = log_lik(rows[counted]) * weights[rows[counted]]
        if clamp is not None:
            np.clip(terms, -clamp, clamp, out=terms)
        sums = np.add.reduceat(terms, starts[first:last] - starts[first], axis=1)
        sizes = np.diff(np.append(starts[first:last] - starts[first], len(rows)))
        highest[rows], lowest[rows] = (
            np.repeat(extreme, sizes) for extreme in (sums.max(axis=0), sums.min(axis=0))
        )
        np.maximum(draw_max, sums.max(axis=1), out=draw_max)
        np.minimum(draw_min, sums.min(axis=1), out=draw_min)
        check(min(1.0, last / len(starts)))
        first = last
    return Bounds(highest, lowest, draw_max, draw_min)


def joint_lipschitz_bounds(blocks: Sequence[Bounds]) -> Array:
    """Delta_i of records of several sensitive variables, each with a posterior of its own, of shape (n_records,).

    The posteriors are independent, so any draw of one may meet any draw of another: the largest |sum over blocks of
    t_ik| over all combinations of draws is max(sum of the largest, minus the sum of the smallest). Draws that are
    paired by number understate it.

    Parameters
    ----------
    blocks : sequence of Bounds
        Of the same records.

    Examples
    --------
    >>> one = Bounds(np.array([1.0]), np.array([-3.0]), np.empty(0), np.empty(0))
    >>> joint_lipschitz_bounds([one, one])
    array([6.])
    """
    highest, lowest = (np.sum([getattr(b, name) for b in blocks], axis=0) for name in ("highest", "lowest"))
    return np.maximum(highest, -lowest)


def spread(highest: Array, lowest: Array) -> Array:
    """The difference; infinite where either is not finite."""
    finite = np.isfinite(highest) & np.isfinite(lowest)
    return np.subtract(highest, lowest, out=np.full(highest.shape, np.inf), where=finite)
