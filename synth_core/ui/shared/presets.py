"""Settings with a name: one choice instead of many, and a demonstration on simulated data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.data.examples import load_example
from synth_core.ui.state import session
from synth_core.ui.state.first_choices import PRESET_SETTINGS, example_choices

DEMO_EXAMPLE, DEMO_SEED = "beta", 1  # on which ε = 5 censors few records
MENU = "presets_menu"  # the key of the menu: whether it is open


@dataclass(frozen=True)
class Preset:
    """Mechanisms, and what differs from the papers' default settings."""

    label: str
    why: str
    mechanisms: tuple[str, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)
    demo: bool = False


PRESETS: dict[str, Preset] = {
    "default": Preset(
        "Papers' default",
        "Unweighted against likelihood-weighted, c = 1 and g = 0: what down-weighting risky records buys.",
        ("unweighted", "weighted"),
    ),
    "strict": Preset(
        "Strict: censored at ε = 5",
        "Each record's log-likelihood is kept within ±2.5, without and with weights: ε-DP by construction.",
        ("censored", "censored_weighted"),
        {"epsilon": 5.0},
    ),
    "anchored": Preset(
        "Strict below 1: anchored at ε = 0.5",
        "What a record says beyond an anchor is kept within ±0.25: ε-DP, and for thousands of records nearly as "
        "accurate as without weights.",
        ("unweighted", "weighted", "anchored"),
        {"epsilon": 0.5},
    ),
    "table_2": Preset(
        "Five mechanisms of Censor Table 2",
        "Weighted, Weighted-e, both censored ones and the histogram (it needs declared bounds) at ε = 5.",
        ("weighted", "weighted_e", "censored_weighted", "censored", "histogram"),
        {"epsilon": 5.0},
    ),
    "range": Preset(
        "Sensitive range (0.4, 1.8)",
        "Only values between 0.4 and 1.8 times a record's own are protected from being told apart.",
        ("weighted", "range_averaged", "range_truncated"),
        {"range": (0.4, 1.8)},
    ),
    "demo": Preset(
        "Live demo",
        "Shows a simulated table in place of yours, which comes back at its end: nothing shown is confidential.",
        ("unweighted", "weighted", "censored_weighted"),
        demo=True,
    ),
}


def use_preset(key: str) -> None:
    """Take a preset over; one step of undo, except for the demonstration, which changes the table."""
    preset = PRESETS[key]
    if preset.demo:
        chosen = example_choices(session.choices(), DEMO_EXAMPLE)
        session.begin_demo(load_example(DEMO_EXAMPLE, None, DEMO_SEED), chosen)
    fresh: dict[str, Any] = {name: Settings.model_fields[name].default for name in PRESET_SETTINGS}
    session.use_settings(session.settings(**(fresh | dict(preset.changes))), preset.mechanisms)


def in_demo() -> bool:
    """Whether the demonstration is on, and nothing confidential has come in since."""
    browser = session.current()
    tables = (browser.table, browser.reference, browser.desk.table)
    plan = browser.desk.plan
    if any(table is not None and table.confidential for table in tables) or (
        plan is not None and plan.tuned_on.kind not in ("public", "simulated")
    ):
        browser.demo = False
    return browser.demo


def _take(key: str) -> None:
    """Button callback: the menu closes, which would stand over the results."""
    use_preset(key)
    st.session_state[MENU] = False


def presets_menu() -> None:
    """Choose a preset, with a sentence on each."""
    with st.popover("Presets", icon=":material/tune:", width="stretch", key=MENU, on_change="rerun"):
        chosen = st.radio(
            "Settings with a name",
            list(PRESETS),
            format_func=lambda key: PRESETS[key].label,
            captions=[preset.why for preset in PRESETS.values()],
        )
        st.button("Use this preset", type="primary", on_click=session.attempt, args=("preset", _take, chosen))
    session.show_message("preset")
