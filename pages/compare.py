"""Compare: controls on one side, exact refits of every mechanism beside them."""

import streamlit as st

from synth_core.ui.compare import (
    controls,
    division,
    play,
    range_controls,
    range_results,
    share,
)
from synth_core.ui.compare.results import WORST_PAIR, choose_pair, show_results
from synth_core.ui.compare.steps import steps_menu
from synth_core.ui.compare.subgroups import choose_groups
from synth_core.ui.compare.view import RANGE, RECORDS, choose_view
from synth_core.ui.shared.declared import take_declared
from synth_core.ui.shared.presets import presets_menu

take_declared()
pair = WORST_PAIR
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
        controls.choose_whose()
        if view == RECORDS:
            pair = choose_pair()
        else:
            choose_groups()
    controls.sampling()
    steps_menu()
    share.settings_menu()
share.offered_by_link()
if view == RANGE:
    range_results.show_results()
elif chosen:
    with st.container():  # of its own: what stands below keeps its place, and stays open
        show_results(chosen, pair)
    if view == RECORDS:
        division.show_division(chosen)
else:
    st.info("Choose at least one mechanism on the left.")
