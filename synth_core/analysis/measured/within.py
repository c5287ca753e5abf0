"""Where numbers lie within their brackets, by noisy counts of fine bins; without them as a number is spread."""

from __future__ import annotations

import numpy as np
import scipy

from synth_core.analysis.measured.measuring import FINE_BINS, FineCounts, fine_edges
from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.mechanisms.whole_numbers import whole_between

SCALE = 1.0  # prior deviation of the log of a bin's share over what is expected of it
TAIL_INDEX = 2.0  # of the Pareto tail that is expected in the last bracket of a number above 0


def expected_shares(variable: Variable) -> Array:
    """Shares of the fine bins of each bracket before anything is counted, of shape (n_brackets, FINE_BINS).

    Even on the logarithm above 0, else even; in a last bracket whose end is at least twice its beginning a Pareto
    tail, since incomes, wealth and sizes thin out there.
    """
    shares = np.full((variable.n_values, FINE_BINS), 1 / FINE_BINS)
    edges = fine_edges(variable)[-1]
    if edges[0] > 0 and edges[-1] >= 2 * edges[0]:
        left = (edges / edges[0]) ** -TAIL_INDEX
        shares[-1] = -np.diff(left) / (left[0] - left[-1])
    return shares


def fine_shares(
    variable: Variable, fine: FineCounts, records: Array, rng: np.random.Generator | None
) -> Array:
    """Shares of the fine bins of each bracket given the noisy counts, of shape (n_brackets, FINE_BINS).

    The most likely ones under normal priors of their logarithms.

    Parameters
    ----------
    records : array of shape (n_brackets,)
        How many records lie in each bracket, as the model of the tables has it.
    rng : Generator, optional
        Draws shares about the most likely ones, as uncertain as they are, by perturbing counts and prior.
    """
    base = np.log(expected_shares(variable))
    variance = fine.deviation**2 + 1.0
    counts, centre = fine.counts, np.zeros_like(base)
    if rng is not None:
        counts = counts + rng.normal(0.0, np.sqrt(variance), counts.shape)
        centre = rng.normal(0.0, SCALE, base.shape)

    def loss(flat: Array) -> tuple[float, Array]:
        moved = flat.reshape(base.shape)
        share = scipy.special.softmax(base + moved, axis=1)
        short = (records[:, None] * share - counts) / variance
        slope = records[:, None] * share * (short - (share * short).sum(axis=1, keepdims=True))
        away = (moved - centre) / SCALE**2
        value = 0.5 * variance * float((short**2).sum()) + 0.5 * float((away * (moved - centre)).sum())
        return value, (slope + away).ravel()

    best = scipy.optimize.minimize(loss, centre.ravel(), jac=True, method="L-BFGS-B")
    return np.asarray(scipy.special.softmax(base + best.x.reshape(base.shape), axis=1))


def values_of(variable: Variable, codes: Codes, shares: Array, places: Array) -> Array:
    """A number for each record, missing as NaN.

    Parameters
    ----------
    codes : array of int of shape (n_records,)
    shares : array of shape (n_brackets, FINE_BINS)
    places : array of shape (n_records,), in (0, 1)
        Below which share of its bracket's records each lies.
    """
    absent = codes == variable.n_values
    bracket = np.where(absent, 0, codes)
    upto = np.cumsum(shares, axis=1)
    upto[:, -1] = 1.0
    found = np.minimum((places[:, None] >= upto[bracket]).sum(axis=1), FINE_BINS - 1)
    begin = np.where(found > 0, upto[bracket, found - 1], 0.0)
    part = np.clip((places - begin) / np.maximum(upto[bracket, found] - begin, 1e-300), 0.0, 1.0)
    edges = fine_edges(variable)
    low, high = edges[bracket, found], edges[bracket, found + 1]
    if variable.discrete:
        least, most = (each[bracket] for each in variable.whole_ends)
        last = (bracket == variable.n_values - 1) & (found == FINE_BINS - 1)  # whose end counts in it
        values = np.clip(
            whole_between(low, np.where(last, np.nextafter(high, np.inf), high), part), least, most
        )
    else:
        values = low + part * (high - low)
    return np.where(absent, np.nan, values)
