"""The guided tour of a first visit, and the notice of a demonstration.

The tour is a strip above the page, so it covers nothing at any width; it opens the page that it speaks of, and
draws a frame around the part. The notice is fixed to the window, and the offer where there is room beside the pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from synth_core.errors import FitError
from synth_core.release.state import private_directory
from synth_core.ui.shared.presets import in_demo
from synth_core.ui.state import session


@dataclass(frozen=True)
class Step:
    """What to do on one page; `at` is the CSS selector of the part that is meant."""

    page: str
    name: str
    at: str
    text: str


STEPS = (
    Step(
        "pages/data.py",
        "Data",
        ".st-key-choose_table",
        "Take an example or your own file, which stays in memory. Beside it: what each column is, which model, whether "
        "it fits, and what is next.",
    ),
    Step(
        "pages/compare.py",
        "Compare",
        ".board .headline",
        "Move c, g or ε on the left: every mechanism is fitted again, exactly. The table gives each ε; press its "
        "guarantee to read what is promised, and what is not.",
    ),
    Step(
        "pages/find_settings.py",
        "Find settings",
        ".st-key-goal",
        "Say what accuracy or what ε is to be reached; the settings are searched for. A map shows the trade-off.",
    ),
    Step(
        "pages/robustness.py",
        "Robustness",
        ".st-key-question",
        "Ask whether today's ε would hold for other tables of the kind, and whether a claim can be refuted.",
    ),
    Step(
        "pages/release.py",
        "Release",
        ".st-key-stepper",
        "Write the decision down as a plan, apply it to another table, pass the checks: you leave with synthetic "
        "data, a report, and an entry in the ledger.",
    ),
    Step(
        "pages/help.py",
        "Help",
        ".st-key-section",
        "A page of guide for each screen, every word explained, every formula, and models of your own.",
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


def _begin(page: Any) -> None:
    """Open the tour, which ends on the page where it began."""
    st.session_state["tour_from"] = page.title
    _go(0)


def _end() -> None:
    """Close the tour, and go back to where it began."""
    dismiss()
    began = st.session_state.pop("tour_from", None)
    if (step := next((step for step in STEPS if step.name == began), None)) is not None:
        st.switch_page(step.page)
    st.rerun()


def _go(step: int) -> None:
    """Open the tour at a step, on its page."""
    st.session_state["tour_step"] = step
    st.switch_page(STEPS[step].page)


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


def _offer(page: Any) -> None:
    with st.container(key="tour_offer", horizontal=True, vertical_alignment="center"):
        if _dismissed():
            if st.button(
                "Tour", key="tour_again", icon=":material/tour:", type="tertiary", help="One step a page."
            ):
                _begin(page)
            return
        if st.button("Take the tour", key="tour_take", icon=":material/tour:"):
            _begin(page)
        st.button(
            "No tour",
            key="tour_dismiss",
            type="tertiary",
            on_click=dismiss,
            help="It can be opened again from here.",
        )


def _strip(number: int, page: Any) -> None:
    step = STEPS[number]
    with st.container(key="tour_strip", horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{number + 1} of {len(STEPS)} · {step.name}.** {step.text}")
        if page.title != step.name:  # walked away meanwhile
            st.page_link(step.page, label=f"Go to {step.name}", icon=":material/arrow_forward:")
        if st.button("Back", key="tour_back", disabled=number == 0):
            _go(number - 1)
        if number == len(STEPS) - 1:
            if st.button("Finish", key="tour_finish", type="primary"):
                _end()
        elif st.button("Next", key="tour_next", type="primary"):
            _go(number + 1)
        st.button("Close", key="tour_close", type="tertiary", on_click=dismiss)
    if page.title == step.name:
        st.html(
            f"<style>{step.at} {{ outline: 3px solid light-dark(#d97706, #fbbf24); outline-offset: 5px; "
            "border-radius: 4px; }</style>"
        )


def show(page: Any) -> None:
    """Offer or step of the tour on this page, and the notice while a demonstration is on."""
    number = st.session_state.get("tour_step")
    if number is None:
        _offer(page)
    else:
        _strip(number, page)
    if in_demo():
        with st.container(key="demo_notice", horizontal=True, vertical_alignment="center"):
            st.markdown("**Live demo: the data are simulated. Nothing shown here is confidential.**")
            st.button("End the demo", key="demo_end", on_click=session.end_demo)
