"""Which picture Compare shows: values protected against any change, or within a sensitive range only."""

from __future__ import annotations

import streamlit as st

WHOLE, RANGE = "Whole record", "Sensitive range"


def choose_view() -> str:
    """One of the two, kept in the page's address."""
    return str(
        st.segmented_control(
            "What is protected",
            [WHOLE, RANGE],
            default=WHOLE,
            required=True,
            key="view",
            bind="query-params",
            persist_state="session",
            width="stretch",
            help="Whole record: any change of a value. Sensitive range: only values near a record's own, such as "
            "0.4 to 1.8 times of it.",
        )
    )
