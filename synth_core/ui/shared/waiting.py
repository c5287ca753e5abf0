"""Ask for one answer from the background, and show how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from synth_core.jobs.job import Job
from synth_core.jobs.task import Task
from synth_core.system.number_text import number_of
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.polling import poll
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun

A = TypeVar("A")

QUICK_SECONDS = 0.3
POLL_SECONDS = 0.4


def wait_for(place: str, task: Task[A]) -> A | None:
    """The answer, or None while it is computed, cancelled or failed, which is shown.

    Parameters
    ----------
    place : str
        Whose request this is: another one at the same place replaces it.
    """
    owner = f"{session.owner()}:{place}"
    job = manager().submit(owner, [task])[0]
    job.finished.wait(QUICK_SECONDS)
    if not job.finished.is_set():
        poll(_progress, POLL_SECONDS, owner, place, job)
    elif job.state == "done":
        answer: A = job.answer
        return answer
    else:
        words = "Cancelled." if job.state == "cancelled" else job.error
        ended_row(words, "Run again", f"again_{place}", manager().forget, (owner, [job]))
    return None


def watch(kind: str, run: BackgroundRun, stopped: str) -> Any:
    """The answer of a background run of one task, or None while it runs, is stopped or failed, which is shown.

    Parameters
    ----------
    stopped : str
        What to say when the user has stopped it.
    """
    job = run.jobs[0]
    if run.running:
        poll(_status, POLL_SECONDS, kind, run)
    elif job.state == "done":
        return job.answer
    else:
        words = stopped if job.state == "cancelled" else job.error
        ended_row(words, "Continue", f"continue_{kind}", background.resume, (kind,))
    return None


def progress_row(
    job: Job, button: str, key: str, on_click: Callable[..., None], args: tuple[Any, ...] = ()
) -> None:
    """Show in a fragment how far a job is, and how to stop it; a full rerun follows once it has ended."""
    manager().touch([job])
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([8, 1], vertical_alignment="center")
    text, share = job.progress()
    if job.state == "queued" and (ahead := manager().ahead_of(job)):
        text += f": {number_of(ahead, 'other run')} first (yours can be cancelled on their pages)"
    left.progress(min(max(share, 0.0), 1.0), text=f"{text} …")
    right.button(button, key=key, width="stretch", on_click=on_click, args=args)


def ended_row(
    words: str, button: str, key: str, on_click: Callable[..., None], args: tuple[Any, ...]
) -> None:
    """Why there is no answer, and how to ask again."""
    left, right = st.columns([8, 1], vertical_alignment="center")
    left.warning(session.said(words), icon=":material/error:")
    right.button(button, key=key, width="stretch", on_click=on_click, args=args)


def _progress(owner: str, place: str, job: Job) -> None:
    progress_row(job, "Cancel", f"cancel_{place}", manager().cancel, (owner,))


def _status(kind: str, run: BackgroundRun) -> None:
    progress_row(run.jobs[0], "Stop", f"stop_{kind}", background.stop, (kind,))
