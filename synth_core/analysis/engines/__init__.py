"""Engines of the likelihoods that sample no posterior, by the likelihood's key; docs/develop/extending.md says how."""

from __future__ import annotations

from synth_core.analysis.engines.base import Engine, Inputs, Synthesis
from synth_core.analysis.engines.histogram import HistogramEngine
from synth_core.analysis.engines.measured import MeasuredEngine

ENGINES: dict[str, Engine] = {
    "histogram": HistogramEngine(),
    "measured": MeasuredEngine(gaussian=True),
    "laplace": MeasuredEngine(gaussian=False),
}

__all__ = ["ENGINES", "Engine", "Inputs", "Synthesis"]
