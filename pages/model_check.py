"""Model check: does the model fit, before its privacy numbers are trusted?"""

import streamlit as st

from synth_core.errors import InputError
from synth_core.ui.model_check.sections import choose_group, show_check, show_sensitivity
from synth_core.ui.state import session

try:
    settings = session.settings()
except InputError as error:
    st.error(session.plain(str(error)), icon=":material/error:")
    st.page_link("pages/data.py", label="Go to the Data page", icon=":material/table:")
    st.stop()
with st.sidebar:
    column, level = choose_group(settings)
    st.caption("The unweighted fit is checked: it is the model that every mechanism starts from.")
    sensitive = st.toggle(
        "Sensitivity to the priors", help="Runs a mechanism again under five scales of priors."
    )
show_check(settings, column, level)
if sensitive:
    show_sensitivity(settings)
