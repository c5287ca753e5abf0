"""Find settings: a goal and the settings that reach it, and the map of risk and utility."""

import streamlit as st

from synth_core.errors import InputError
from synth_core.ui.find_settings import controls, goal, rivals, view
from synth_core.ui.state import session

asked = wanted = key = None
try:
    with st.sidebar, st.container(gap="xsmall"):
        asked = controls.choose_map()
        if asked is not None:
            controls.coarse_map(asked)
            key = controls.map_button(asked)
            rivals.choose_rivals(asked)
    if asked is not None:
        with st.container(border=True, key="goal"):
            wanted = goal.choose_goal(asked)
except InputError as error:  # of the numbers, or of the columns chosen on the Data page
    st.error(session.plain(str(error)), icon=":material/error:")
view.show(asked, wanted, key)
