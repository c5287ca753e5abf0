"""Ask for mechanisms, wait briefly, show what is there, poll for the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.analysis.explained import explained
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.figures.compare import results
from synth_core.jobs.tasks import Job
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.board import board
from synth_core.ui.shared.finished_runs import record_runs
from synth_core.ui.state import session

QUICK_SECONDS = 0.35  # a refit that lands within this is shown by the same rerun
POLL_SECONDS = 0.4
WATCHES, WATCH_SECONDS = 2, 0.12  # within a poll

Summary = dict[str, Any]
MakeFigures = Callable[[list[Summary], dict[str, str], Settings], list[dict[str, Any]]]


def _running(jobs: list[Job]) -> None:
    """Poll while jobs run; end the polling with one full rerun."""
    manager().touch(jobs)
    open_jobs = [job for job in jobs if not job.finished.is_set()]
    previews = sorted(job.key for job in open_jobs if job.preview() is not None)
    if not open_jobs or previews != st.session_state.get("previews", []):
        st.session_state["previews"] = previews
        st.rerun()
    left, right = st.columns([8, 1], vertical_alignment="center")
    text, share = min((job.progress() for job in open_jobs), key=lambda pair: pair[1])
    done = f"{len(jobs) - len(open_jobs)} of {len(jobs)} done; " if len(jobs) > 2 else ""
    below = "an approximate preview" if len(previews) == len(open_jobs) else "the last finished picture"
    words = f"Refitting: {done}{text}. Below is {below}."
    bar = left.progress(min(max(share, 0.0), 1.0), text=words)
    if right.button("Cancel", key="cancel_jobs", width="stretch"):
        manager().cancel(session.owner())
        st.rerun()
    for _ in range(WATCHES):  # the end is seen when it comes, not at the next poll
        if all(job.finished.wait(WATCH_SECONDS / len(open_jobs)) for job in open_jobs):
            st.rerun()
        bar.progress(min(max(share, 0.0), 1.0), text=words)  # lets a click or a slider interrupt


def _caption(summaries: list[Summary]) -> str:
    browser, s = session.current(), summaries[0]
    kind = "CONFIDENTIAL" if browser.table.confidential else "public or simulated data"
    dropped = f", {s['rows_dropped']:,} incomplete rows left out" if s["rows_dropped"] else ""
    return (
        f"**{session.plain(browser.table.name)}** ({kind}) · sensitive variable "
        f"**{session.plain(browser.choices.settings.outcome)}** · {s['n_records']:,} records{dropped} · "
        f"ε for one record's value withheld, on the {s['density_scale']}"
    )


def _guarantees(summaries: list[Summary], settings: Settings) -> dict[str, dict[str, Any]]:
    found = {}
    for s in summaries:
        guarantee, lines = explained(s, settings)
        if s["tuned"]:
            lines.append(
                "Solved for: " + ", ".join(f"{k.replace('_', ' ')} {v:.4g}" for k, v in s["tuned"].items())
            )
        found[s["mechanism"]] = {"label": guarantee.label, "strength": guarantee.strength, "lines": lines}
    return found


@dataclass(frozen=True)
class Shown:
    """The picture on screen: its summaries, the settings they were made with, a click on it.

    `current` is False while it is older than the choices.
    """

    summaries: list[Summary]
    settings: Settings | None = None
    clicked: int | None = None
    current: bool = False


def show(page: str, mechanisms: Sequence[str], make_figures: MakeFigures, detail: str = "") -> Shown:
    """Run mechanisms under the browser's settings and show them as they are.

    Parameters
    ----------
    detail : str
        Whatever else the figures depend on.
    """
    browser = session.current()
    try:
        settings = session.settings()
    except InputError as error:
        manager().drop(session.owner())
        st.error(session.plain(str(error)), icon=":material/error:")
        st.page_link("pages/data.py", label="Go to the Data page", icon=":material/table:")
        return Shown([])
    jobs = manager().request(session.owner(), browser.table, settings, list(mechanisms), browser.reference)
    deadline = time.monotonic() + QUICK_SECONDS
    for job in jobs:
        job.finished.wait(max(0.0, deadline - time.monotonic()))
    pending = any(not job.finished.is_set() for job in jobs)
    failed = [job for job in jobs if job.state == "failed"]
    cancelled = [job for job in jobs if job.state == "cancelled"]
    done = [job for job in jobs if job.state == "done"]

    status = st.container(height=64, border=False)
    approximate = {} if not pending else {job.key: found for job in jobs if (found := job.preview())}
    if done and not pending and not cancelled:  # a mechanism that failed does not hide the others
        version = "".join(job.key[:6] for job in done)
        record_runs(browser, settings, done)
        st.session_state[f"shown_{page}"] = (version, [job.summary for job in done], settings)
    shown = st.session_state.get(f"shown_{page}")
    with status:
        if pending:
            st.fragment(_running, run_every=POLL_SECONDS)(jobs)
        elif cancelled:
            left, right = st.columns([8, 1], vertical_alignment="center")
            left.info("Cancelled. Below is the last finished picture, if any.", icon=":material/cancel:")
            right.button(
                "Run again", width="stretch", on_click=manager().forget, args=(session.owner(), jobs)
            )
        elif failed:
            name = find_mechanism(failed[0].spec["mechanism"]).label
            prefix = f"{name}: " if len(jobs) > 1 and len(failed) < len(jobs) else ""
            left, right = st.columns([8, 1], vertical_alignment="center")
            left.error(session.plain(prefix + failed[0].error), icon=":material/error:")
            right.button(
                "Run again", width="stretch", on_click=manager().forget, args=(session.owner(), jobs)
            )
        elif shown:
            st.markdown(_caption(shown[1]))
    if approximate and not failed and all(job.state == "done" or job.key in approximate for job in jobs):
        # Looked at and never kept: neither stored as the last picture nor offered for download.
        summaries = [job.summary or approximate[job.key] for job in jobs]
        _draw(
            page, "preview" + "".join(job.key[:6] for job in jobs), summaries, settings, False, make_figures
        )
        return Shown([])
    if not shown:
        return Shown([])
    version, summaries, used = shown
    stale = pending or bool(cancelled) or len(failed) == len(jobs)
    clicked = _draw(page, version + detail, summaries, used, stale, make_figures)
    return Shown(summaries, used, clicked, current=not stale and used == settings)


def _draw(
    page: str,
    version: str,
    summaries: list[Summary],
    used: Settings,
    stale: bool,
    make_figures: MakeFigures,
) -> Any:
    """Results table and figures; returns what was clicked."""
    labels = {
        s["mechanism"]: find_mechanism(s["mechanism"]).label
        + (" ≈ preview" if s["preview_khat"] is not None else "")
        for s in summaries
    }
    figures = make_figures(summaries, labels, used)
    rows = results(summaries, labels, _guarantees(summaries, used))
    clicked = board(rows, figures, f"{page}{version}", stale)
    return clicked if isinstance(clicked, int) else None
