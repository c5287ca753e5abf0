"""An approximate posterior at once, while a slow fit runs: Pareto-smoothed importance sampling.

Draws of a finished fit under other weights are resampled in proportion to the ratio of the two pseudo
likelihoods; k-hat says whether that can be trusted (Vehtari et al. 2024). Shown, labelled, never exported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synth_core.analysis.fits import Fits
from synth_core.engine.sampling import Posterior
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Array
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.system import limits
from synth_core.system.cache import content_key
from synth_core.system.entries import read

KEPT = 12  # fits of one table that a preview may start from


@dataclass(frozen=True)
class Preview:
    """A resampled posterior, a key for what is derived from it, and its k-hat."""

    posterior: Posterior
    key: str
    khat: float


def remember(fits: Fits, fit_key: str, weights: Array, censoring: Censoring | None) -> None:
    """Note a finished fit, so that a later preview finds it; anchors move with every setting and are left out."""
    if censoring is not None and censoring.anchor is not None:
        return
    index_key = _index_key(fits)
    known = (fits.cache.get(index_key) or {"fits": []})["fits"]
    fits.cache.put(_weights_key(fit_key), {"weights": weights, "bound": _bound(censoring)})
    fits.cache.put(index_key, {"fits": [*(k for k in known if k != fit_key), fit_key][-KEPT:]})


def preview(fits: Fits, weights: Array, censoring: Censoring | None) -> Preview | None:
    """The posterior under `weights` from the nearest finished fit; None without one, or if k-hat > 0.7.

    Parameters
    ----------
    weights : array of shape (n_records,)
    censoring : Censoring, optional
    """
    if censoring is not None and censoring.anchor is not None:
        return None
    previews = []
    unweighted = fits.unweighted_key()
    for key in [unweighted, *(fits.cache.get(_index_key(fits)) or {"fits": []})["fits"]]:
        noted, posterior = fits.cache.get(_weights_key(key)), read(fits.cache, Posterior, key)
        if key == unweighted:
            noted = {"weights": np.ones_like(weights), "bound": None}
        if noted is not None and posterior is not None:
            other = (
                np.inf if _bound(censoring) != noted["bound"] else 0.0
            )  # first those of the same likelihood
            previews.append((other, float(np.abs(weights - noted["weights"]).mean()), key, noted, posterior))
    if not previews:
        return None
    _, _, key, noted, posterior = min(previews, key=lambda each: each[:3])
    log_ratio = _log_likelihood_ratio(
        fits,
        posterior,
        (weights, censoring),
        (noted["weights"], None if noted["bound"] is None else Censoring(noted["bound"])),
    )
    log_weights, khat = smooth(log_ratio)
    if not khat <= limits.MAX_KHAT:
        return None
    rows = resample(np.exp(log_weights))
    draws = {name: values[rows] for name, values in posterior.draws.items()}
    key = content_key(kind="preview", fit=key, weights=weights, bound=_bound(censoring))
    return Preview(replace(posterior, draws=draws), key, khat)


def _bound(censoring: Censoring | None) -> float | None:
    return None if censoring is None else censoring.bound


def smooth(log_ratio: Array) -> tuple[Array, float]:
    """Normalised Pareto-smoothed log weights of shape (n_draws,), and k-hat."""
    from arviz_stats.base import array_stats

    log_ratio = log_ratio - log_ratio.max()
    if np.ptp(log_ratio) < 1e-12:
        return np.full(len(log_ratio), -np.log(len(log_ratio))), 0.0
    log_weights, khat = array_stats.psislw(-log_ratio)  # it takes log-likelihoods, of which ratios are 1
    return log_weights - np.logaddexp.reduce(log_weights), float(khat)


def resample(weights: Array) -> Array:
    """Systematic resampling: n_draws indices in proportion to the weights, the same every time."""
    n = len(weights)
    cumulative = np.cumsum(weights) / weights.sum()
    return np.minimum(np.searchsorted(cumulative, (np.arange(n) + 0.5) / n), n - 1)


def _log_likelihood_ratio(
    fits: Fits,
    posterior: Posterior,
    target: tuple[Array, Censoring | None],
    source: tuple[Array, Censoring | None],
) -> Array:
    """log of the target's pseudo likelihood over the source's, at every draw."""
    n = fits.model.records.n
    ratio = np.zeros(posterior.n_draws)
    step = max(1, BLOCK_ELEMENTS // posterior.n_draws)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        rows = rows[(target[0][rows] > 0) | (source[0][rows] > 0)]
        terms = fits.model.log_lik(posterior.draws, rows)
        there, here = (weighted_terms(terms, each[rows], bound) for each, bound in (target, source))
        ratio += (there - here).sum(axis=1)
        fits.progress("preparing an approximate preview", start / n)
    return ratio


def _index_key(fits: Fits) -> str:
    return content_key(kind="fits of a table", records=fits.records_key())


def _weights_key(fit_key: str) -> str:
    return content_key(kind="weights of a fit", fit=fit_key)
