"""What lies on the release desk, and the plan or release that is under way; the page's sections call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from synth_core.jobs.job import Job
from synth_core.jobs.task import Task
from synth_core.jobs.tasks import PlanMade
from synth_core.release.making.outcome import MORE, ReleaseOutcome
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.polling import poll
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


def start(task: Task[Any], what: Literal["plan", "release"]) -> None:
    """Put a task under way; its answer is taken by `show_progress`."""
    desk = state()
    desk.task, desk.what, desk.error, desk.cancelled = task, what, "", False
    manager().forget(_owner(), [])  # what was cancelled before may run when it is asked for again


def _job() -> Job | None:
    task = state().task
    return None if task is None else manager().submit(_owner(), [task])[0]


def show_progress(charged: Callable[[], object]) -> bool:
    """Show what is under way, and take its answer; True while it runs.

    Parameters
    ----------
    charged : callable
        What was charged so far: the page is drawn again when that changes, since it says so in several places.
    """
    if _ending():
        return True
    job = _job()
    if job is None:
        return False
    job.finished.wait(0.2)
    if not job.finished.is_set():
        poll(_progress, POLL_SECONDS, job, charged, charged())
        return True
    desk = state()
    if desk.task is None:  # another tab has taken the answer
        return False
    desk.task = None
    if job.state == "done":
        (_take_plan if desk.what == "plan" else _take_release)(desk, job.answer)
    elif job.state == "failed":
        desk.error = job.error
        manager().forget(_owner(), [job])
    else:  # by none of this browser's buttons
        desk.cancelled = True
    return False


def _progress(job: Job, charged: Callable[[], object], before: object) -> None:
    if charged() != before:
        st.rerun()
    progress_row(job, "Cancel", "cancel_release", _cancel, (job,))


def _cancel(job: Job) -> None:
    manager().cancel(_owner())
    desk = state()
    desk.cancelled, desk.task = desk.task is not None, None
    desk.ending = job if job.state == "cancelled" else None  # what another session waits for goes on


def _ending() -> bool:
    """Show that what was cancelled is being undone; True while it is: until then the ledger may still change."""
    desk = state()
    if desk.ending is None or desk.ending.let_go:
        desk.ending = None
        return False
    poll(_undoing, POLL_SECONDS, desk.ending)
    return True


def _undoing(job: Job) -> None:
    if job.let_go:
        st.rerun()
    st.info("Cancelling: what was begun is undone …", icon=":material/cancel:")


def cancelled_words() -> str:
    """That a plan or a release was cancelled, and what became of it; empty where none was, and before that is known."""
    desk = state()
    if not desk.cancelled or desk.ending is not None:
        return ""
    return (
        "Cancelled: no plan was made."
        if desk.what == "plan"
        else "Cancelled. What was charged or released until then stands in the ledger below."
    )


def _take_plan(_: Desk, made: PlanMade) -> None:
    session.current().desk = Desk(made.plan, made.problems, made.warnings)


def _take_release(desk: Desk, outcome: ReleaseOutcome) -> None:
    before, desk.outcome = desk.outcome, outcome
    if outcome.state == MORE and before is not None and before.id == outcome.id:
        desk.outcome = replace(before, state=MORE, archives=before.archives | outcome.archives)
