"""How a release ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth_core.release.output.gate_check import GateCheck
from synth_core.release.output.look import Look

RELEASED, REPEATED, REFUSED, CHECKED, MORE = "released", "repeated", "refused", "checked", "more"


@dataclass(frozen=True)
class ReleaseOutcome:
    """How it ended. `archives` maps file names to where the state directory keeps them."""

    state: str
    id: str
    checks: tuple[GateCheck, ...] = ()
    archives: dict[str, Path] = field(default_factory=dict)
    number: int = 0
    epsilon: float = 0.0  # charged, all data sets
    numbers: dict[str, Any] = field(default_factory=dict)
    look: Look | None = None  # None where nothing was drawn
