"""The view of Compare: one value protected against any change, within a sensitive range only, or all values."""

from __future__ import annotations

import streamlit as st

from synth_core.ui.shared.subject import ALL_VARIABLES, ONE_VARIABLE, VIEW_OF_RECORDS
from synth_core.ui.state import session

WHOLE, RANGE, RECORDS = ONE_VARIABLE, "Sensitive range", ALL_VARIABLES


def choose_view() -> str:
    """One of them, kept in the page's address; of one variable of several also which, which is then described."""
    blocks = session.choices().whole
    if len(blocks) == 1:  # the variable alone would lack what rules decide
        return RECORDS
    several = bool(blocks)
    offered = [RECORDS, WHOLE] if several else [WHOLE, RANGE]  # a sensitive range is of one variable
    chosen = str(
        st.segmented_control(
            "What is protected",
            offered,
            default=offered[0],
            required=True,
            key=VIEW_OF_RECORDS if several else "view",
            format_func=lambda each: "One alone" if several and each == WHOLE else each,
            bind="query-params",
            persist_state="session",
            width="stretch",
            help="All variables: everything sensitive about a record. One alone: as if it were the only one."
            if several
            else "Whole range: any change of a value. Sensitive range: only values near a record's own, such as 0.4 "
            "to 1.8 times of it.",
        )
    )
    if several and chosen == WHOLE:
        names = [block.name for block in blocks]
        now = session.choices().settings.outcome
        key = f"alone {now}"  # another one may have been opened on the page Data
        st.selectbox("Variable", names, names.index(now), key=key, on_change=_describe, args=(key,))
    return chosen


def _describe(key: str) -> None:
    """Widget callback: the variable that is seen alone is the one that is described."""
    session.describe(st.session_state[key])
