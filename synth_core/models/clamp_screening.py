"""The clamped terms of a normal regression that cannot change sides near the centre of its coordinates.

A term that is within the bound for every theta up to some distance is quadratic in (beta, 1) there: a sum of such
terms is made of sums that are taken once. A term that is beyond the bound there is a constant. Only the others, a few
records at the edge of the bound, are looked at in every gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.system.plain_paths import plain

Array = NDArray[np.float64]

RADII = 2.0 ** np.arange(0.0, 7.1, 0.25)  # distances for which terms are settled; beyond the last, none is


@dataclass(frozen=True)
class Terms:
    """Terms constant - weight * (log sigma + (residual + reach * u)^2 / (2 sigma^2) - log Pr(not zero)).

    Attributes
    ----------
    rows : array of shape (n, k + 1)
        The residual, and what it changes by with each coordinate of u.
    constant, weight, count : arrays of shape (n,)
    bound : float
    log_sigma, log_sigma_scale : float
        log sigma = log_sigma + log_sigma_scale * s.
    logit, logit_reach : arrays of shape (n,), optional
        logit Pr(zero) at v = 0, and how far it moves at most where v has length 1; None without a zero part.
    """

    rows: Array
    constant: Array
    weight: Array
    count: Array
    bound: float
    log_sigma: float
    log_sigma_scale: float
    logit: Array | None = None
    logit_reach: Array | None = None

    def range_within(self, radius: Array) -> tuple[Array, Array]:
        """Lower and upper bounds of each term where u, s and v are no longer than its radius, each of shape (n,)."""
        residual = np.abs(self.rows[:, 0])
        reach = np.sqrt((self.rows[:, 1:] ** 2).sum(axis=1)) * radius
        ends = [self.log_sigma + sign * self.log_sigma_scale * radius for sign in (-1, 1)]
        largest = np.maximum(*(_cost(end, residual + reach) for end in ends))  # convex in log sigma
        nearest = np.maximum(residual - reach, 0.0)
        with np.errstate(divide="ignore"):
            smallest = _cost(np.clip(np.log(nearest), *ends), nearest)
        low, high = self.constant - self.weight * largest, self.constant - self.weight * smallest
        if self.logit is not None and self.logit_reach is not None:
            low = low + self.weight * scipy.special.log_expit(-self.logit - self.logit_reach * radius)
            high = high + self.weight * scipy.special.log_expit(-self.logit + self.logit_reach * radius)
        return low, high


def _cost(log_sigma: Array, residual: Array) -> Array:
    return log_sigma + 0.5 * (residual * np.exp(-log_sigma)) ** 2


def settle(terms: Terms) -> tuple[NDArray[np.int64], StanData]:
    """An order of the records, and sums over those that are settled at each radius.

    Returns
    -------
    order : array of shape (n,)
        First `n_moving` records that some radius settles within the bound, by falling radius, and those that none
        settles; then those that some radius settles beyond it, by falling radius.
    data : of the Stan program, see lognormal.stan
    """
    n = len(terms.count)
    levels = len(RADII) if n and not plain() else 0
    level = np.full(n, -1)
    for step in 2 ** np.arange(levels.bit_length())[::-1]:
        trial = np.minimum(level + step, levels - 1)
        low, high = terms.range_within(RADII[trial])
        one_side = _side(low, terms.bound) == _side(high, terms.bound)
        level = np.where(one_side & (trial > level), trial, level)
    side = _side(terms.range_within(RADII[np.maximum(level, 0)])[0], terms.bound)
    beyond = (level >= 0) & (side != 0)
    order = np.lexsort((-level, beyond))
    n_moving = n - int(beyond.sum())
    rows, count = terms.rows[order], terms.count[order]
    weighted, constant = count * terms.weight[order], count * terms.constant[order]
    clamped = (count * side[order])[n_moving:] * terms.bound
    at_least = [np.searchsorted(-part, -np.arange(levels), side="right") for part in
                (level[order][:n_moving], level[order][n_moving:])]  # fmt: skip
    k = rows.shape[1]
    moments, sums, last = np.zeros((levels, k, k)), np.zeros((levels, 3)), 0
    for j in range(levels)[::-1]:
        more = slice(last, at_least[0][j])
        if j < levels - 1:
            moments[j] = moments[j + 1]
        moments[j] += (rows[more] * weighted[more, None]).T @ rows[more]
        last = at_least[0][j]
        sums[j] = weighted[:last].sum(), constant[:last].sum(), clamped[: at_least[1][j]].sum()
    return order, {
        "n_moving": n_moving,
        "n_radii": levels,
        "radius": RADII[:levels],
        "settled_inside": at_least[0],
        "settled_beyond": at_least[1],
        "settled_moments": moments,
        "settled_sums": sums,
    }


def _side(term: Array, bound: float) -> NDArray[np.int64]:
    """-1 below the bound, 0 within it, 1 above."""
    return (term > bound).astype(int) - (term < -bound)
