"""Release: a plan, another table, the checks, two archives, the ledger, as five steps."""

import streamlit as st

from synth_core.ui.release import gate, release_actions, release_job, steps
from synth_core.ui.release.plan import plan_step
from synth_core.ui.release.table import table_step
from synth_core.ui.state.session import plain

status = st.container(key="under_way")
with status:
    release_job.show_progress(release_actions.balance_on_desk)
    if error := release_job.state().error:
        st.error(plain(error), icon=release_job.ICONS["failed"])
    if words := release_job.cancelled_words():
        st.info(words, icon=":material/cancel:")
now, at, outcome = release_job.state(), steps.standing(), release_actions.outcome()
steps.show_stepper(at)
with steps.step(1, at):
    plan_step(now.plan)
with steps.step(2, at):
    table_step(now.plan, now.table)
with steps.step(3, at):
    gate.checks_step(now.plan, now.table, outcome)
with steps.step(4, at):
    gate.release_step(now.plan, now.table, outcome)
with steps.step(5, at):
    gate.ledger_step(now.plan)
