"""Ask for one answer from the background, and show how far it is."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.jobs import Job
from synth_core.tasks import Task
from synth_core.ui import session
from synth_core.ui.server import manager

QUICK_SECONDS = 0.3
POLL_SECONDS = 0.4


def wait_for(place: str, task: Task) -> dict[str, Any] | None:
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
        st.fragment(_progress, run_every=POLL_SECONDS)(owner, place, job)
    elif job.state == "done":
        return job.summary
    else:
        words = "Cancelled." if job.state == "cancelled" else job.error
        left, right = st.columns([8, 1], vertical_alignment="center")
        left.warning(session.plain(words), icon=":material/error:")
        right.button("Run again", key=f"again_{place}", width="stretch", on_click=manager().forget,
                     args=(owner, [job]))  # fmt: skip
    return None


def _progress(owner: str, place: str, job: Job) -> None:
    manager().touch([job])
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([8, 1], vertical_alignment="center")
    text, share = job.progress()
    left.progress(min(max(share, 0.0), 1.0), text=f"{text} …")
    right.button("Cancel", key=f"cancel_{place}", width="stretch", on_click=manager().cancel, args=(owner,))
