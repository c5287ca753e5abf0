"""Likelihoods, and the registry that names them; docs/develop/extending.md adds one."""

from __future__ import annotations

from synth_core.mechanisms.likelihoods.anchored import (
    ANCHORED,
    SELF_CONTAINED_ANCHORS,
    SERIES_ANCHORS,
)
from synth_core.mechanisms.likelihoods.base import Fit, Likelihood, NamedPoint
from synth_core.mechanisms.likelihoods.histogram import HISTOGRAM
from synth_core.mechanisms.likelihoods.measured import MEASURED, MEASURED_LAPLACE
from synth_core.mechanisms.likelihoods.papers import CENSORED, PLAIN

LIKELIHOODS: dict[str, Likelihood] = {
    "plain": PLAIN,
    "censored": CENSORED,
    "anchored": ANCHORED,
    "histogram": HISTOGRAM,
    "measured": MEASURED,
    "laplace": MEASURED_LAPLACE,
}

__all__ = [
    "CENSORED",
    "LIKELIHOODS",
    "PLAIN",
    "SELF_CONTAINED_ANCHORS",
    "SERIES_ANCHORS",
    "Fit",
    "Likelihood",
    "NamedPoint",
]
