"""The release desk: from the choices to a plan, a gated table, two archives. What the page's sections call."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from synth_core.data.examples import EXAMPLES, load_example, other_half
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.jobs.tasks import Job, Task, plan_task, release_task
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.bounded_text import slug, words
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import ReleaseOutcome
from synth_core.release.output.gate import FAIL, GateCheck
from synth_core.release.plan.frozen_map import SUFFIX, find_map, load_map, store_map
from synth_core.release.plan.plan import Plan, parse_plan
from synth_core.release.plan.planning import Decision
from synth_core.release.state import plans_directory
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.waiting import progress_row
from synth_core.ui.state import session
from synth_core.ui.state.browser import Desk

POLL_SECONDS = 0.5
ICONS = {
    "passed": ":material/check_circle:",
    "warning": ":material/warning:",
    "failed": ":material/cancel:",
    "overridden": ":material/edit_note:",
}


def state() -> Desk:
    """What this browser has on its desk."""
    return session.current().desk


def _owner() -> str:
    return f"{session.owner()}:release"


# -- tasks ---------------------------------------------------------------------------------------


def start(task: Task, what: Literal["plan", "release"]) -> None:
    """Put a task under way; its answer is taken by `poll`."""
    desk = state()
    desk.task, desk.what, desk.error = task, what, ""
    manager().forget(_owner(), [])  # what was cancelled before may run when it is asked for again


def _job() -> Job | None:
    task = state().task
    return None if task is None else manager().submit(_owner(), [task])[0]


def poll() -> bool:
    """Show what is under way, and take its answer; True while it runs."""
    job = _job()
    if job is None:
        return False
    job.finished.wait(0.2)
    if not job.finished.is_set():
        st.fragment(_progress, run_every=POLL_SECONDS)(job)
        return True
    desk = state()
    if desk.task is None:  # another tab has taken the answer
        return False
    desk.task = None
    if job.state == "done":
        _take(desk, job.summary or {})
    elif job.state == "failed":
        desk.error = job.error
        manager().forget(_owner(), [job])
    return False


def _progress(job: Job) -> None:
    progress_row(job, "Cancel", "cancel_release", _cancel)


def _cancel() -> None:
    manager().cancel(_owner())
    state().task = None


def _take(desk: Desk, answer: dict[str, Any]) -> None:
    if desk.what == "plan":
        plan, problems = parse_plan(answer["plan"].encode()), tuple(answer["problems"])
        session.current().desk = Desk(plan, problems)
    else:
        desk.outcome = ReleaseOutcome(**answer)


# -- plan ----------------------------------------------------------------------------------------


def kinds() -> list[str]:
    """What the table in use may be called as a tuning table; a confidential one is never public."""
    table = session.current().table
    if table.confidential:
        return ["historical", "confidential"]
    example = EXAMPLES.get(table.name.removeprefix("example:").partition(",")[0])
    first = "simulated" if example is not None and example.simulate else "public"
    return [first, "simulated" if first == "public" else "public", "historical", "confidential"]


def make_plan() -> None:
    """Button callback: start planning with what the form says now (a text may have come with the click)."""
    form, browser = current_form(), session.current()
    bounded = browser.choices.bounds is not None
    decision = Decision(
        series=slug(form["series"], "The name of the series"),
        reason=words(form["reason"], "The reason"),
        decided_by=words(form["who"], "The name of who decided"),
        tuned_on=form["tuned_on"],
        limit=form["limit"],
        limit_delta=form.get("delta") if form["count"] == "zcdp" else None,
        target_epsilon=None if strict(form["mechanism"]) else form["target"],
        shuffle=form["shuffle"],
        decimals=form["decimals"],
        clamp=form["clamp"] and bounded,
    )
    task = plan_task(browser.table, session.settings(), form["mechanism"], decision, browser.reference)
    start(task, "plan")


def current_form() -> dict[str, Any]:
    """The values of the form's widgets, by name."""
    return {
        str(k).removeprefix("plan_"): v for k, v in st.session_state.items() if str(k).startswith("plan_")
    }


