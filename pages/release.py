"""Release: a plan, another table, the gate, two archives, the ledger."""

import streamlit as st

from synth_core.ui.release import desk
from synth_core.ui.release.audit import audit_panel
from synth_core.ui.release.gate import gate_step, show_checks, show_ledger
from synth_core.ui.release.plan import plan_step
from synth_core.ui.release.table import table_step
from synth_core.ui.state.session import plain

status = st.container()
left, right = st.columns([1, 1], gap="large")
with status:
    desk.poll()
    if error := desk.state().error:
        st.error(plain(error), icon=desk.ICONS["failed"])
now = desk.state()
with left:
    st.subheader("1 · Plan")
    with st.container(border=True):
        plan_step(now.plan)
with right:
    st.subheader("2 · Table to be released")
    with st.container(border=True):
        table_step(now.plan, now.table)
    if now.plan is not None and now.table is not None:
        st.subheader("3 · Gate and release")
        with st.container(border=True):
            gate_step(now.outcome)
if now.outcome is not None:
    show_checks(now.outcome)
if now.plan is not None:
    st.subheader(f"Ledger of {plain(now.plan.series)}")
    show_ledger(now.plan.series)
st.subheader("Privacy audit")
audit_panel(now.plan)
