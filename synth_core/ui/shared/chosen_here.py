"""What it costs to choose settings on the very table that is released, where results are looked at."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from synth_core.mechanisms.catalogue import Mechanism
from synth_core.ui.state import session

CHOSEN_HERE = (
    "The table in use is confidential. What is promised holds for settings that were not chosen by looking at the "
    "table that is released: where they are chosen here and this table is released, the strict claim is lost, and the "
    "page Release says what is left. Choose them on a public, simulated or earlier table."
)


def say_chosen_here(mechanisms: Iterable[Mechanism]) -> None:
    """Say what it costs to choose the settings of a strict mechanism on the confidential table that is released."""
    browser = session.current()
    if browser.table.confidential and any(each.guarantee(browser.weights_from).strict for each in mechanisms):
        st.caption(CHOSEN_HERE)
