"""Sensitive ranges: which interval around each value is to be protected, and what it gives."""

import streamlit as st

from synth_core.ui.ranges.controls import choose_range
from synth_core.ui.ranges.results import show_results

with st.sidebar:
    choose_range()
show_results()
