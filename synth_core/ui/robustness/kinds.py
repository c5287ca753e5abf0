"""What the page Robustness asks: databases like mine, intervals, the papers' studies, the privacy audit."""

from __future__ import annotations

import streamlit as st

LIKE_MINE, INTERVALS = "Databases like mine", "Intervals from the file"
PAPERS, AUDIT = "The papers' studies", "Privacy audit"
QUESTIONS = {
    LIKE_MINE: "Would today's ε hold for another table of this kind? Many are simulated from the model fitted to the "
    "table in use, and the mechanisms are run on each.",
    INTERVALS: "Would a user's 95 % intervals hold what is true? Databases are simulated from the model fitted to the "
    "table in use, each is synthesized, and intervals of means, shares, percentiles and regressions are taken from it.",
    PAPERS: "Does this program give the numbers that the papers printed? Their designs are simulated again; the table "
    "in use is not read.",
    AUDIT: "Can the claim be refuted? A mechanism is run thousands of times on a table and on the same table with a "
    "worst-case record removed or replaced: how well the results tell the two apart is a lower bound of ε.",
}


def choose_kind() -> str:
    """One of the questions, kept in the page's address."""
    kind = st.segmented_control(
        "What is asked",
        list(QUESTIONS),
        default=LIKE_MINE,
        required=True,
        key="question",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    st.caption(QUESTIONS[kind])
    return str(kind)
