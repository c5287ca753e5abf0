"""The privacy audit: ask, watch, read, keep."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.wording.belief_sentences import rho_words
from synth_core.errors import InputError
from synth_core.experiments.audit.audit import AuditRequest, claim_at
from synth_core.experiments.audit.expected_time import seconds_of_line
from synth_core.experiments.audit.power import n_lines, power
from synth_core.experiments.audit.report import CLAIMED, LOWER, MEANING, AuditRow, cell
from synth_core.experiments.audit.verdict import BEYOND, CONSISTENT, EXCEEDED, NOT_JUDGED, VIOLATED
from synth_core.jobs.audit_task import AuditAnswer
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import AuditTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.plan.plan import Plan
from synth_core.release.report.audit_summary import parse_audit
from synth_core.system import limits
from synth_core.ui.robustness.claims import known
from synth_core.ui.shared import background
from synth_core.ui.shared.expected import expected_runs
from synth_core.ui.shared.subject import Subject
from synth_core.ui.shared.waiting import watch
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun
from synth_core.ui.state.session import plain, said

KIND = "audit"
SIGNS = {CONSISTENT: "✓", VIOLATED: "✗", EXCEEDED: "✗", BEYOND: "?", NOT_JUDGED: "–"}


def show() -> None:
    """Controls, progress and the table of an audit of the plan, or of mechanisms of the page Compare."""
    plan = session.current().desk.plan
    with st.container(border=True):
        _form(plan)
        session.show_message("audit")
    run = background.current(KIND)
    if run is not None:
        _show(run, plan)


def _form(plan: Plan | None) -> None:
    browser = session.current()
    subjects = ["plan"] if plan is not None else []
    subjects.append("compare")
    a, b, c, d = st.columns([3, 3, 2, 2], vertical_alignment="bottom")
    names = {"plan": "The plan of the page Release", "compare": "Mechanisms of the page Compare"}
    subject = a.selectbox(
        "What is audited", subjects, format_func=names.__getitem__, key=f"audit_subject_{len(subjects)}"
    )
    run = background.current(KIND)
    shown: Any = None if run is None else run.tasks[0]
    if subject == "plan" and plan is not None:
        b.text_input("Mechanism", plan.point.label, disabled=True, key=f"audit_of_{plan.digest[:8]}")
        chosen = [plan.mechanism]
    else:
        keys = list(browser.choices.mechanisms)
        asked = () if shown is None else shown.asked.mechanisms
        chosen = b.multiselect(
            "Mechanisms",
            keys,
            default=[key for key in keys if key in asked] or keys,
            format_func=lambda key: find_mechanism(key).label,
            key="audit_mechanisms",
        )
    runs = own_number(
        "Runs on each table",
        limits.AUDIT_RUNS,
        10_000 if shown is None else shown.asked.runs,
        1_000,
        "audit_runs",
        c,
        help="More runs can refute larger claims, and take longer.",
    )
    _say_power(plan if subject == "plan" else None, chosen, int(runs))
    busy = run is not None and run.running
    d.button(
        "Run the audit",
        type="primary",
        width="stretch",
        on_click=session.attempt,
        disabled=busy or not chosen,
        args=("audit", _start, plan if subject == "plan" else None, chosen, int(runs)),
    )
    where = (
        "the weights come from the table itself"
        if browser.reference is None
        else ("weights are taken both from the table itself and from the risk reference")
    )
    st.caption(
        f"On the table in use, {plain(browser.table.name)}. "
        + ("" if subject == "plan" else f"For mechanisms with weights {where}. ")
        + _who_differs(plan if subject == "plan" else None)
        + "Small tables show the most: one record weighs more in them."
        + _how_long(plan if subject == "plan" else None, chosen, int(runs))
    )


def _lines(plan: Plan | None, chosen: list[str]) -> int:
    """How many lines an audit of these mechanisms has."""
    browser = session.current()
    frozen = browser.reference is not None if plan is None else plan.frozen is not None
    blocks = browser.choices.whole if plan is None else plan.blocks
    together = bool(blocks) or _unit(plan) is not None
    return n_lines(map(find_mechanism, chosen), frozen, plan is not None, together)


def _how_long(plan: Plan | None, chosen: list[str], runs: int) -> str:
    """How many lines there are to wait for, and about how long; a sentence after another."""
    if not chosen:
        return ""
    browser = session.current()
    subject = Subject(browser.choices.whole if plan is None else plan.analysed_blocks)
    try:
        settings = session.settings() if plan is None else plan.settings
        once = expected_runs(subject, subject.settings(settings), chosen)
    except InputError:  # said where it is chosen, and when the audit is asked for
        return ""
    rows = browser.table.rows
    seconds = sum(
        _lines(plan, [key])
        * seconds_of_line(find_mechanism(key), once.seconds[key], runs, rows, len(subject.blocks))
        for key in chosen
    )
    lines = _lines(plan, chosen)
    what = f"The {lines} lines are computed one after another" if lines > 1 else "The audit runs"
    return f" {what}, which takes {once.words(seconds)}."


def _unit(plan: Plan | None) -> str | None:
    """The column of units of several records that ε is for."""
    return (session.settings() if plan is None else plan.settings).unit_column


def _who_differs(plan: Plan | None) -> str:
    """That a neighbour differs in all records of a unit, where units are named; a sentence before another."""
    return "" if (unit := _unit(plan)) is None else f"All records of one '{plain(unit)}' differ. "


def _say_power(plan: Plan | None, chosen: list[str], runs: int) -> None:
    """Before the run: whether so many runs could refute each claim at all."""
    browser = session.current()
    blocks = browser.choices.whole if plan is None else plan.blocks
    units = _unit(plan) is not None
    lines = _lines(plan, chosen)
    variables = max(1, len(blocks))
    weak: list[str] = []
    strong: list[str] = []
    unknown: list[str] = []
    named: dict[str, list[str]] = {}
    for key in chosen:
        label = find_mechanism(key).label
        claim = plan.target_epsilon if plan is not None else _claim(key)
        if claim is None:
            unknown.append(label)
            continue
        promised = find_mechanism(key).guarantee(browser.weights_from) if plan is None else plan.guarantee
        tested = claim_at(promised, claim)
        if tested != claim:
            named.setdefault(rho_words(promised, claim), []).append(label)
        power_of_audit = power(tested, runs, lines, variables=variables, units=units)
        strong_enough = power_of_audit.claim < power_of_audit.surely
        (strong if strong_enough else weak).append(f"{label}: {power_of_audit.words}")
        if strong_enough and find_mechanism(key).epsilon_by_construction:  # the line that claims more
            of_replaced = claim_at(promised, promised.replaced(claim))
            other = power(of_replaced, runs, lines, variables=variables, units=units)
            if other.claim >= other.surely:
                weak.append(f"{label}, with values replaced instead of withheld: {other.words}")
    if weak:
        st.warning(plain(". ".join(weak) + "."), icon=":material/bolt:")
    if strong:
        st.caption(plain(". ".join(strong) + "."))
    for words, labels in named.items():
        st.caption(plain(f"{', '.join(labels)}: {words}. That is what an audit tests."))
    if unknown:
        st.caption(
            f"{', '.join(unknown)}: ε is not known yet, so neither is whether {runs:,} runs could test it; see Compare."
        )


def _claim(mechanism: str) -> float | None:
    """ε that a mechanism promises or, where Compare has measured it of all that is sensitive, shows; else None."""
    try:
        if find_mechanism(mechanism).epsilon_by_construction:
            return session.settings().epsilon
    except InputError:  # of the columns: said where they are chosen
        return None
    numbers = known().get(mechanism)
    return None if numbers is None else numbers.epsilon


def _start(plan: Plan | None, chosen: Any, runs: int) -> None:
    """Button callback: put the audit under way."""
    browser = session.current()
    if plan is not None:
        given = TaskInput.of(browser.table, session.settings())
        task = AuditTask(given, asked=AuditRequest((plan.mechanism,), runs), plan=plan)
    else:
        task = AuditTask(_given(), asked=AuditRequest(tuple(chosen), runs))
    browser.desk.audit = ""
    background.start(KIND, [task], None if plan is None else plan.digest)


def _given() -> TaskInput:
    """What an audit of mechanisms of Compare reads; raises InputError."""
    browser = session.current()
    return TaskInput.of(browser.table, session.settings(), browser.reference, browser.choices.whole)


def _say_age(run: BackgroundRun, plan: Plan | None) -> None:
    """Say that an audit is of another plan than the one on the desk, or of other choices than those of now."""
    if run.asked is None:
        words = "" if background.is_of_now(run, _given) else background.CHANGED
    else:  # a plan brings settings of its own
        same = plan is not None and run.asked == plan.digest
        words = "" if same else "It is of another plan than the one on the desk."
    if words:
        st.warning(f"{words} Run the audit again.", icon=":material/history:")


def _show(run: BackgroundRun, plan: Plan | None) -> None:
    audit: AuditAnswer | None = watch(KIND, run, "Stopped; finished lines are kept.")
    if audit is None:
        return
    _say_age(run, plan)
    _verdict(audit.rows)
    st.dataframe(_frame(audit.rows), hide_index=True, width="stretch")
    st.caption(MEANING)
    with st.expander("How it was done, and why each verdict", key="audit_panel"):
        for line in [*audit.heading, *audit.notes]:
            st.markdown(plain(line))
        st.markdown(
            "**Lower bound**: ε between the two tables is at least this, with the confidence above. "
            "**Largest seen**: the largest log density ratio at any draw, by the mechanism's own formula; an "
            "estimate, without confidence. "
            "**Detectable**: the largest lower bound that so many runs could have given."
        )
    left, right = st.columns(2, vertical_alignment="center")
    name = "internal" if audit.confidential else "public-table"
    label = (
        "Audit as CSV (internal)" if audit.confidential else "Audit as CSV (of a public or simulated table)"
    )
    left.download_button(
        label, audit.csv, f"audit-{name}.csv", "text/csv", icon=":material/download:", on_click="ignore"
    )
    if plan is not None:
        _include(right, audit, plan)


def _verdict(rows: list[AuditRow]) -> None:
    def named(verdict: str) -> str:
        found = [f"{r['Mechanism']} (weights: {r['Weights from']})" for r in rows if r["Verdict"] == verdict]
        return plain(", ".join(dict.fromkeys(found)))

    count = sum(row["Verdict"] == CONSISTENT for row in rows)
    violated, exceeded = named(VIOLATED), named(EXCEEDED)
    if violated:
        st.error(
            f"The audit refutes a claim: {violated}. The reasons are below the table.",
            icon=":material/gpp_bad:",
        )
    if exceeded:
        st.warning(
            f"A local ε does not hold between these neighbours: {exceeded}. The reasons are below the table.",
            icon=":material/warning:",
        )
    if violated or exceeded:
        return
    if count == len(rows):
        st.info("No claim is refuted.", icon=":material/verified_user:")
    else:
        could = f"only {count} of {len(rows)} lines" if count else "none of them"
        st.info(
            f"No claim is refuted, but {could} could have been: see the verdicts.", icon=":material/info:"
        )


def _frame(rows: list[AuditRow]) -> pd.DataFrame:
    shown = pd.DataFrame(rows)
    shown["Verdict"] = [f"{SIGNS[v]} {v}" for v in shown["Verdict"]]
    for name in (CLAIMED, LOWER, "Largest seen", "Detectable"):
        shown[name] = [cell(name, value) for value in shown[name]]
    return shown


def _include(place: Any, audit: AuditAnswer, plan: Plan) -> None:
    """Offer the audit to the public report, or say why it may not go there."""
    try:
        kept = parse_audit(audit.json.encode(), plan).text()
    except InputError as error:
        place.caption(f"Not for the public report: {said(error)}")
        return
    chosen = session.current().desk.audit == kept  # the box itself is forgotten with its page
    if place.checkbox("Put this audit into the public report", chosen, key="audit_in_report"):
        session.current().desk.audit = kept
    else:
        session.current().desk.audit = ""
