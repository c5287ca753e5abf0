"""Own program: bring a Stan program, check that it keeps the contract, use it as a model."""

import streamlit as st

from synth_core.ui.own_program import check, editor
from synth_core.ui.server import access

refused = access.refusal()
left, right = st.columns([5, 4], gap="large")
with left:
    st.subheader("1 · Your Stan program")
    if refused is not None:
        st.warning(refused, icon=":material/lock:")
    chosen = editor.choose_source(refused is not None)
    if refused is None:
        editor.edit()
    else:  # a box that scrolls cannot be reached by keys
        st.code(editor.read(chosen), language="cpp", wrap_lines=True)
with right:
    if refused is None:
        st.subheader("2 · Does it keep the contract?")
        check.show_table()
        check.show()
        with st.expander("The contract: what a program must declare and keep"):
            editor.contract()
    else:
        st.subheader("The contract")
        editor.contract()
