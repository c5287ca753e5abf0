"""The guided tour of a first visit, and the notice of a demonstration: over the page, never in its way.

Both are fixed to the window, so that opening or closing them moves nothing of the page below.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from synth_core.errors import FitError
from synth_core.release.state import private_directory
from synth_core.ui.shared.presets import end_demo, in_demo
from synth_core.ui.state import session


@dataclass(frozen=True)
class Step:
    """What to do on one page."""

    page: str
    name: str
    text: str


STEPS = (
    Step(
        "pages/data.py",
        "Data",
        "Take an example or your own file, and say which column is sensitive, which predictors are not, and "
        "which model fits. Your file stays in memory.",
    ),
    Step(
        "pages/model_check.py",
        "Model check",
        "Look first whether the model predicts the data: privacy numbers of a model that does not fit mean "
        "little.",
    ),
    Step(
        "pages/compare.py",
        "Compare",
        "Move c, g or ε on the left. Every mechanism is fitted again, exactly. The table gives each ε; press its "
        "guarantee to read what is promised, and what is not.",
    ),
    Step(
        "pages/ranges.py",
        "Sensitive ranges",
        "Often only nearby values need protection: choose the range around each value, and see what ε that "
        "gives.",
    ),
    Step(
        "pages/explore.py",
        "Explore",
        "Say what accuracy or ε is to be reached: the smallest ε is searched for, and a map shows the "
        "trade-off.",
    ),
    Step(
        "pages/release.py",
        "Release",
        "Write the decision down as a plan, apply it to another table, pass the gate: you leave with synthetic "
        "data, a report, and an entry in the ledger.",
    ),
)


def _mark() -> Path | None:
    """The empty file that says that this account has dismissed the tour; None if nothing would find it again."""
    return private_directory("tour") / session.account() if session.recognised() else None


def _dismissed() -> bool:
    if "tour_dismissed" not in st.session_state:
        try:
            mark = _mark()
            st.session_state["tour_dismissed"] = mark is not None and mark.exists()
        except (FitError, OSError):  # no state directory: the offer comes again, that is all
            st.session_state["tour_dismissed"] = False
    return bool(st.session_state["tour_dismissed"])


def go(step: int) -> None:
    """Button callback: open the tour at a step."""
    st.session_state["tour_step"] = step


def dismiss() -> None:
    """Button callback: close the tour, and offer it no more to this account."""
    st.session_state.pop("tour_step", None)
    st.session_state["tour_dismissed"] = True
    try:
        mark = _mark()
        if mark is not None:
            mark.touch(mode=0o600)
    except (FitError, OSError):
        return


def _offer() -> None:
    with st.container(key="tour_offer", horizontal=True, vertical_alignment="center"):
        if _dismissed():
            st.button(
                "Tour",
                key="tour_again",
                icon=":material/help:",
                type="tertiary",
                on_click=go,
                args=(0,),
                help="Six steps, one for each page.",
            )
            return
        st.button("Take the tour", key="tour_take", icon=":material/help:", on_click=go, args=(0,))
        st.button(
            "No tour",
            key="tour_dismiss",
            type="tertiary",
            on_click=dismiss,
            help="It can be opened again from here.",
        )


def _panel(number: int) -> None:
    step = STEPS[number]
    with st.container(key="tour_panel", border=True):
        st.markdown(f"**{number + 1} of {len(STEPS)} · {step.name}**")
        st.markdown(step.text)
        st.page_link(step.page, label=f"Go to {step.name}", icon=":material/arrow_forward:")
        with st.container(horizontal=True):
            st.button("Back", key="tour_back", disabled=number == 0, on_click=go, args=(number - 1,))
            last = number == len(STEPS) - 1
            st.button(
                "Finish" if last else "Next",
                key="tour_next",
                type="primary",
                on_click=dismiss if last else go,
                args=() if last else (number + 1,),
            )
            st.button("Close", key="tour_close", type="tertiary", on_click=dismiss)


def show() -> None:
    """Offer or step of the tour, and the notice while a demonstration is on."""
    number = st.session_state.get("tour_step")
    if number is None:
        _offer()
    else:
        _panel(number)
    if in_demo():
        with st.container(key="demo_notice", horizontal=True, vertical_alignment="center"):
            st.markdown("**Live demo: the data are simulated. Nothing shown here is confidential.**")
            st.button("End the demo", key="demo_end", on_click=end_demo)