def strict(mechanism: str) -> bool:
    """Whether a mechanism keeps its own epsilon by construction."""
    return find_mechanism(mechanism).keeps_epsilon


def open_plan(plan_file: Any, map_file: Any) -> None:
    """Button callback: take a plan from its file, and its risk map if it was given."""
    plan = parse_plan(plan_file.getvalue())
    if plan.frozen is not None:
        if map_file is not None:
            content = map_file.getvalue()
            load_map(plan, content)  # the right one, and sound
            store_map(content, plans_directory())
        find_map(plan, [plans_directory()])
    session.current().desk = Desk(plan)


def plan_files(plan: Plan) -> list[tuple[str, str, bytes]]:
    """Label, file name and bytes of what belongs to a plan."""
    files = [("Plan (JSON, internal)", f"{plan.series}-plan.json", (plan.canonical() + "\n").encode())]
    content = find_map(plan, [plans_directory()])
    if content is not None and plan.frozen is not None:
        files.append(("Its risk map (internal)", f"{plan.frozen.sha256}{SUFFIX}", content))
    return files


def forget_plan() -> None:
    """Button callback: clear the desk."""
    session.current().desk = Desk()


# -- table ---------------------------------------------------------------------------------------


def half() -> Table | None:
    """The other half of the example in use."""
    return other_half(session.current().table)


def simulates() -> str | None:
    """The key of the simulated example in use, of which another period can be drawn."""
    name = session.current().table.name.removeprefix("example:")
    example = EXAMPLES.get(name)
    return name if example is not None and example.simulate else None


def put_table(table: Table) -> None:
    """Put the table to be released on the desk."""
    desk = state()
    desk.table, desk.outcome = table, None


def take_table(kind: str, seed: int = 1) -> None:
    """Button callback: a table that is there already goes on the desk."""
    if kind == "half":
        table = half()
    elif kind == "simulated":
        table = load_example(simulates() or "", session.current().table.rows, seed)
    else:
        table = session.current().table
    if table is None:
        raise InputError("The table in use is no half of an example any more.")
    put_table(table)


# -- release -------------------------------------------------------------------------------------


def ask(dry_run: bool) -> None:
    """Button callback: the gate alone, or the release."""
    desk = state()
    plan, table = desk.plan, desk.table
    if plan is None or table is None:
        raise InputError("Another tab has cleared the desk: make the plan and choose the table again.")
    overrides = {}
    for check in () if desk.outcome is None else desk.outcome.checks:
        reason = st.session_state.get(f"override_{check.key}", "").strip()
        if check.status == FAIL and check.overridable and reason:
            overrides[check.key] = words(reason, f"The reason for overriding '{check.title}'")
    request = Request(
        plan,
        find_map(plan, [plans_directory()]),
        table,
        label=slug(st.session_state["release_label"], "The label of the release"),
        overrides=overrides,
        dry_run=dry_run,
        audit=desk.audit,
    )
    start(release_task(request, secrets.token_hex(4)), "release")


def stand_in_the_way(checks: tuple[GateCheck, ...]) -> list[GateCheck]:
    """Failed checks without a reason to override them."""
    return [
        c
        for c in checks
        if c.status == FAIL and not (c.overridable and st.session_state.get(f"override_{c.key}", "").strip())
    ]


def archives(outcome: ReleaseOutcome) -> list[tuple[str, bytes]]:
    """Name and bytes of what was written, the releasable one first."""
    return [(name, Path(path).read_bytes()) for name, path in outcome.archives.items()]


def ledger_view(series: str) -> tuple[Any, list[dict[str, Any]]]:
    """Balance and entries of one series."""
    ledger = Ledger()
    try:
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
            for e in ledger.entries(series)
        ]
        return ledger.balance(series), rows
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
