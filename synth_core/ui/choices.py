"""What one browser has loaded and chosen, as data, and what a newcomer starts with."""

from __future__ import annotations

import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from synth_core.examples import EXAMPLES
from synth_core.settings import Settings
from synth_core.table import Table
from synth_core.ui.explore_defaults import EXPLORE_DEFAULTS

UNDO_STEPS = 50


@dataclass
class Browser:
    """The table and the choices of one browser. `choices` holds only JSON values."""

    table: Table
    choices: dict[str, Any]
    reference: Table | None = None  # the table that the risk map is frozen on
    demo: bool = False  # a demonstration: only simulated data are shown
    revision: int = 0  # counts changes of the choices
    release: dict[str, Any] = field(default_factory=dict)  # the plan and the table to be released
    noted: dict[str, Any] | None = None  # the choices as they were noted last
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=UNDO_STEPS))
    used: float = field(default_factory=time.monotonic)
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))  # under which its runs ask for jobs
    runs: dict[str, Any] = field(default_factory=dict)  # of `ui.background`


DEFAULTS: dict[str, Any] = (
    {
        name: list(value) if isinstance(value := field_.default, tuple) else value
        for name, field_ in Settings.model_fields.items()
        if name not in ("outcome", "model")
    }
    | {
        "mechanisms": ["unweighted", "weighted"],
        "composed": [],
        "bound_lower": None,
        "bound_upper": None,
        "program_draft": "",
    }
    | EXPLORE_DEFAULTS
)
MAY_BE_NONE = {"match_epsilon", "explore_same"}
NOT_SETTINGS = {"mechanisms", "composed", "bound_lower", "bound_upper", "program_draft", *EXPLORE_DEFAULTS}


def example_choices(key: str) -> dict[str, Any]:
    example = EXAMPLES[key]
    lower, upper = example.bounds or (None, None)
    return {
        "outcome": example.outcome,
        "predictors": list(example.predictors),
        "model": example.model,
        "categorical": [],
        "bounds": list(example.bounds) if example.bounds else None,
        "bound_lower": lower,
        "bound_upper": upper,
    }
