"""Studies: would today's Δ hold for another database of the kind? And the papers' studies, repeated, beside ours."""

import streamlit as st

from synth_core.errors import InputError
from synth_core.ui.shared import background
from synth_core.ui.state import session
from synth_core.ui.studies import sections

try:
    settings = session.settings()
    with st.sidebar:
        asked = sections.choose(settings)
        st.button(
            "Run the study", type="primary", width="stretch", on_click=sections.start, args=(settings, asked)
        )
except InputError as error:
    st.error(session.plain(str(error)), icon=":material/error:")
run = background.current(sections.KIND)
if run is None:
    st.info(
        "A study simulates databases, runs mechanisms on each, and tells how Δ and utility vary: the probability "
        "that another database exceeds a target, and the factor of safety that would cover it.",
        icon=":material/science:",
    )
else:
    sections.show(run)
