"""The view of Compare: one value protected against any change, within a sensitive range only, or all values."""

from __future__ import annotations

import streamlit as st

from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session

VIEW_OF_RECORDS = "view_of_records"  # the key of its widget
WHOLE, RANGE, RECORDS = "Whole record", "Sensitive range", "All variables"


def shown_subject() -> Subject:
    """What Compare shows: whole records, where several variables are sensitive and their view is chosen."""
    blocks = session.choices().whole
    return Subject(blocks if blocks and st.session_state.get(VIEW_OF_RECORDS, RECORDS) == RECORDS else ())


def show_subject(several: bool) -> None:
    """Callback: show whole records from the next run on, or the variable of the settings alone."""
    st.session_state[VIEW_OF_RECORDS] = RECORDS if several else WHOLE


def choose_view() -> str:
    """One of them, kept in the page's address."""
    several = bool(session.choices().whole)
    offered = [RECORDS, WHOLE, RANGE] if several else [WHOLE, RANGE]
    return str(
        st.segmented_control(
            "What is protected",
            offered,
            default=offered[0],
            required=True,
            key=VIEW_OF_RECORDS if several else "view",
            format_func=lambda each: (
                session.choices().settings.outcome if several and each == WHOLE else each
            ),
            bind="query-params",
            persist_state="session",
            width="stretch",
            help=("All variables: everything sensitive about a record. " if several else "")
            + "Whole record: any change of a value. Sensitive range: only values near a record's own, such as 0.4 to "
            "1.8 times of it.",
        )
    )
