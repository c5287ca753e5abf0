"""A scheme of our own: risk is how much a record's log-likelihood varies, which no unit moves."""

from __future__ import annotations

from synth_core.mechanisms.schemes.rescaled import rescaled

OSCILLATION = rescaled(
    "Oscillation weights (OW)", "OW", "oscillation", "records that move the result count less"
)
