"""Data: a table, its columns with their roles, a model for each sensitive one, and whether it fits."""

import streamlit as st

from synth_core.ui.data import (
    codebook,
    columns,
    details,
    fit,
    missing,
    next_step,
    reference_and_cache,
    table,
)
from synth_core.ui.data.readiness import readiness
from synth_core.ui.shared.declared import take_declared

take_declared()
ready = readiness()
fits = fit.fits() if ready.ready else fit.drop()
by_name = {each.name: each for each in fits}
with st.container(key="data_page"):
    left, right = st.columns([3, 10], gap="medium")
with left:
    with st.container(border=True, key="choose_table"):
        table.choose_table()
    with st.container(key="more_of_the_file"):  # on a small screen below the columns
        missing.choose_missing()
        with st.expander("Codebook: save it, or take one from a file", key="codebook_panel"):
            codebook.save_or_take()
        with st.expander("Reference table: a risk map frozen on another table", key="reference_panel"):
            reference_and_cache.choose_reference()
        with st.expander("What is kept of your tables, and how to delete it", key="kept_panel"):
            reference_and_cache.what_is_kept()
with right:
    columns.in_use()
    next_step.show(ready, fits)
    columns.show(ready, by_name)
    details.show(ready, by_name)
