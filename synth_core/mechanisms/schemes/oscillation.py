"""A scheme of our own: risk is how much a record's log-likelihood varies, which no unit moves."""

from __future__ import annotations

from synth_core.mechanisms import weights
from synth_core.mechanisms.schemes.base import Array, Evidence, Scheme, both_ends


def _oscillation(
    evidence: Evidence, *, scale: float, shift: float, risk_map: str, risk_threshold: float
) -> Array:
    span = evidence.span_of("oscillation")
    return weights.likelihood_weights(evidence.oscillation, scale, shift, risk_map, risk_threshold, span)


OSCILLATION = Scheme(
    "Oscillation weights (OW)",
    "OW",
    _oscillation,
    measure="oscillation",
    movers=both_ends("oscillation"),
)
