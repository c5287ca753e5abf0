"""R-hat and effective sample sizes (Vehtari et al. 2021) of many quantities at once.

What arviz-stats gives for one quantity after another; tests/engine/test_diagnostics.py holds them together. A small fit
would spend a quarter of its time there.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]

TAILS = (0.05, 0.95)
BLOM = 3 / 8


def rank_normal(values: Array) -> Array:
    """Normal scores of the ranks over chains and draws together, of the same shape (..., n_chains, n_draws)."""
    flat = values.reshape(*values.shape[:-2], -1)
    ranks = scipy.stats.rankdata(flat, axis=-1)
    return scipy.special.ndtri((ranks - BLOM) / (flat.shape[-1] - 2 * BLOM + 1)).reshape(values.shape)


def rhat(values: Array) -> Array:
    """Rank-normalised split R-hat, the larger of those of the values and of their distances to the median.

    Parameters
    ----------
    values : array of shape (..., n_chains, n_draws)
    """
    halves = _split(values)
    folded = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.maximum(_rhat(rank_normal(halves)), _rhat(rank_normal(folded)))


def bulk_size(values: Array) -> Array:
    """Effective sample size of the normal scores, of shape (...,)."""
    return _effective_size(rank_normal(_split(values)))


def tail_size(values: Array) -> Array:
    """The smaller effective sample size of the two tails' shares, of shape (...,)."""
    ends = np.quantile(values, TAILS, axis=(-2, -1), keepdims=True)
    return np.min([_effective_size(_split((values <= end).astype(float))) for end in ends], axis=0)


def _split(values: Array) -> Array:
    """Halves of chains as chains of their own; of an odd number of draws the middle one is left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=-2)


def _rhat(values: Array) -> Array:
    n = values.shape[-1]
    between = n * values.mean(axis=-1).var(axis=-1, ddof=1)
    within = values.var(axis=-1, ddof=1).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def _effective_size(values: Array) -> Array:
    """Draws over the autocorrelation time, by Geyer's initial monotone sequence; their number where all are equal."""
    n_chains, n = values.shape[-2:]
    length = scipy.fft.next_fast_len(2 * n, real=True)
    transformed = scipy.fft.rfft(values - values.mean(axis=-1, keepdims=True), length)
    power = transformed.real**2 + transformed.imag**2
    covariance = scipy.fft.irfft(power, length)[..., :n].mean(axis=-2) / n  # by lag, mean of the chains
    within = covariance[..., :1] * n / (n - 1)
    whole = covariance[..., :1]
    if n_chains > 1:
        whole = whole + values.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1.0 - (within - covariance) / whole
    correlation[..., 0] = 1.0
    n_pairs = max(1, (n - 1) // 2)
    even, odd = (correlation[..., first : first + 2 * n_pairs : 2] for first in (0, 1))
    pairs = even + odd
    ends = pairs <= 0
    ends[..., -1] = True
    last = ends.argmax(axis=-1)[..., None]  # the first pair that is not positive
    monotone = np.minimum.accumulate(pairs, axis=-1)
    kept = np.where(np.arange(n_pairs) < last, monotone, 0.0).sum(axis=-1)
    time = -1.0 + 2.0 * kept + np.maximum(np.take_along_axis(even, last, axis=-1)[..., 0], 0.0)
    total = n_chains * n
    found = total / np.maximum(time, 1 / np.log10(total))
    return np.where(np.ptp(values, axis=(-2, -1)) > 0, found, float(total))
