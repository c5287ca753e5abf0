"""What the buttons of steps 3 to 5 do: run the gate, release, change a limit; and what they need to know."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from synth_core.data.table import Table
from synth_core.errors import FitError, InputError
from synth_core.jobs.tasks import ReleaseTask
from synth_core.mechanisms.composition import rho_of
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.release.bounded_text import slug, words
from synth_core.release.ledger.balances import Balance, Reservation
from synth_core.release.ledger.by_release import by_release
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import check_room
from synth_core.release.making.drawing import Request
from synth_core.release.making.labels import ordinal, proposed_label
from synth_core.release.making.outcome import ReleaseOutcome
from synth_core.release.output.gate_check import FAIL, GateCheck
from synth_core.release.plan.frozen_map import find_map
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.schema import check_schema
from synth_core.release.state import plans_directory
from synth_core.ui.release import release_job


def confirmation() -> str:
    """The key of the box that confirms a charge: another plan, table or label asks again."""
    now = release_job.state()
    plan = "" if now.plan is None else now.plan.digest[:12]
    table = "" if now.table is None else now.table.fingerprint
    return f"confirmed_{plan}_{table}_{label()}"


def label() -> str:
    """The label on the desk; where there is none yet one is proposed, and stays until another table comes."""
    now = release_job.state()
    if not now.label and now.plan is not None and now.table is not None:
        now.label = _proposed(now.plan, now.table)
    return now.label


def _proposed(plan: Plan, table: Table) -> str:
    """The label to begin with; the first where the table does not fit the plan, or the ledger cannot be read."""
    try:
        with contextlib.closing(Ledger()) as ledger:
            entries = ledger.entries(plan.series)
    except FitError:
        entries = []
    return proposed_label(Request(plan, None, table), entries) if _has_columns(plan, table) else ordinal(1)


def take_label(key: str) -> None:
    """Widget callback: the label is the desk's, in every tab and after the page was left; emptied, it stays."""
    desk = release_job.state()
    desk.label = st.session_state[key] = str(st.session_state.get(key, "")).strip() or desk.label


def request_id(plan: Plan, table: Table) -> str:
    """The id of the release of this plan, table and label."""
    key = f"id_of_{confirmation()}"
    if key not in st.session_state:
        st.session_state[key] = Request(plan, None, table, label=label()).id
    return str(st.session_state[key])


def outcome() -> ReleaseOutcome | None:
    """What the checks or the release found, of the plan, table and label on the desk; of others it says nothing."""
    now = release_job.state()
    if now.outcome is None or now.plan is None or now.table is None or not _has_columns(now.plan, now.table):
        return None
    return now.outcome if now.outcome.id == request_id(now.plan, now.table) else None


def require_idle() -> None:
    """Refuse to change what a job under way is of; raises InputError."""
    if release_job.state().busy:
        raise InputError(
            "A plan or a release is under way, perhaps in another tab. Wait for it, or cancel it."
        )


def override_key(outcome: ReleaseOutcome, check: GateCheck) -> str:
    """The key of the box that overrides a check: a reason is of one draw."""
    return f"override_{outcome.id}_{check.key}"


def charged(plan: Plan, table: Table) -> Reservation | None:
    """What was charged for the label that the page names; None if nothing was, or the ledger cannot be read."""
    if not _has_columns(plan, table):
        return None
    try:
        with contextlib.closing(Ledger()) as ledger:
            known = ledger.reservation(plan.series, request_id(plan, table))
    except FitError:
        return None
    return None if known is None or known.state == "cancelled" else known


def lost(plan: Plan, table: Table) -> str:
    """What a release of this table promises less than the plan says; empty as a rule."""
    if not _has_columns(plan, table):
        return ""
    promised, left = plan.terms.guarantee, _promised(plan, table)
    if left == promised:
        return ""
    return (
        f"{table.name} is the table that the settings were tuned on, or has records of it, whatever the plan calls "
        f"it. A release of it promises {left.label}, not {promised.label}."
    )


def _promised(plan: Plan, table: Table) -> Guarantee:
    """What a release of this table promises; its records are compared once with those of the tuning."""
    key = f"promised_{plan.digest[:12]}_{table.fingerprint}"
    if key not in st.session_state:
        st.session_state[key] = plan.standing(table).guarantee
    promised: Guarantee = st.session_state[key]
    return promised


def refused(plan: Plan, table: Table) -> str:
    """Why the limit of the series would refuse the charge of this table; empty where it would not, or is not known."""
    balance = series_balance(plan.series)
    if balance is None or not _has_columns(plan, table):
        return ""
    if balance.limit is None:  # that of the plan comes with the first release
        balance = replace(balance, limit=plan.limit, count=plan.count or balance.count)
    promised, epsilon = _promised(plan, table), plan.target_epsilon
    try:
        charged = epsilon * promised.charged(plan.datasets)
        check_room(balance, charged, rho_of(promised, epsilon, plan.datasets), promised.label)
    except InputError as error:
        return str(error)
    return ""


