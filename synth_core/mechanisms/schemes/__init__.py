"""Weighting schemes, and the registry that names them; docs/develop/extending.md adds one."""

from __future__ import annotations

from synth_core.mechanisms.schemes.base import Evidence, Scheme
from synth_core.mechanisms.schemes.oscillation import OSCILLATION
from synth_core.mechanisms.schemes.papers import COUNT, LIKELIHOOD, NONE, SCALAR

SCHEMES: dict[str, Scheme] = {
    "none": NONE,
    "likelihood": LIKELIHOOD,
    "count": COUNT,
    "scalar": SCALAR,
    "oscillation": OSCILLATION,
}

__all__ = ["SCHEMES", "Evidence", "Scheme"]
