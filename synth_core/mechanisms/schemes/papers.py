"""The papers' weighting schemes: their formulas are in weights.py."""

from __future__ import annotations

from synth_core.mechanisms import weights
from synth_core.mechanisms.schemes.base import Array, Evidence, Scheme


def _likelihood(
    evidence: Evidence, *, scale: float, shift: float, risk_map: str, risk_threshold: float
) -> Array:
    return weights.likelihood_weights(
        evidence.max_abs_log_lik, scale, shift, risk_map, risk_threshold, evidence.span
    )


def _count(evidence: Evidence, *, scale: float, shift: float, radius: float) -> Array:
    risk = weights.isolation_risk(evidence.outcome, radius, evidence.counted)
    return weights.count_weights(risk, scale, shift)


def _scalar(evidence: Evidence, *, epsilon: float) -> float:
    return weights.scalar_weight(epsilon / 2, evidence.lipschitz_bound)


NONE = Scheme("No weights", "No weights", None)
LIKELIHOOD = Scheme("Likelihood weights (LW)", "LW", _likelihood)
COUNT = Scheme("Count weights (CW)", "CW", _count, counts=True)
SCALAR = Scheme("One scalar weight (EM)", "EM", _scalar, single=True)
