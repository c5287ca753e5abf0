"""Methods: the formulas, guarantees and sources, as in docs/methods."""

import streamlit as st

from synth_core.ui.shared.guide import methods_text

with st.container(width=900):
    st.markdown(methods_text())
