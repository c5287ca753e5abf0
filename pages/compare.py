"""Compare: controls on one side, exact refits of every mechanism beside them."""

import streamlit as st

from synth_core.ui.compare import controls, share
from synth_core.ui.compare.results import show_results
from synth_core.ui.shared.presets import presets_menu

with st.sidebar:
    presets_menu()
    chosen = controls.choose_mechanisms()
    if chosen:
        controls.tuning(chosen)
    controls.sampling()
    share.settings_menu()
share.offered_by_link()
if chosen:
    show_results(chosen)
else:
    st.info("Choose at least one mechanism on the left.")
