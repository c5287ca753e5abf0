"""From a mechanism to its weights: scheme, scale and shift, truncation, re-weighting.

The risk that weights are made of comes from the current table, or from a frozen risk map
(riskmap.py). Only then does a record's weight depend on that record alone (PPM, Assumptions 1
and 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synth_core import weights
from synth_core.errors import InputError
from synth_core.fits import Fits
from synth_core.points import Mechanism
from synth_core.riskmap import FrozenReweighting, RiskMap
from synth_core.solve import Solution, solve_increasing

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Alpha:
    """Weights of shape (n_records,), how many were truncated, and what was solved for."""

    weights: Array
    truncated: int = 0
    tuned: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Risk:
    """f_i of shape (n_records,) in nats; the frozen span of f, or None; Delta unweighted."""

    max_abs_log_lik: Array
    span: tuple[float, float] | None
    lipschitz_bound: float


def weights_of(
    mechanism: Mechanism, fits: Fits, frozen: RiskMap | None = None, scalar: float | None = None
) -> Alpha:
    """alpha of a mechanism, before range averaging.

    Parameters
    ----------
    frozen : RiskMap, optional
        None makes the weights from the current table.
    scalar : float, optional
        Replaces EM's own weight.
    """
    s, n = fits.settings, fits.model.records.n
    tuned: dict[str, float] = {}
    if mechanism.scheme == "none":
        alpha = np.ones(n)
    elif mechanism.scheme == "count":
        counted = None if frozen is None else frozen.outcome
        risk = weights.isolation_risk(fits.model.records.outcome, s.radius, counted)
        alpha = weights.count_weights(risk, s.scale, s.shift)
    elif mechanism.scheme == "likelihood":
        f = risk_of(fits, frozen)
        alpha = weights.likelihood_weights(
            f.max_abs_log_lik, s.scale, s.shift, s.risk_map, s.risk_threshold, f.span
        )
    else:
        if scalar is None and frozen is not None:
            scalar = frozen.scalar
        if scalar is None:
            scalar = weights.scalar_weight(s.epsilon / 2, risk_of(fits, frozen).lipschitz_bound)
        alpha, tuned["scalar"] = np.full(n, scalar), scalar
    truncated = 0
    if "truncation" in mechanism.adjustments:
        before = np.count_nonzero(alpha)
        alpha = weights.truncate(alpha, risk_of(fits, frozen).max_abs_log_lik, s.epsilon / 2)
        truncated = int(before - np.count_nonzero(alpha))
    if "reweighting" in mechanism.adjustments:
        if frozen is not None and frozen.reweighting is not None:
            alpha = _reweighted_by(alpha, fits, frozen, frozen.reweighting)
            tuned["k"] = frozen.reweighting.k
        else:
            alpha, found = _reweighted(alpha, fits)
            tuned |= solved("k", found)
    return Alpha(alpha, truncated, tuned)


def risk_of(fits: Fits, frozen: RiskMap | None) -> Risk:
    """The risk of every record, on its own table or on the frozen map."""
    if frozen is None:
        bounds = fits.unweighted_bounds()
        return Risk(bounds.lipschitz_bounds, None, bounds.lipschitz_bound)
    return Risk(frozen.max_abs_log_lik(fits), frozen.span, frozen.lipschitz_bound)


def _reweighted_by(alpha: Array, fits: Fits, frozen: RiskMap, how: FrozenReweighting) -> Array:
    """Re-weighting with k, Delta and the weighted fit of the map: nothing is read of other records."""
    f = frozen.max_abs_log_lik(fits, how.posterior)
    with np.errstate(invalid="ignore"):
        bounds = np.where(alpha == 0, 0.0, alpha * f)
    return weights.reweight(alpha, bounds, how.k, how.lipschitz_bound)


def _reweighted(alpha: Array, fits: Fits) -> tuple[Array, Solution]:
    """Solve for the k that leaves Delta where it was (Reweight, section 3.1)."""
    posterior, key = fits.posterior(alpha, text="fitting before re-weighting")
    first = fits.bounds(posterior, key, alpha)

    def evaluate(k: float) -> float:
        raised = weights.reweight(alpha, first.lipschitz_bounds, k)
        refit, refit_key = fits.posterior(raised, text=f"re-weighting, k = {k:.3f}")
        return fits.bounds(refit, refit_key, raised).lipschitz_bound

    tolerance = fits.settings.reweight_tolerance
    try:
        found = solve_increasing(evaluate, first.lipschitz_bound, 0.95, 10.0, tolerance)
    except ValueError:
        raise InputError("Re-weighting found no k that keeps Δ: even the largest stays below it.") from None
    return weights.reweight(alpha, first.lipschitz_bounds, found.at), found


def solved(name: str, found: Solution) -> dict[str, float]:
    """A solution as plain numbers for a result."""
    return {name: found.at, "relative_error": found.error, "refits": found.refits}
