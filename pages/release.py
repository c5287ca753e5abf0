"""Release: a plan, another table, the gate, two archives, the ledger."""

import pandas as pd
import streamlit as st

from synth_core import limits
from synth_core.errors import FitError, InputError
from synth_core.points import find_mechanism
from synth_core.readers import SUFFIXES
from synth_core.release.plan import TUNED_ON, WARNINGS
from synth_core.ui import desk, session
from synth_core.ui.audit import audit_panel
from synth_core.ui.runs import runs_panel
from synth_core.ui.session import plain

ICONS = {
    "passed": ":material/check_circle:",
    "warning": ":material/warning:",
    "failed": ":material/cancel:",
    "overridden": ":material/edit_note:",
}


def plan_form() -> None:
    """Everything that is decided before the table to be released is looked at."""
    choices = session.current().choices
    chosen = choices["mechanisms"] or ["weighted"]
    a, b = st.columns(2)
    mechanism = a.selectbox("Mechanism", chosen, index=len(chosen) - 1, key="plan_mechanism",
                            format_func=lambda key: find_mechanism(key).label,
                            help="Of those chosen on the page Compare, with the settings there.")  # fmt: skip
    tuned_on = b.selectbox("The table in use, on which they were tuned, is", desk.kinds(), key="plan_tuned_on",
                           format_func=TUNED_ON.get)  # fmt: skip
    if tuned_on in WARNINGS:
        st.warning(WARNINGS[tuned_on], icon=":material/warning:")
    a, b, c = st.columns(3)
    a.text_input("Series", "income", key="plan_series", max_chars=limits.NAME_LENGTH,
                 help="Name of the table over its periods. The ledger adds up what a series is charged.")  # fmt: skip
    b.number_input("Limit of ε in all", *limits.TOTAL_EPSILON, 50.0, key="plan_limit",
                   help="Of the sum over all releases of the series. Set with its first release.")  # fmt: skip
    strict = desk.strict(mechanism)
    c.number_input("Target ε of one data set", *limits.EPSILON, None, key="plan_target",
                   placeholder="its own ε" if strict else "measured", disabled=strict,
                   help="A measured ε must stay below it in every period, a factor of safety included. It is what "
                        "the ledger charges.")  # fmt: skip
    st.text_area("Why these settings", key="plan_reason", max_chars=limits.REASON_LENGTH, height=80)
    a, b = st.columns(2)
    a.text_input("Who decided", key="plan_who", max_chars=200)
    b.number_input(
        "Decimals of the synthetic values", *limits.DECIMALS, None, key="plan_decimals", placeholder="all"
    )
    a, b = st.columns(2)
    a.checkbox("Shuffle the rows", value=True, key="plan_shuffle")
    b.checkbox("Move values to the declared bounds", key="plan_clamp", disabled=choices["bounds"] is None)
    st.caption(
        f"Data sets of a release, m: {choices['datasets']} (page Compare, Sampling). The random seed is drawn from "
        f"the system for each release and stays secret."
    )
    st.button("Make the plan", type="primary", on_click=session.attempt, args=("plan", desk.make_plan),
              disabled="task" in desk.state())  # fmt: skip


def open_plan() -> None:
    """A plan made earlier, here or elsewhere."""
    a, b = st.columns(2)
    plan_file = a.file_uploader("Plan", ["json"])
    map_file = b.file_uploader(
        "Its risk map", ["npz"], help="Not needed where the plan was made on this server."
    )
    if plan_file is not None:
        st.button("Use this plan", type="primary", on_click=session.attempt,
                  args=("plan", desk.open_plan, plan_file, map_file))  # fmt: skip


def show_plan(plan) -> None:
    """What was decided, and its files."""
    s = plan.settings
    st.markdown(
        f"**{plan.point.label}**, {plan.point.guarantee.label}, target **ε = {plan.target_epsilon:g}** a data set, "
        f"m = {plan.datasets}, series **{plain(plan.series)}**, {plain(s.outcome)} on {len(s.predictors)} predictors"
    )
    st.caption(
        f"Tuned on {plain(plan.tuned_on.name)} ({TUNED_ON[plan.tuned_on.kind]}). {plain(plan.reason)} "
        f"({plain(plan.decided_by)}, {plan.created[:10]})"
    )
    if plan.warning:
        st.warning(plan.warning, icon=":material/warning:")
    for problem in desk.state().get("problems", ()):
        st.warning(f"The fit on the tuning table has not converged: {problem}.", icon=":material/warning:")
    columns = st.columns(3)
    for column, (label, name, content) in zip(columns, desk.plan_files(plan), strict=False):
        column.download_button(
            label, content, name, icon=":material/download:", on_click="ignore", width="stretch"
        )
    columns[2].button("Another plan", on_click=desk.forget_plan, width="stretch")


def choose_table() -> None:
    """The table to be released: another period, not the one the plan was tuned on."""
    other, example = desk.half(), desk.simulates()
    if other is not None:
        st.button(f"Take the other half: {plain(other.name)}", on_click=session.attempt,
                  args=("table", desk.take_table, "half"))  # fmt: skip
    if example is not None:
        a, b = st.columns([1, 2], vertical_alignment="bottom")
        seed = a.number_input("Seed of another period", *limits.SEED, 2002, 1)
        b.button("Simulate another period", on_click=session.attempt,
                 args=("table", desk.take_table, "simulated", None, int(seed)))  # fmt: skip
    upload = st.file_uploader("A table", [ending.lstrip(".") for ending in SUFFIXES], key="release_table")
    if upload is not None:
        st.button("Take this file", on_click=session.attempt, args=("table", desk.take_table, "file", upload))
    with st.expander("The table in use"):
        st.caption("Releasing the very table that the settings were tuned on costs the strict claim.")
        st.button(
            "Take the table in use", on_click=session.attempt, args=("table", desk.take_table, "current")
        )


