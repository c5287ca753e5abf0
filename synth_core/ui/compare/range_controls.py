"""The sensitive interval around a value: relative to the value, another one in the tail, or brackets."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.ranges import Brackets, check_brackets, read_brackets
from synth_core.ui.shared.widgets import slider_with_number, switch
from synth_core.ui.state import session

RELATIVE, BRACKETS = "Relative", "Brackets"
FIRST_TAIL = (5.0, 0.2, 2.4)
FIRST_BRACKETS = ((0.0, 25.0), (25.0, 50.0), (50.0, 100.0), (100.0, 1000.0))
KIND, TAIL = "settings.brackets", "settings.tail"  # the places that two switches are of


def choose_range() -> None:
    """The range, its variant, and what else it depends on."""
    chosen = session.choices().settings
    key = session.widget_key(KIND)
    st.session_state.setdefault(key, BRACKETS if chosen.brackets else RELATIVE)
    kind = st.segmented_control(
        "Range",
        [RELATIVE, BRACKETS],
        required=True,
        key=key,
        on_change=_leave_brackets,
        args=(key,),
        width="stretch",
        help="Relative to the value: from a to b times of it. Brackets: intervals with fixed ends.",
    )
    if kind == BRACKETS:
        edit_brackets()
    else:
        choose_relative()
    switch(
        "Range-truncated as printed in Eq. 15",
        "settings.printed_truncation",
        "The paper prints the log mass of the range without the weight; its figures agree with the weight on the "
        "whole term, which is used here.",
    )
    matched = chosen.match_epsilon
    if matched:
        st.caption(f"The ε of {find_mechanism(matched).label} is matched by the others.")


def _leave_brackets(key: str) -> None:
    """Widget callback: relative ranges count again; brackets count once they are used."""
    if st.session_state.get(key) == RELATIVE and not session.is_late(KIND, key):
        session.put(KIND, None)


def _switch_tail(key: str) -> None:
    """Widget callback."""
    if key in st.session_state and not session.is_late(TAIL, key):
        session.put(TAIL, FIRST_TAIL if st.session_state[key] else None)


def choose_relative() -> None:
    """a and b, and other ones in the tail."""
    slider_with_number("From a × value", "settings.range.0", (0.0, 1.0), 0.05, "Lower end of the range.")
    slider_with_number("To b × value", "settings.range.1", (1.0, 5.0), 0.05, "Upper end of the range.")
    tail = session.choices().settings.tail
    key = session.widget_key(TAIL)
    st.session_state.setdefault(key, tail is not None)
    st.toggle("Another range in the upper tail", key=key, on_change=_switch_tail, args=(key,))
    if tail is not None:
        slider_with_number(
            "Top percent", "settings.tail.0", (0.5, 50.0), 0.5, "Records of the largest values."
        )
        slider_with_number("From a′ × value", "settings.tail.1", (0.0, 1.0), 0.05, "Lower end in the tail.")
        slider_with_number("To b′ × value", "settings.tail.2", (1.0, 5.0), 0.05, "Upper end in the tail.")


def edit_brackets() -> None:
    """A small editor, or a file."""
    upload = st.file_uploader("Brackets from a file", type=["csv"], help="Two columns: lower, upper.")
    used = session.choices().settings.brackets
    start = used or FIRST_BRACKETS
    frame = st.data_editor(
        pd.DataFrame(start, columns=["lower", "upper"], dtype=float),
        num_rows="dynamic",
        hide_index=True,
        key="brackets_editor",
    )
    brackets: Brackets
    try:
        if upload is not None:
            brackets = read_brackets(upload.getvalue().decode("utf-8", errors="replace"))
        else:
            rows = frame.dropna(how="all")
            if rows.isna().any(axis=None):
                raise InputError("A bracket has a lower and an upper end: fill in both, or clear the row.")
            brackets = tuple(sorted((float(a), float(b)) for a, b in rows.to_numpy()))
            check_brackets(brackets)
    except InputError as error:
        st.error(session.said(error), icon=":material/error:")
        return
    st.button(
        "Use these brackets", type="primary", on_click=session.put, args=("settings.brackets", brackets)
    )
    of_file = "The file counts, and not the rows above. " if upload is not None else ""
    unused = "Not in use yet: the results are of other ranges." if brackets != used else ""
    if of_file or unused:
        st.caption(of_file + unused)
