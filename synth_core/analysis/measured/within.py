"""Where numbers lie within their brackets, by noisy counts of fine bins; without them as a number is spread."""

from __future__ import annotations

import numpy as np
import scipy

from synth_core.analysis.measured.fine_bins import FineBins, fine_bins
from synth_core.analysis.measured.measuring import FineCounts
from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.mechanisms.whole_numbers import whole_between

SCALE = 1.0  # prior deviation of the log of a bin's share over what is expected of it
LEAST_HEAP = 0.001  # of a bracket: what is expected at an edge where noise tells of nobody
TAIL_INDEX = 2.0  # of the Pareto tail that is expected in the last bracket of a number above 0


def expected_shares(variable: Variable, heap: float) -> Array:
    """Shares of the fine bins of each bracket before anything is counted of them, of shape (n_bins,).

    Even on the logarithm above 0, else even; in a last bracket whose end is at least twice its beginning a Pareto
    tail, since incomes, wealth and sizes thin out there. Edges have this share, `typical_heap`.
    """
    bins = fine_bins(variable)
    shares = np.where(bins.alone, 0.0, 1.0)
    low, high = variable.edges[-2:]
    if low > 0 and high >= 2 * low:
        shares[bins.first[-1] :] = -np.diff((bins.edges[bins.first[-1] :] / low) ** -TAIL_INDEX)
    among = bins.sums(shares)[bins.bracket]  # 0 where the bracket is of one value
    shares = np.where(bins.alone, np.where(among > 0, heap, 1.0), shares / np.maximum(among, 1e-300))
    return shares / bins.sums(shares)[bins.bracket]


def typical_heap(bins: FineBins, counts: Array) -> float:
    """The share of a bracket's records that is at its beginning, by noisy counts: the median over brackets.

    Answers heap at round numbers alike; where they do not, none of the noise at edges is to be taken for a heap.
    """
    begins = bins.first[bins.alone[bins.first] & (bins.first < bins.last)]
    if not begins.size:
        return LEAST_HEAP
    shares = counts[begins] / np.maximum(bins.sums(counts)[bins.bracket[begins]], 1.0)
    return float(np.clip(np.median(shares), LEAST_HEAP, 0.5))


def fine_shares(
    variable: Variable, fine: FineCounts, records: Array, rng: np.random.Generator | None
) -> Array:
    """Shares of the fine bins of each bracket given the noisy counts, of shape (n_bins,).

    The most likely ones under normal priors of their logarithms.

    Parameters
    ----------
    records : array of shape (n_brackets,)
        How many records lie in each bracket, as the model of the tables has it.
    rng : Generator, optional
        Draws shares about the most likely ones, as uncertain as they are, by perturbing counts and prior.
    """
    bins = fine_bins(variable)
    base = np.log(expected_shares(variable, typical_heap(bins, fine.counts)))
    variance = fine.deviation**2 + 1.0
    counts, centre = fine.counts, np.zeros_like(base)
    if rng is not None:
        counts = counts + rng.normal(0.0, np.sqrt(variance), counts.shape)
        centre = rng.normal(0.0, SCALE, base.shape)
    many = records[bins.bracket]

    def loss(moved: Array) -> tuple[float, Array]:
        share = _normalised(bins, base + moved)
        short = (many * share - counts) / variance
        slope = many * share * (short - bins.sums(share * short)[bins.bracket])
        away = (moved - centre) / SCALE**2
        value = 0.5 * variance * float((short**2).sum()) + 0.5 * float((away * (moved - centre)).sum())
        return value, slope + away

    best = scipy.optimize.minimize(loss, centre, jac=True, method="L-BFGS-B")
    return _normalised(bins, base + best.x)


def _normalised(bins: FineBins, logs: Array) -> Array:
    """Shares from their logarithms up to a constant of each bracket."""
    shares = np.exp(logs - np.maximum.reduceat(logs, bins.first)[bins.bracket])
    return np.asarray(shares / bins.sums(shares)[bins.bracket])


def values_of(variable: Variable, codes: Codes, shares: Array, places: Array) -> Array:
    """A number for each record, missing as NaN.

    Parameters
    ----------
    codes : array of int of shape (n_records,)
    shares : array of shape (n_bins,)
    places : array of shape (n_records,), in (0, 1)
        Below which share of its bracket's records each lies.
    """
    absent, bins = codes == variable.n_values, fine_bins(variable)
    bracket = np.where(absent, 0, codes)
    upto = np.cumsum(shares)  # of brackets one after the other: 1 for each
    found = np.searchsorted(upto, bracket + places, side="right")
    found = np.clip(found, bins.first[bracket], bins.last[bracket])
    begin = upto[found] - shares[found]
    part = np.clip((bracket + places - begin) / np.maximum(shares[found], 1e-300), 0.0, 1.0)
    low, high = bins.edges[found], bins.edges[found + 1]
    if variable.discrete:
        least, most = (each[bracket] for each in variable.whole_ends)
        last = found == len(shares) - 1  # whose end counts in it
        values = np.clip(
            whole_between(low, np.where(last, np.nextafter(high, np.inf), high), part), least, most
        )
    else:
        values = low + part * (high - low)
    return np.where(absent, np.nan, values)