def show_checks(outcome: dict) -> None:
    """The gate's lines, and a place for the reason of an override."""
    table = pd.DataFrame(
        {"Check": c.title, "Result": c.status, "Finding (internal)": c.finding, "What to do": c.advice}
        for c in outcome["checks"]
    )
    if len(table):
        if not table["What to do"].any():
            table = table.drop(columns="What to do")
        st.table(table.set_index("Check").map(plain))
    for check in outcome["checks"]:
        if check.status != "failed":
            continue
        if check.overridable:
            st.text_input(f"Override “{check.title}”, because", key=f"override_{check.key}", max_chars=1000,
                          help="The reason is shown in both reports: write nothing confidential.")  # fmt: skip
        else:
            st.error(
                f"{check.title}: this check cannot be overridden. {plain(check.advice)}", icon=ICONS["failed"]
            )


def release_buttons(outcome: dict | None) -> None:
    """Look at the gate, then release."""
    busy = "task" in desk.state()
    a, b, c = st.columns([2, 1, 1], vertical_alignment="bottom")
    a.text_input("Label", "first", key="release_label", max_chars=limits.NAME_LENGTH,
                         help="A second release of the same table needs another label, and is charged "
                              "again.")  # fmt: skip
    b.button("Check", on_click=session.attempt, args=("release", desk.ask, True), disabled=busy,
             type="secondary" if outcome else "primary", width="stretch",
             help="Runs the gate. Nothing is written or charged.")  # fmt: skip
    ready = outcome is not None and not desk.stand_in_the_way(outcome["checks"])
    c.button("Release", on_click=session.attempt, args=("release", desk.ask, False), disabled=busy or not ready,
             type="primary" if outcome else "secondary", width="stretch")  # fmt: skip


def show_outcome(outcome: dict) -> None:
    """Both archives."""
    again = " It was made before: nothing more was charged." if outcome["state"] == "repeated" else ""
    st.success(
        f"Release {outcome['number']}: ε = {outcome['epsilon']:g} charged.{again}", icon=ICONS["passed"]
    )
    for column, (name, content) in zip(st.columns(2), desk.archives(), strict=True):
        public = "releasable" in name
        column.download_button(f"{'May leave' if public else 'INTERNAL, stays'}: {name}", content, name,
                               "application/zip", type="primary" if public else "secondary",
                               icon=":material/outbox:" if public else ":material/lock:", on_click="ignore",
                               width="stretch")  # fmt: skip


def show_ledger(series: str) -> None:
    """Sum, limit, entries, and a change of the limit."""
    try:
        balance, rows = desk.ledger_view(series)
    except FitError as error:
        st.error(plain(str(error)), icon=ICONS["failed"])
        return
    if not rows:
        st.caption("Nothing was charged to this series yet.")
        return
    a, b, c, d = st.columns(4)
    a.metric("Releases", balance.releases)
    b.metric("ε in all", f"{balance.spent:g}")
    c.metric("Limit", "none" if balance.limit is None else f"{balance.limit:g}")
    d.metric("Left", "–" if balance.left is None else f"{max(balance.left, 0.0):g}")
    with st.expander("Entries, and another limit"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        a, b, c = st.columns(3)
        a.number_input("Limit", *limits.TOTAL_EPSILON, balance.limit or 50.0, key="new_limit")
        b.text_input("Because", key="new_limit_reason")
        c.text_input("Decided by", key="new_limit_who")
        st.button("Change the limit", on_click=session.attempt,
                  args=("ledger", desk.change_limit, series))  # fmt: skip
        session.show_message("ledger")


on_desk = desk.state()
status = st.container()
left, right = st.columns([1, 1], gap="large")
with status:
    running = desk.poll()
    if error := on_desk.get("error"):
        st.error(plain(error), icon=ICONS["failed"])
plan, table, outcome = (on_desk.get(name) for name in ("plan", "table", "outcome"))
with left:
    st.subheader("1 · Plan")
    with st.container(border=True):
        if plan is None:
            tabs = st.tabs(["New plan", "Open a plan", "Finished runs"])
            for tab, draw in zip(tabs, (plan_form, open_plan, runs_panel), strict=True):
                with tab:
                    draw()
        else:
            try:
                show_plan(plan)
            except InputError as missing:
                st.error(plain(str(missing)), icon=ICONS["failed"])
        session.show_message("plan")
with right:
    st.subheader("2 · Table to be released")
    with st.container(border=True):
        if plan is None:
            st.caption("First a plan: it is made before this table is looked at.")
        else:
            if table is not None:
                st.markdown(f"**{plain(table.name)}**, {table.rows:,} rows")
            with st.expander("Another table", expanded=False) if table is not None else st.container():
                choose_table()
            session.show_message("table")
    if plan is not None and table is not None:
        st.subheader("3 · Gate and release")
        with st.container(border=True):
            release_buttons(outcome)
            session.show_message("release")
            if outcome is not None and outcome["archives"]:
                show_outcome(outcome)
if outcome is not None:
    show_checks(outcome)
if plan is not None:
    st.subheader(f"Ledger of {plain(plan.series)}")
    show_ledger(plan.series)
st.subheader("Privacy audit")
audit_panel(plan)
