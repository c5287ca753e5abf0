"""The papers' weighting schemes: their formulas are in weights.py."""

from __future__ import annotations

import numpy as np

from synth_core.mechanisms import weights
from synth_core.mechanisms.schemes.base import Array, Evidence, Records, Scheme, both_ends


def _likelihood(
    evidence: Evidence, *, scale: float, shift: float, risk_map: str, risk_threshold: float
) -> Array:
    span = evidence.span_of("max_abs_log_lik")
    return weights.likelihood_weights(evidence.max_abs_log_lik, scale, shift, risk_map, risk_threshold, span)


def _count(evidence: Evidence, *, scale: float, shift: float, radius: float) -> Array:
    risk = weights.isolation_risk(evidence.outcome, radius, evidence.counted)
    return weights.count_weights(risk, scale, shift)


def _scalar(evidence: Evidence, *, epsilon: float) -> float:
    return weights.scalar_weight(epsilon / 2, evidence.lipschitz_bound)


def _riskiest(evidence: Evidence) -> Records:
    return np.array([evidence.max_abs_log_lik.argmax()])


NONE = Scheme("No weights", "No weights", None)
LIKELIHOOD = Scheme(
    "Likelihood weights (LW)",
    "LW",
    _likelihood,
    measure="max_abs_log_lik",
    movers=both_ends("max_abs_log_lik"),
)
COUNT = Scheme("Count weights (CW)", "CW", _count, counts=True)
SCALAR = Scheme("One scalar weight (EM)", "EM", _scalar, single=True, movers=_riskiest)
