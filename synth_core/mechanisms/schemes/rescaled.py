"""Schemes that rescale a measure of risk by its span: one formula, whatever the measure."""

from __future__ import annotations

import numpy as np

from synth_core.mechanisms import weights
from synth_core.mechanisms.schemes.base import Array, Evidence, Records, Scheme


def rescaled(label: str, short: str, measure: str, plain: str = "") -> Scheme:
    """Likelihood weights of a measure: an attribute of the evidence, of shape (n_records,), in nats."""

    def alpha(
        evidence: Evidence, *, scale: float, shift: float, risk_map: str, risk_threshold: float
    ) -> Array:
        risk, span = getattr(evidence, measure), evidence.span_of(measure)
        return weights.likelihood_weights(risk, scale, shift, risk_map, risk_threshold, span)

    def ends(evidence: Evidence) -> Records:
        if evidence.span_of(measure) is not None:
            return np.empty(0, dtype=np.int64)
        risk = getattr(evidence, measure)
        finite = np.flatnonzero(np.isfinite(risk))
        return np.unique(finite[[risk[finite].argmin(), risk[finite].argmax()]]) if finite.size else finite

    return Scheme(label, short, alpha, measure=measure, influential=ends, plain=plain)
