"""One line when settings chosen on another table go on to count, and the way back to the usual ones."""

from __future__ import annotations

import streamlit as st

from synth_core.analysis.setting_words import setting_value
from synth_core.analysis.settings import setting_name
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.state import session
from synth_core.ui.state.choices import Choices
from synth_core.ui.state.first_choices import unusual, usual_again


def show() -> None:
    """What was chosen on the table before and still counts; nothing if there is nothing."""
    browser = session.current()
    now = unusual(browser.choices)
    still = {name: value for name, value in browser.inherited.items() if now.get(name) == value}
    if not still:
        return
    with st.container(key="inherited", horizontal=True, vertical_alignment="center"):
        st.markdown(
            "Kept from the table before: "
            + session.plain("; ".join(_said(browser.choices, name) for name in still))
        )
        st.button("Start from the usual settings", key="inherited_reset", on_click=_reset)
        st.button("Keep them", key="inherited_keep", type="tertiary", on_click=browser.inherited.clear)


def _said(choices: Choices, name: str) -> str:
    if name == "mechanisms":
        return f"mechanisms {', '.join(find_mechanism(key).label for key in choices.mechanisms)}"
    return f"{setting_name(name)} {setting_value(choices.settings, name)}"


def _reset() -> None:
    """Button callback: a change that can be undone."""
    session.change(usual_again(session.choices()))
    session.current().inherited.clear()
