"""The view of Compare: one value protected against any change, within a sensitive range only, or all values."""

from __future__ import annotations

import streamlit as st

from synth_core.ui.shared.subject import ALL_VARIABLES, ONE_VARIABLE, VIEW_OF_RECORDS
from synth_core.ui.state import session

WHOLE, RANGE, RECORDS = ONE_VARIABLE, "Sensitive range", ALL_VARIABLES


def choose_view() -> str:
    """One of them, kept in the page's address."""
    blocks = session.choices().whole
    if len(blocks) == 1:  # the variable alone would lack what rules decide
        return RECORDS
    several = bool(blocks)
    offered = [RECORDS, WHOLE] if several else [WHOLE, RANGE]  # a sensitive range is of one variable
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
            help="All variables: everything sensitive about a record. Else the one that the page Data describes, alone."
            if several
            else "Whole range: any change of a value. Sensitive range: only values near a record's own, such as 0.4 "
            "to 1.8 times of it.",
        )
    )
