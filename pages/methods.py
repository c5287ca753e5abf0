"""Methods: the formulas, guarantees and sources, as in docs/methods.md."""

import streamlit as st

from synth_core.ui.guide import page_text

with st.container(width=900):
    st.markdown(page_text("methods.md"))
