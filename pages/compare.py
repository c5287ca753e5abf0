"""Compare: controls on one side, exact refits of every mechanism beside them."""

import streamlit as st

from synth_core.ui.compare import controls, play, range_controls, range_results, share
from synth_core.ui.compare.results import show_results
from synth_core.ui.compare.steps import steps_menu
from synth_core.ui.compare.subgroups import choose_groups
from synth_core.ui.compare.view import RANGE, choose_view
from synth_core.ui.shared.presets import presets_menu

with st.sidebar:
    view = choose_view()
    if view == RANGE:
        range_controls.choose_range()
        controls.tuning(range_results.MECHANISMS, leave_out=frozenset({"range"}))
    else:
        presets_menu()
        chosen = controls.choose_mechanisms()
        if chosen:
            controls.tuning(chosen)
            play.play_menu(chosen)
        choose_groups()
    controls.sampling()
    steps_menu()
    share.settings_menu()
share.offered_by_link()
if view == RANGE:
    range_results.show_results()
elif chosen:
    show_results(chosen)
else:
    st.info("Choose at least one mechanism on the left.")
