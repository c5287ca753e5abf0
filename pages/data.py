"""Data: a table, its variables, a model, and whether that fits, from top to bottom."""

import streamlit as st

from synth_core.ui.data import (
    advice,
    blocks,
    columns,
    fit,
    missing,
    model,
    reference_and_cache,
    table,
    variables,
)
from synth_core.ui.shared.declared import take_declared
from synth_core.ui.state import session

take_declared()
st.subheader("1 · Table", anchor=False)
left, right = st.columns([2, 3], gap="large")
with left, st.container(border=True, key="choose_table"):
    table.choose_table()
with right:
    columns.describe()
    missing.choose_missing()
used = session.current().table
st.subheader(f"2 · Variables of {session.plain(used.name)}", anchor=False)
with st.container(border=True):
    variables.choose_variables()
st.subheader("3 · Model", anchor=False)
with st.container(border=True):
    model.choose_model()
    ready = variables.check_choice()
    with st.expander("Which model? A proposal, with its reasons", expanded=not ready):
        advice.propose()
with st.expander("More sensitive variables: release whole records", expanded=bool(session.choices().whole)):
    blocks.choose_blocks()
st.subheader("Does the model fit?", anchor="fit")
with st.container(border=True):
    fit.show(ready)
st.subheader("More that a guarantee may need", anchor=False)
with st.expander("Anchor of anchored censoring: for a strict ε below 1"):
    model.choose_anchor()
with st.expander("Reference table: a risk map frozen on another table"):
    reference_and_cache.choose_reference()
with st.expander("What is kept of your tables, and how to delete it"):
    reference_and_cache.what_is_kept()
