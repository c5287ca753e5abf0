"""An app whose polled part begins the whole page anew at every fourth poll, and counts how often it was mounted.

Its server delivers late, as on a busy machine: of what a run draws last, much has not left when the next one begins.
"""

import streamlit as st
from streamlit.runtime import runtime

from synth_core.ui.shared import polling

runtime.MESSAGE_FLUSH_INTERVAL_SECS = polling.DELIVERY_SECONDS / 4

counter = st.components.v2.component(
    "counter",
    html="<output class='counter'></output>",
    js="""export default function ({ parentElement }) {
      const output = parentElement.querySelector('.counter');
      if (!output.dataset.mounted) {
        output.dataset.mounted = 'yes';
        window.mounted = (window.mounted ?? 0) + 1;
      }
      window.drawn = (window.drawn ?? 0) + 1;
    }""",
)


def polled():
    st.session_state["polls"] = st.session_state.get("polls", 0) + 1
    if st.session_state["polls"] % 4 == 0:
        st.rerun()
    st.text("Above it")
    with st.columns(2)[0]:
        counter(key="counter", data=st.session_state["polls"])


polling.poll(polled, 0.05)
