"""Explore: the map of risk and utility, and which settings reach a stated accuracy."""

import streamlit as st

from synth_core.errors import InputError
from synth_core.ui.explore import controls, view
from synth_core.ui.state import session

asked = wanted = key = None
try:
    with st.sidebar, st.container(gap="xsmall"):
        asked = controls.choose_map()
        if asked is not None:
            key = controls.map_button(asked)
            wanted = controls.target(asked)
            controls.tune_button(asked, wanted)
except InputError as error:  # of the sidebar's numbers, or of the columns chosen on the Data page
    st.error(session.plain(str(error)), icon=":material/error:")
view.show(asked, wanted, key)
