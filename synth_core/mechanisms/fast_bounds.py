"""Lipschitz bounds from few of the log-likelihoods, where a model's structure allows it.

Three facts, none of them an approximation:

1. Records with the same likelihood have the same extremes over the draws.
2. In an exponential family the log-likelihood of a record is linear in the draw's (eta, -A(eta)), so its
   extremes are attained on the convex hull of the draws. A is strictly convex: nearly *every* draw is a
   vertex of that hull. But only the vertices that face a block of records matter, a dozen of thousands.
3. A record can be the largest of one draw only if the largest of its own values over the draws reaches the
   smallest value of every other record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Array, Bounds, Rows, lipschitz_bounds

Index = NDArray[np.int64]
LogLik = Callable[[Rows, Rows], Array]  # of draws and records, of shape (n_draws, n_rows)

# At most so many blocks with draws of their own, each of at least so many records.
BLOCKS, BLOCK_RECORDS = 512, 256
TOGETHER = 16  # records evaluated at once, at least: a matrix product of one column may round differently
ROUNDING = 1e-11  # relative: a draw this close to the extreme one is evaluated too


@dataclass(frozen=True)
class LinearFamily:
    """log p(x_i | theta_s) = coefficients(cell_i)[s] @ (statistics_i, 1) + what no draw changes.

    Attributes
    ----------
    statistics : array of shape (n_records, k)
    cell : array of shape (n_records,)
        Which records share coefficients: those of the same design row.
    coefficients : callable
        Of a cell, of shape (n_draws, k + 1).
    """

    statistics: Array
    cell: Index
    coefficients: Callable[[int], Array]


def facing(coefficients: Array, low: Array, high: Array) -> Index:
    """The draws that can be largest or smallest at some statistics within a box.

    Draw s is out if one other draw is beyond it everywhere in the box.

    Parameters
    ----------
    coefficients : array of shape (n_draws, k + 1)
    low, high : arrays of shape (k,)
        The box.
    """
    middle, reach = np.append((low + high) / 2, 1.0), np.append((high - low) / 2, 0.0)
    slack = ROUNDING * float(np.abs(coefficients).max(axis=0) @ (np.abs(middle) + reach))
    at_middle = coefficients @ middle
    kept = np.zeros(len(coefficients), dtype=bool)
    for sign, extreme in ((1.0, int(at_middle.argmax())), (-1.0, int(at_middle.argmin()))):
        apart = coefficients - coefficients[extreme]
        kept |= sign * (apart @ middle) + np.abs(apart) @ reach >= -slack
    return np.flatnonzero(kept)


def bounds_by_extremes(
    log_lik: LogLik,
    n_records: int,
    n_draws: int,
    weights: Array | None = None,
    alike: tuple[Index, Index] | None = None,
    family: LinearFamily | None = None,
    check: Callable[[float], None] = lambda share: None,
    block_elements: int = BLOCK_ELEMENTS,
) -> Bounds:
    """What `lipschitz_bounds` gives, from fewer log-likelihoods.

    Parameters
    ----------
    log_lik : callable
        Given draws and rows (slices or index arrays), the unweighted log-likelihoods in nats. They may be overwritten.
    alike : (rows, index), optional
        One row of each kind of record, and for every record its kind: a kind has one likelihood.
    family : LinearFamily, optional
        None evaluates every draw.

    Other parameters as those of `lipschitz_bounds`.
    """
    everything = slice(None)

    def by_definition() -> Bounds:
        return lipschitz_bounds(
            lambda rows: log_lik(everything, rows), n_records, n_draws, weights, check, block_elements
        )

    if n_records == 0 or n_draws == 0:
        return by_definition()  # which says what is wrong
    active = np.arange(n_records) if weights is None else np.flatnonzero(weights)
    if not active.size:
        return by_definition()
    rows = active if alike is None else alike[0][np.unique(alike[1][active])]
    highest, lowest = np.empty((2, n_records))
    done = 0
    for draws, block in _parts(rows, n_draws, family, block_elements):
        terms = log_lik(draws, block)
        highest[block], lowest[block] = terms.max(axis=0), terms.min(axis=0)
        done += len(block)
        check(done / len(rows))
    shown_by = active if alike is None else alike[0][alike[1][active]]
    highest, lowest = highest[shown_by], lowest[shown_by]
    if not (np.isfinite(highest).all() and np.isfinite(lowest).all()):
        return by_definition()
    scale = None if weights is None else weights[active]
    if scale is not None:  # weights are not negative, so they keep the order
        highest *= scale
        lowest *= scale
    whole = np.zeros((2, n_records))
    whole[:, active] = highest, lowest

    def signed(sign: float) -> Callable[[Index], Array]:
        factor = np.full(len(active), sign) if scale is None else sign * scale

        def terms(which: Index) -> Array:
            found = log_lik(everything, active[which])
            found *= factor[which]
            return found

        return terms

    step = max(1, block_elements // n_draws)
    start = -np.inf if len(active) == n_records else 0.0  # a record of weight 0 contributes 0
    return Bounds(
        whole[0],
        whole[1],
        _largest_by_draw(signed(1.0), highest, lowest, n_draws, step, start),
        -_largest_by_draw(signed(-1.0), -lowest, -highest, n_draws, step, start),
    )


def _parts(
    rows: Index, n_draws: int, family: LinearFamily | None, block_elements: int
) -> Iterator[tuple[Rows, Index]]:
    """Draws and rows to evaluate together: every row once, with every draw that can be extreme there."""
    if family is None:
        step = max(1, block_elements // n_draws)
        for first in range(0, len(rows), step):
            yield slice(None), rows[first : first + step]
        return
    cell = family.cell[rows]
    rows = rows[np.lexsort((family.statistics[rows, 0], cell))]
    starts = np.append(np.flatnonzero(np.diff(np.sort(cell), prepend=-1)), len(rows))
    size = max(BLOCK_RECORDS, len(rows) // BLOCKS)
    for begin, end in pairwise(starts):
        coefficients = family.coefficients(int(family.cell[rows[begin]]))
        for first in range(begin, end, size):
            block = rows[first : min(first + size, end)]
            statistics = family.statistics[block]
            draws = facing(coefficients, statistics.min(axis=0), statistics.max(axis=0))
            for part in np.array_split(block, -(-len(block) * len(draws) // block_elements)):
                yield draws, part


def _largest_by_draw(
    terms: Callable[[Index], Array], highest: Array, lowest: Array, n_draws: int, step: int, start: float
) -> Array:
    """The largest term of every draw, of shape (n_draws,), from the records that can be it.

    Parameters
    ----------
    highest, lowest : arrays of shape (n_active,)
        Extremes over the draws of each record's term.
    """
    largest = np.full(n_draws, start)
    slack = ROUNDING * max(float(np.abs(highest).max()), float(np.abs(lowest).max()))
    together = min(TOGETHER, len(highest))
    threshold = min(lowest.max() - slack, np.partition(highest, -together)[-together])
    candidates = np.flatnonzero(highest >= threshold)
    candidates = candidates[np.argsort(-highest[candidates], kind="stable")]
    for block in np.array_split(candidates, max(1, len(candidates) // max(step, together))):
        if highest[block[0]] < largest.min() - slack:  # no later one is larger, at any draw
            break
        np.maximum(largest, terms(block).max(axis=1), out=largest)
    return largest
