"""What a single record can do to this table's pseudo posterior, over the draws at hand: local, and free of the unit.

A density ratio of two posteriors that differ by the factor exp(D(theta)) is exp(D(theta)) / E[exp(D)], and the mean
lies between the smallest and the largest exp(D). So its logarithm is at most max D - min D in size: the oscillation
of D. What is constant over theta, such as a unit, drops out; 2 * max|D| would count it twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.mechanism_weights import (
    WeightsOfValues,
    extreme_draws,
    weights_of_values,
    weights_without,
)
from synth_core.analysis.risk_map import RiskMap
from synth_core.engine.sampling import Posterior
from synth_core.mechanisms.bounds import Bounds, spread
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.models.base import Array, Model

Index = NDArray[np.int64]

# The search for the worst replacement: records times values that are tried at first, at least so many values, and over
# how many draws beside those that tell most; then records, values of each over few draws, and over all of them.
COARSE_TRIALS, COARSE_RECORDS, COARSE_VALUES, COARSE_DRAWS = 60_000, 20_000, 3, 16
FINE_RECORDS, MIDDLE_VALUES, FINE_VALUES = 64, 65, 17


def joint_oscillation(
    mechanism: Mechanism,
    fits: Fits,
    weights: Array,
    posterior: Posterior,
    bounds: Bounds,
    censoring: Censoring | None,
) -> float | None:
    """What withholding one record's value changes when the weights of the others move with it.

    max over j of the range over draws of t_j + sum over i != j of t_i - t_i', with t_i' the term of record i under
    the weights of the table without j. The unweighted posterior behind the weights is held.

    Parameters
    ----------
    weights : array of shape (n_records,)
        Made from the current table.

    Returns
    -------
    float or None
        None where it is not known whose leaving moves others, or where every log-likelihood is costly.
    """
    model = fits.model
    moved = weights_without(mechanism, fits, weights) if model.cheap_log_lik else None
    if moved is None:
        return None
    largest = bounds.oscillation
    for total in _changes(fits, weights, moved, posterior, bounds, censoring):
        largest = max(largest, float(spread(total.max(), total.min())))
    return largest


def _changes(
    fits: Fits,
    weights: Array,
    moved: list[Array],
    posterior: Posterior,
    bounds: Bounds,
    censoring: Censoring | None,
) -> Array:
    """Sum over records of the terms less those under other weights, of shape (n_moved, n_draws).

    Parameters
    ----------
    bounds : Bounds
        Of the terms under `weights`, clamped where they are.
    """
    model, draws = fits.model, posterior.draws
    if censoring is None:
        return np.array([model.weighted_sum(draws, weights - without) for without in moved])
    # A term that no draw brings to the bound, under none of the weights, is linear in its weight.
    reach, bound = bounds.lipschitz_bounds, censoring.bound
    most = np.max([weights, *moved], axis=0)
    linear = (weights > 0) & (reach < bound) & (reach * most < bound * weights)
    anchor = censoring.offset(len(weights))
    apart_of = [np.where(linear, weights - without, 0.0) for without in moved]
    sums = np.array([model.weighted_sum(draws, each) - each @ anchor for each in apart_of])
    others = np.flatnonzero(~linear)
    step = max(1, model.block_elements // posterior.n_draws)
    for first in range(0, len(others), step):
        rows = others[first : first + step]
        log_lik = model.log_lik(draws, rows)
        now = weighted_terms(log_lik, weights[rows], censoring.of(rows))
        for total, without in zip(sums, moved, strict=True):
            total += (now - weighted_terms(log_lik, without[rows], censoring.of(rows))).sum(axis=1)
        fits.progress("following the weights of the others", first / len(others))
    return sums


def replaced_oscillation(
    mechanism: Mechanism,
    fits: Fits,
    frozen: RiskMap | None,
    posterior: Posterior,
    multiplier: Array,
    bounds: Bounds,
) -> float:
    """The largest range over draws of t(x', z_i) - t(x_i, z_i), over records i and other values x' of the table.

    Predictors are public, so a neighbour has another value and the same predictors. The weights of the others are
    held; the record gets the weight of its new value where that is known without a refit, else it keeps its own.
    Searched for: some values at every record over few draws, then more values at the worst records, the best of these
    over all draws, and last the values of the table beside the very best.

    Parameters
    ----------
    multiplier : array of shape (n_records,)
        What each log-likelihood is multiplied by.
    """
    model, n = fits.model, fits.model.records.n
    ranges = fits.intervals() if mechanism.standard.truncates else None
    weigh = weights_of_values(mechanism, fits, frozen)
    n_rows = COARSE_RECORDS if model.cheap_log_lik else FINE_RECORDS
    values, rows = np.unique(model.records.outcome), np.arange(n)
    search = _Replacement(model, posterior.draws, multiplier, ranges, weigh)
    worst = np.argsort(-bounds.oscillations, kind="stable")
    if n > n_rows:
        rows = np.sort(worst[:n_rows])
    if not model.cheap_log_lik:
        return float(search.ranges_over_draws(rows, _some_of(values, COARSE_VALUES)[:, None]).max())
    at, few = extreme_draws(model, posterior, worst[:FINE_RECORDS]), posterior.thinned(COARSE_DRAWS)
    some = {name: np.concatenate([values[at], few[name]]) for name, values in posterior.draws.items()}
    coarse = replace(search, draws=some, weigh=weights_of_values(mechanism, fits, frozen, roughly=True))
    if len(rows) > FINE_RECORDS:
        count = min(max(COARSE_TRIALS // len(rows), COARSE_VALUES), FINE_VALUES)
        found = coarse.ranges_over_draws(rows, _some_of(values, count)[:, None]).max(axis=0)
        rows = rows[np.argsort(-found, kind="stable")[:FINE_RECORDS]]
    tried = _some_of(values, MIDDLE_VALUES)
    best = np.argsort(-coarse.ranges_over_draws(rows, tried[:, None]), axis=0, kind="stable")[:FINE_VALUES]
    found = search.ranges_over_draws(rows, tried[best])
    which, row = np.unravel_index(found.argmax(), found.shape)
    place, reach = np.searchsorted(values, tried[best[which, row]]), len(values) // MIDDLE_VALUES + 1
    beside = _some_of(values[max(0, place - reach) : place + reach + 1], MIDDLE_VALUES)
    return float(max(found.max(), search.ranges_over_draws(rows[[row]], beside[:, None]).max()))


def _some_of(values: Array, count: int) -> Array:
    """At most `count` of sorted values: half of them evenly by rank, the others the denser the nearer an end."""
    last = len(values) - 1
    if last < count:
        return values
    tail = np.geomspace(1, len(values), count // 4) - 1
    even = np.linspace(0, last, count - 2 * len(tail))
    return values[np.unique(np.concatenate([even, tail, last - tail]).astype(int))]


@dataclass(frozen=True)
class _Replacement:
    """What the search is among: draws, and what a record weighs with another value."""

    model: Model
    draws: dict[str, Array]
    multiplier: Array
    ranges: Array | None  # within which a value stays
    weigh: WeightsOfValues | None

    def ranges_over_draws(self, rows: Index, values: Array) -> Array:
        """The range over draws that other values give these records, of shape (n_values, n_rows).

        Parameters
        ----------
        values : array of shape (n_values, n_rows) or (n_values, 1)
            Those that each record is given.
        """
        shape = (len(values), len(rows))
        again, values = np.tile(rows, len(values)), np.broadcast_to(values, shape).ravel()
        if self.ranges is not None:
            ends = tuple(self.ranges[again].T)
            values = np.clip(values, *(self.model.whole_ends(*ends) if self.model.discrete else ends))
        weights = self.multiplier[again] if self.weigh is None else self.weigh(again, values)
        replaced = self.model.of_records(again, values)
        own = self._own_terms(rows)
        found = np.zeros(len(again))
        step = len(rows) * max(1, self.model.block_elements // own.size)  # some values at all records
        for first in range(0, len(again), step):
            those = slice(first, first + step)
            change = weighted_terms(replaced.log_lik(self.draws, those), weights[those])
            change = change.reshape(len(own), -1, len(rows))
            with np.errstate(invalid="ignore"):
                change -= own[:, None]
            found[those] = spread(change.max(axis=0), change.min(axis=0)).ravel()
        return found.reshape(shape)

    def _own_terms(self, rows: Index) -> Array:
        return weighted_terms(self.model.log_lik(self.draws, rows), self.multiplier[rows])
