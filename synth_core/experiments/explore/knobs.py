"""The settings that a map sweeps, each said once: its words, bounds, step, and the setting that it is or belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_core.analysis.settings import Settings, make_settings
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.system import limits


@dataclass(frozen=True)
class KnobKind:
    """A setting that can be swept.

    Attributes
    ----------
    label, symbol : str
        In a message, and in few letters.
    bounds : pair of float
    step : float
        Of its widgets.
    tuning : str
        The setting.
    end : int or None
        Which part of it, where it is a pair.
    column : str
        In files.
    by_ratios : bool
        Whether its values in a sweep lie by equal ratios, not by equal steps.
    """

    label: str
    symbol: str
    bounds: tuple[float, float]
    step: float
    tuning: str
    column: str
    end: int | None = None
    by_ratios: bool = False

    def spread(self, lower: float, upper: float, n: int) -> tuple[float, ...]:
        """So many values from one to another, both included.

        Examples
        --------
        >>> KNOBS["epsilon"].spread(0.5, 2, 3), KNOBS["scale"].spread(0.5, 1.5, 3)
        ((0.5, 1.0, 2.0), (0.5, 1.0, 1.5))
        """
        values = np.geomspace(lower, upper, n) if self.by_ratios else np.linspace(lower, upper, n)
        return tuple(float(f"{v:.6g}") for v in values)

    def value(self, knobs: dict[str, Any]) -> float | None:
        """Its value among a point's; None where it does not move the mechanism."""
        setting = knobs.get(self.tuning)
        return setting if setting is None or self.end is None else setting[self.end]


KNOBS: dict[str, KnobKind] = {
    "scale": KnobKind("Scale c", "c", limits.SCALE, 0.05, "scale", "scale"),
    "shift": KnobKind("Shift g", "g", limits.SHIFT, 0.05, "shift", "shift"),
    "epsilon": KnobKind(
        "Target ε", "target ε", limits.EPSILON, 0.5, "epsilon", "target_epsilon", by_ratios=True
    ),
    "radius": KnobKind("Radius r", "r", (0.001, limits.MAX_RADIUS), 0.05, "radius", "radius"),
    "range_a": KnobKind("Range from a ×", "a", (-100.0, 1.0), 0.05, "range", "range_a", end=0),
    "range_b": KnobKind("Range to b ×", "b", (1.0, 1_000.0), 0.05, "range", "range_b", end=1),
}


def knobs_of(mechanism: Mechanism, settings: Settings) -> dict[str, Any]:
    """The settings that move a mechanism and that a map sweeps, by their names."""
    names = dict.fromkeys(kind.tuning for kind in KNOBS.values())
    knobs = {name: getattr(settings, name) for name in names if name in mechanism.tuning}
    if settings.brackets is not None:
        knobs.pop("range", None)
    return knobs


def settings_at(settings: Settings, knobs: dict[str, Any]) -> Settings:
    """The settings with a point's knobs, validated; matching is off, since a point stands for itself."""
    return make_settings(**settings.model_dump() | {"match_epsilon": None} | knobs)
