"""Ask for mechanisms, wait briefly, show what is there, poll for the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from synth_core.analysis.differences import difference
from synth_core.analysis.measures import WORST
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.errors import InputError
from synth_core.figures.parts import Other
from synth_core.jobs.job import Job
from synth_core.jobs.task import Task
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.board import Stage, board
from synth_core.ui.shared.expected import compiling_seconds, expected_end, expected_runs, seconds_left
from synth_core.ui.shared.finished_runs import record_runs
from synth_core.ui.shared.picture import Last, Picture, assemble, brings_news, last_picture
from synth_core.ui.shared.polling import poll
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

QUICK_SECONDS = 0.35  # a refit that lands within this is shown by the same rerun
POLL_SECONDS = 0.4
BATCH = "refits_batch"  # those that were asked for together, and when
WATCHES, WATCH_SECONDS = 2, 0.12  # within a poll

# Of summaries, their labels, the settings; and of what is beside, where something is asked for beside.
MakeFigures = Callable[..., list[dict[str, Any]]]


def _running(jobs: list[Job], end: float) -> None:
    """Poll while jobs run, until about `end`; end the polling with one full rerun."""
    manager().touch(jobs)
    open_jobs = [job for job in jobs if not job.finished.is_set()]
    news = [f"{job.key}{job.state}{job.preview() is not None}" for job in jobs]
    if not open_jobs or news != st.session_state.setdefault("news", news):
        st.session_state["news"] = news
        st.rerun()
    left, right = st.columns([8, 1], vertical_alignment="center")
    text, share = min((job.progress() for job in open_jobs), key=lambda pair: pair[1])
    done = f"{len(jobs) - len(open_jobs)} of {len(jobs)} done; " if len(jobs) > 2 else ""
    seen = any(str(key).startswith("shown_") for key in st.session_state)
    time_left = seconds_left(end)
    words = f"Refitting: {done}{text}."
    words += f" {time_left.capitalize()}." if time_left else ""
    words += " What is pale below is older." if seen else ""
    bar = left.progress(min(max(share, 0.0), 1.0), text=words)
    if right.button("Cancel", key="cancel_jobs", width="stretch"):
        manager().cancel(session.owner())
        st.rerun()
    for _ in range(WATCHES):  # the end is seen when it comes, not at the next poll
        if all(job.finished.wait(WATCH_SECONDS / len(open_jobs)) for job in open_jobs):
            st.rerun()
        bar.progress(min(max(share, 0.0), 1.0), text=words)  # lets a click or a slider interrupt


@dataclass(frozen=True)
class Shown:
    """The picture on screen: its summaries, the settings they were made with, a click on it.

    `current` is False while it is older than the choices; `missing` says why a mechanism has no numbers.
    """

    summaries: list[ResultSummary]
    settings: Settings | None = None
    clicked: int | None = None
    current: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    beside: ComparedChoice | None = None


@dataclass(frozen=True)
class ComparedChoice:
    """Another choice to be shown faintly beside the present one.

    Attributes
    ----------
    name, now : str
        Of that choice, and of the present one.
    summaries : dict
        By mechanism its summary, as far as it is there.
    subject : Subject
        The variables that it is of.
    """

    name: str
    now: str
    settings: Settings
    mechanisms: tuple[str, ...]
    subject: Subject
    summaries: dict[str, ResultSummary] = field(default_factory=dict)

    def tasks(self, browser: Browser) -> list[Task[Any]]:
        return [self.subject.task(browser, self.settings, name) for name in self.mechanisms]


def show(
    page: str,
    mechanisms: Sequence[str],
    make_figures: MakeFigures,
    detail: str = "",
    beside: ComparedChoice | None = None,
    stage: Stage | None = None,
    subject: Subject | None = None,
) -> Shown:
    """Run mechanisms under the browser's settings and show them as they finish.

    Parameters
    ----------
    subject : Subject, optional
        Else the sensitive variable of the settings.
    detail : str
        Whatever else the figures depend on.
    beside : ComparedChoice, optional
        Run too, and handed to `make_figures` as its fourth argument.
    stage : Stage, optional
        With it, the picture can be presented.
    """
    browser, subject = session.current(), subject or Subject()
    page += subject.kind
    try:
        settings = session.settings()
        tasks = [subject.task(browser, settings, name) for name in mechanisms]
        others = [] if beside is None else beside.tasks(browser)
    except InputError as error:
        manager().drop(session.owner())
        st.error(session.said(error), icon=":material/error:")
        st.page_link("pages/data.py", label="Go to the Data page", icon=":material/table:")
        return Shown([])
    jobs, beside_jobs = _request(tasks, others)
    pending = any(not job.finished.is_set() for job in [*jobs, *beside_jobs])
    last: Last | None = st.session_state.get(f"shown_{page}")
    picture = assemble(jobs, last, browser.table.fingerprint)
    finished = {job.task.mechanism: (job.key, job.answer) for job in jobs if job.answer is not None}
    if picture.complete and finished:  # a mechanism that failed does not hide the others
        done = [job for job in jobs if job.state == "done"]
        record_runs(browser, subject.settings(settings), done, subject.blocks)
        last = Last(finished, settings, browser.table.fingerprint)
        st.session_state[f"shown_{page}"] = last
    # As high as a bar of progress, so that nothing jumps; why something failed may take more lines.
    failed = any(job.state == "failed" for job in jobs) and not pending
    with st.container(height="content" if failed else 54, border=False, key="fits_status"):
        _status(jobs, beside_jobs, picture, subject, settings, "" if beside is None else beside.name)
    missing = picture.missing
    if last is not None and not (picture.complete and finished) and not brings_news(jobs, last):
        picture, settings = last_picture(last), last.settings
    elif (
        not picture.summaries
        and all(job.state == "failed" for job in jobs)
        and len(set(missing.values())) == 1
    ):
        if last is None:
            return Shown([], missing=missing)  # what is above says it once
        picture, settings = last_picture(last), last.settings
    if beside is not None:
        compared = {job.task.mechanism: job.answer for job in beside_jobs if job.answer is not None}
        beside = replace(beside, summaries=compared)
    current = picture.complete and not pending
    seen = _Seen(page + detail, subject, picture, settings, not current)
    clicked = _draw(seen, mechanisms, make_figures, beside, stage)
    if any(s.approximate for s in picture.summaries):
        return Shown([])  # looked at and never kept: neither as the last picture nor for download
    if last is None:
        return Shown([], missing=missing)
    return Shown(last.summaries, last.settings, clicked, current, missing, beside)


def _request(tasks: list[Task[Any]], others: list[Task[Any]]) -> tuple[list[Job], list[Job]]:
    """The jobs of the choices and of what is beside them, after a short wait for both."""
    jobs = manager().submit(session.owner(), [*tasks, *others])
    deadline = time.monotonic() + QUICK_SECONDS
    for job in jobs:
        job.finished.wait(max(0.0, deadline - time.monotonic()))
    return jobs[: len(tasks)], jobs[len(tasks) :]


def _status(
    jobs: list[Job], others: list[Job], picture: Picture, subject: Subject, settings: Settings, beside: str
) -> None:
    """Above the picture: how far it is, why a part is missing, or what it is of.

    Parameters
    ----------
    beside : str
        The name of the choices that the `others` are of, which have no rows that could say why.
    """
    everything = list({job.key: job for job in [*jobs, *others]}.values())
    failed = {job.key: job for job in everything if job.state == "failed"}
    again = (session.owner(), everything)
    waiting = [job.key for job in everything if not job.finished.is_set()]
    if not waiting:
        st.session_state.pop(BATCH, None)
    if waiting:
        poll(_running, POLL_SECONDS, everything, _end(jobs, others, waiting, subject, settings))
    elif any(job.state == "cancelled" for job in everything):
        left, right = st.columns([8, 1], vertical_alignment="center")
        left.info("Cancelled. What is pale below is older.", icon=":material/cancel:")
        right.button("Run again", width="stretch", on_click=manager().forget, args=again)
    elif failed:
        own = {job.key for job in jobs}
        words = _why_failed(jobs, [job for key, job in failed.items() if key not in own], beside)
        left, right = st.columns([8, 1], vertical_alignment="center")
        if picture.summaries:  # others are there: what they show is news, and this is not
            caption = subject.caption(picture.summaries[0])
            left.markdown(f"{caption}{'' if caption.endswith('.') else ' ·'} {session.said(words)}")
        else:
            left.error(session.said(words), icon=":material/error:")
        right.button("Run again", width="stretch", on_click=manager().forget, args=again)
    elif picture.summaries:
        st.markdown(subject.caption(picture.summaries[0]))


def _end(
    jobs: list[Job], others: list[Job], waiting: list[str], subject: Subject, settings: Settings
) -> float:
    """When all of them are done, about, as `expected_end` tells it; `waiting` are the keys of those that are not."""
    seconds = {job.key: job.task.expected_seconds for job in others}
    expected = expected_runs(subject, settings, [job.task.mechanism for job in jobs])
    if expected.told:
        seconds |= {job.key: expected.seconds[job.task.mechanism] for job in jobs}
    sampled = any(find_mechanism(job.task.mechanism).likelihood.samples for job in [*jobs, *others])
    models = [block.model for block in subject.blocks] or [settings.model]
    before = compiling_seconds(models) if sampled else 0.0
    return expected_end(BATCH, seconds, waiting, manager().n_lanes, before)


def _why_failed(jobs: list[Job], others: list[Job], beside: str) -> str:
    """Which mechanisms have no result, and why where no row says it; the `others`, of what is beside, have failed."""
    own = [job for job in jobs if job.state == "failed"]
    reasons, parts = {job.error for job in own}, list[str]()
    if own and len(own) == len(jobs) and len(reasons) == 1:
        parts += reasons
    elif own:
        rows = "Its row" if len(own) == 1 else "Each row"
        parts.append(f"No result: {_labels(own)}. {rows} below says why.")
    for reason in dict.fromkeys(job.error for job in others):
        parts.append(
            f"No result under {beside}: {_labels(job for job in others if job.error == reason)}. {reason}"
        )
    return " ".join(parts)


def _labels(jobs: Iterable[Job]) -> str:
    return ", ".join(dict.fromkeys(find_mechanism(job.task.mechanism).label for job in jobs))


@dataclass(frozen=True)
class _Seen:
    """A picture with what it is of: `kind` is the page and what else its figures depend on."""

    kind: str
    subject: Subject
    picture: Picture
    settings: Settings
    stale: bool


def _draw(
    seen: _Seen,
    mechanisms: Sequence[str],
    make_figures: MakeFigures,
    beside: ComparedChoice | None,
    stage: Stage | None,
) -> Any:
    """Results table and figures; returns what was clicked."""
    picture, used = seen.picture, seen.settings
    summaries = picture.summaries
    labels = {name: find_mechanism(name).label for name in picture.missing} | {
        s.mechanism: find_mechanism(s.mechanism).label + (" ≈ preview" if s.approximate else "")
        for s in summaries
    }
    more = () if beside is None else (Other(beside.name, beside.now, beside.summaries),)
    figures = make_figures(summaries, labels, used, *more) if summaries else []
    rows = seen.subject.rows(summaries, labels, used, picture.missing)
    if beside is not None:
        _add_differences(rows, summaries, beside)
    version = f"{seen.kind}{picture.version}{session.choices().policy!r}"
    if beside is not None:
        named = "".join(
            f"{s.mechanism}{s.numbers.epsilon}{s.numbers.ecdf_max}" for s in beside.summaries.values()
        )
        version += f"|{beside.name}|{beside.now}|{beside.settings!r}{named}"
    order = {s.mechanism: i for i, s in enumerate(summaries)} | {name: i for i, name in enumerate(mechanisms)}
    rows.sort(key=lambda row: order[row["mechanism"]])  # a row stays in its place when its numbers come
    clicked = board(
        rows,
        figures,
        content_key(board=version),
        seen.stale,
        dim=picture.dim,
        stage=stage,
        words=seen.subject.columns,
    )
    return clicked if isinstance(clicked, int) else None


def _add_differences(
    rows: list[dict[str, Any]], summaries: list[ResultSummary], beside: ComparedChoice
) -> None:
    """What became of each mechanism that both choices have."""
    policy, now = session.choices().policy, {s.mechanism: s for s in summaries}
    for row in rows:
        name = row["mechanism"]
        if name in now and name in beside.summaries and not row["old"]:
            words = difference(
                beside.summaries[name].numbers,
                now[name].numbers,
                WORST if policy.percent is None else policy.measure,
            )
            row["difference"] = f"{beside.name} → {beside.now}: {words}." if words else ""