def _has_columns(plan: Plan, table: Table) -> bool:
    """Whether a table has the columns of a plan; the checks say what is missing."""
    return {column.name for column in plan.columns} <= set(table.frame.columns)


def may_draw(plan: Plan, table: Table) -> bool:
    """Whether a draw of this label was charged, or its charge is confirmed."""
    return bool(st.session_state.get(confirmation())) or charged(plan, table) is not None


def ask(dry_run: bool) -> None:
    """Button callback: the gate alone, or the release. Both are charged, once together."""
    now = release_job.state()
    plan, table = now.plan, now.table
    if plan is None or table is None:
        raise InputError("Another tab has cleared the desk: make the plan and choose the table again.")
    if not may_draw(plan, table):
        raise InputError("Confirm the charge first.")
    found = outcome()
    overrides = {} if found is None else _overrides(found)
    wanted = not dry_run and st.session_state.get("coverage_asked")
    coverage = int(st.session_state["coverage_databases"]) if wanted else 0
    _start(plan, table, coverage, overrides=overrides, dry_run=dry_run, audit=now.audit)


def draw_more() -> None:
    """Button callback: more data sets of what was released, of its own noisy tables."""
    now = release_job.state()
    if now.plan is None or now.table is None:
        raise InputError("Another tab has cleared the desk: make the plan and choose the table again.")
    posterior = str(st.session_state["more_posterior"])
    _start(now.plan, now.table, more_data_sets=int(st.session_state["more_data_sets"]), posterior=posterior)


def _start(plan: Plan, table: Table, coverage: int = 0, **asked: Any) -> None:
    under = slug(label(), "The label of the release")
    request = Request(plan, find_map(plan, [plans_directory()]), table, label=under, **asked)
    check_schema(plan, request.table)  # the name of the task is of the columns of the plan
    release_job.start(ReleaseTask.of(request, secrets.token_hex(4), coverage), "release")


def _reason(outcome: ReleaseOutcome, check: GateCheck) -> str:
    return str(st.session_state.get(override_key(outcome, check), "")).strip()


def _overrides(outcome: ReleaseOutcome) -> dict[str, str]:
    """The reasons to override failed checks, by their keys; raises InputError for one that is none."""
    return {
        check.key: words(reason, f"The reason for overriding '{check.title}'")
        for check in outcome.checks
        if check.status == FAIL and check.overridable and (reason := _reason(outcome, check))
    }


def release_obstacles(outcome: ReleaseOutcome) -> list[GateCheck]:
    """Failed checks without a reason to override them."""
    return [c for c in outcome.checks if c.status == FAIL and not (c.overridable and _reason(outcome, c))]


def archives(outcome: ReleaseOutcome) -> list[tuple[str, bytes]]:
    """Name and bytes of what was written, the releasable one first."""
    return [(name, Path(path).read_bytes()) for name, path in outcome.archives.items()]


def series_balance(series: str) -> Balance | None:
    """What a series has spent and its limit; None where the ledger cannot be read."""
    try:
        ledger = Ledger()
        try:
            return ledger.balance(series)
        finally:
            ledger.close()
    except FitError:
        return None


def balance_on_desk() -> Balance | None:
    """That of the series of the plan on the desk; None without a plan."""
    plan = release_job.state().plan
    return None if plan is None else series_balance(plan.series)


def ledger_view(series: str) -> tuple[Balance, list[dict[str, Any]], list[dict[str, str]]]:
    """Balance and entries of one series, and the accuracy of its releases."""
    ledger = Ledger()
    try:
        entries = ledger.entries(series)
        rows = [
            {
                "No": e.number,
                "Time": e.time,
                "What": e.kind,
                "ε": e.epsilon,
                "Guarantee": e.details.get("guarantee", ""),
                "m": e.details.get("m"),
                "Release": e.release,
                "Reason": str(e.details.get("reason") or e.details.get("because") or ""),
                "Hash": e.hash[:12],
            }
            for e in entries
        ]
        return ledger.balance(series), rows, by_release(entries)
    finally:
        ledger.close()


def change_limit(series: str) -> None:
    """Button callback: set the limit of a series, with a reason."""
    reason = words(st.session_state["new_limit_reason"], "The reason")
    who = words(st.session_state["new_limit_who"], "The name of who decided")
    ledger = Ledger()
    try:
        ledger.set_limit(series, st.session_state["new_limit"], reason, who)
    finally:
        ledger.close()
