"""The papers' weighting schemes: their formulas are in weights.py."""

from __future__ import annotations

import numpy as np

from synth_core.mechanisms import weights
from synth_core.mechanisms.schemes.base import Array, Evidence, Records, Scheme
from synth_core.mechanisms.schemes.rescaled import rescaled


def _count(evidence: Evidence, *, scale: float, shift: float, radius: float) -> Array:
    risk = weights.isolation_risk(evidence.outcome, radius, evidence.counted)
    return weights.count_weights(risk, scale, shift)


def _scalar(evidence: Evidence, *, epsilon: float) -> float:
    return weights.scalar_weight(epsilon / 2, evidence.lipschitz_bound)


def _riskiest(evidence: Evidence) -> Records:
    return np.array([evidence.max_abs_log_lik.argmax()])


NONE = Scheme("No weights", "No weights", None, plain="every record counts in full")
LIKELIHOOD = rescaled("Likelihood weights (LW)", "LW", "max_abs_log_lik", "unlikely records count less")
COUNT = Scheme("Count weights (CW)", "CW", _count, counts=True, plain="isolated records count less")
SCALAR = Scheme(
    "One scalar weight (EM)",
    "EM",
    _scalar,
    single=True,
    influential=_riskiest,
    plain="all records count less, by the same",
)
