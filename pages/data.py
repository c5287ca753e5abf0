"""Data: choose a table, its sensitive variable and predictors, the model."""

import streamlit as st

from synth_core.ui.data import kept, table, variables
from synth_core.ui.state import session

left, right = st.columns([2, 3], gap="large")
with left:
    st.subheader("1 · Table")
    with st.container(border=True):
        table.choose_table()
    st.subheader("3 · Reference table")
    with st.container(border=True):
        kept.choose_reference()
    st.subheader("4 · What is kept")
    with st.container(border=True):
        kept.what_is_kept()
with right:
    used = session.current().table
    kind = "confidential" if used.confidential else "public or simulated"
    st.subheader(f"2 · Variables of {session.plain(used.name)}")
    st.caption(f"{used.rows:,} rows, {len(used.columns)} columns, {kind}{table.reading()}")
    a, b = st.columns([3, 4], gap="medium")
    with a:
        variables.choose_columns()
    with b:
        variables.describe_columns()
        with st.container(border=True):
            variables.choose_anchor()
    variables.check_choice()
