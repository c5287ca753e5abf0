"""Ask for mechanisms, wait briefly, show what is there, poll for the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from synth_core.analysis.differences import difference
from synth_core.analysis.explained import above_target, explained, sentence
from synth_core.analysis.measures import WORST
from synth_core.analysis.policy import judge
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.figures.compare import results
from synth_core.figures.parts import Other
from synth_core.jobs.tasks import Job, mechanism_task
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.board import board
from synth_core.ui.shared.finished_runs import record_runs
from synth_core.ui.shared.picture import Last, Picture, assemble, brings_news, last_picture
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

QUICK_SECONDS = 0.35  # a refit that lands within this is shown by the same rerun
POLL_SECONDS = 0.4
WATCHES, WATCH_SECONDS = 2, 0.12  # within a poll

Summary = dict[str, Any]
# Of summaries, their labels, the settings; and of what is beside, where something is asked for beside.
MakeFigures = Callable[..., list[dict[str, Any]]]


def _running(jobs: list[Job]) -> None:
    """Poll while jobs run; end the polling with one full rerun."""
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
    words = f"Refitting: {done}{text}.{' What is faint below is older.' if seen else ''}"
    bar = left.progress(min(max(share, 0.0), 1.0), text=words)
    if right.button("Cancel", key="cancel_jobs", width="stretch"):
        manager().cancel(session.owner())
        st.rerun()
    for _ in range(WATCHES):  # the end is seen when it comes, not at the next poll
        if all(job.finished.wait(WATCH_SECONDS / len(open_jobs)) for job in open_jobs):
            st.rerun()
        bar.progress(min(max(share, 0.0), 1.0), text=words)  # lets a click or a slider interrupt


def _caption(summaries: list[Summary]) -> str:
    s = summaries[0]
    dropped = f", {s['rows_dropped']:,} incomplete rows left out" if s["rows_dropped"] else ""
    return f"{s['n_records']:,} records{dropped} · ε for one record's value withheld, on the {s['density_scale']}"


def _promises(summaries: list[Summary], settings: Settings) -> dict[str, dict[str, Any]]:
    """By mechanism, what stands beside its numbers: badge and explanation, the sentence, and what the rule says."""
    policy, found = session.choices().policy, {}
    for s in summaries:
        guarantee, lines = explained(s, settings)
        if s["tuned"]:
            lines.append(
                "Solved for: " + ", ".join(f"{k.replace('_', ' ')} {v:.4g}" for k, v in s["tuned"].items())
            )
        found[s["mechanism"]] = {
            "label": guarantee.label,
            "strength": guarantee.strength,
            "lines": lines,
            "sentence": sentence(s, settings, WORST if policy.percent is None else policy.measure),
            "hints": list(filter(None, [above_target(s, settings)])),
            "verdict": judge(policy, s, guarantee) if policy.states and not s.get("old") else None,
        }
    return found


@dataclass(frozen=True)
class Shown:
    """The picture on screen: its summaries, the settings they were made with, a click on it.

    `current` is False while it is older than the choices; `missing` says why a mechanism has no numbers.
    """

    summaries: list[Summary]
    settings: Settings | None = None
    clicked: int | None = None
    current: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    beside: Beside | None = None


@dataclass(frozen=True)
class Beside:
    """Another choice to be shown faintly beside the present one.

    Attributes
    ----------
    name, now : str
        Of that choice, and of the present one.
    found : dict
        By mechanism its summary, as far as it is there.
    """

    name: str
    now: str
    settings: Settings
    mechanisms: tuple[str, ...]
    found: dict[str, Summary] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """What the picture is presented with: the words around it; what shows the next scenario (1) or the former (-1)."""

    words: dict[str, Any]
    step: Callable[[int], None]


def show(
    page: str,
    mechanisms: Sequence[str],
    make_figures: MakeFigures,
    detail: str = "",
    beside: Beside | None = None,
    stage: Stage | None = None,
) -> Shown:
    """Run mechanisms under the browser's settings and show them as they finish.

    Parameters
    ----------
    detail : str
        Whatever else the figures depend on.
    beside : Beside, optional
        Run too, and handed to `make_figures` as its fourth argument.
    stage : Stage, optional
        With it, the picture can be presented.
    """
    browser = session.current()
    try:
        settings = session.settings()
    except InputError as error:
        manager().drop(session.owner())
        st.error(session.plain(str(error)), icon=":material/error:")
        st.page_link("pages/data.py", label="Go to the Data page", icon=":material/table:")
        return Shown([])
    jobs, others = _request(browser, settings, mechanisms, beside)
    pending = any(not job.finished.is_set() for job in [*jobs, *others])
    last: Last | None = st.session_state.get(f"shown_{page}")
    picture = assemble(jobs, last, browser.table.fingerprint)
    finished = {job.spec["mechanism"]: (job.key, job.summary) for job in jobs if job.summary is not None}
    if picture.complete and finished:  # a mechanism that failed does not hide the others
        record_runs(browser, settings, [job for job in jobs if job.state == "done"])
        last = Last(finished, settings, browser.table.fingerprint)
        st.session_state[f"shown_{page}"] = last
    with st.container(height=54, border=False):
        _status(jobs, others, picture)
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
        found = {job.spec["mechanism"]: job.summary for job in others if job.summary is not None}
        beside = replace(beside, found=found)
    current = picture.complete and not pending
    clicked = _draw(page + detail, mechanisms, picture, settings, not current, make_figures, beside, stage)
    if any(s["preview_khat"] is not None for s in picture.summaries):
        return Shown([])  # looked at and never kept: neither as the last picture nor for download
    if last is None:
        return Shown([], missing=missing)
    return Shown(last.summaries, last.settings, clicked, current, missing, beside)


def _request(
    browser: Browser, settings: Settings, mechanisms: Sequence[str], beside: Beside | None
) -> tuple[list[Job], list[Job]]:
    """The jobs of the choices and of what is beside them, after a short wait for both."""
    tasks = [mechanism_task(browser.table, settings, name, browser.reference) for name in mechanisms]
    more = []
    if beside is not None:
        more = [
            mechanism_task(browser.table, beside.settings, m, browser.reference) for m in beside.mechanisms
        ]
    jobs = manager().submit(session.owner(), [*tasks, *more])
    deadline = time.monotonic() + QUICK_SECONDS
    for job in jobs:
        job.finished.wait(max(0.0, deadline - time.monotonic()))
    return jobs[: len(tasks)], jobs[len(tasks) :]


def _status(jobs: list[Job], others: list[Job], picture: Picture) -> None:
    """Above the picture: how far it is, why a part is missing, or what it is of."""
    everything = list({job.key: job for job in [*jobs, *others]}.values())
    failed = {job.key: job for job in everything if job.state == "failed"}
    again = (session.owner(), everything)
    if any(not job.finished.is_set() for job in everything):
        st.fragment(_running, run_every=POLL_SECONDS)(everything)
    elif any(job.state == "cancelled" for job in everything):
        left, right = st.columns([8, 1], vertical_alignment="center")
        left.info("Cancelled. What is faint below is older.", icon=":material/cancel:")
        right.button("Run again", width="stretch", on_click=manager().forget, args=again)
    elif failed:
        reasons = {job.error for job in failed.values()}
        words = next(iter(reasons))
        if len(failed) < len(everything) or len(reasons) > 1:
            names = [find_mechanism(job.spec["mechanism"]).label for job in failed.values()]
            names = list(dict.fromkeys(names))
            words = f"No result: {', '.join(names)}. {'Its row' if len(names) == 1 else 'Each row'} below says why."
        left, right = st.columns([8, 1], vertical_alignment="center")
        left.error(session.plain(words), icon=":material/error:")
        right.button("Run again", width="stretch", on_click=manager().forget, args=again)
    elif picture.summaries:
        st.markdown(_caption(picture.summaries))


def _draw(
    kind: str,
    mechanisms: Sequence[str],
    picture: Picture,
    used: Settings,
    stale: bool,
    make_figures: MakeFigures,
    beside: Beside | None,
    stage: Stage | None,
) -> Any:
    """Results table and figures; returns what was clicked."""
    summaries = picture.summaries
    labels = {name: find_mechanism(name).label for name in picture.missing} | {
        s["mechanism"]: find_mechanism(s["mechanism"]).label
        + (" ≈ preview" if s["preview_khat"] is not None else "")
        for s in summaries
    }
    more = () if beside is None else (Other(beside.name, beside.now, beside.found),)
    figures = make_figures(summaries, labels, used, *more) if summaries else []
    rows = results(summaries, labels, _promises(summaries, used), picture.missing)
    if beside is not None:
        _add_differences(rows, summaries, beside)
    version = f"{kind}{picture.version}{session.choices().policy!r}"
    if beside is not None:
        named = "".join(f"{s['mechanism']}{s['epsilon']}{s['ecdf_max']}" for s in beside.found.values())
        version += f"|{beside.name}|{beside.now}|{beside.settings!r}{named}"
    order = {s["mechanism"]: i for i, s in enumerate(summaries)} | {
        name: i for i, name in enumerate(mechanisms)
    }
    rows.sort(key=lambda row: order[row["mechanism"]])  # a row stays in its place when its numbers come
    clicked = board(
        rows,
        figures,
        content_key(board=version),
        stale,
        dim=picture.dim,
        stage=None if stage is None else stage.words,
        on_step=None if stage is None else stage.step,
    )
    return clicked if isinstance(clicked, int) else None


def _add_differences(rows: list[dict[str, Any]], summaries: list[Summary], beside: Beside) -> None:
    """What became of each mechanism that both choices have."""
    policy, now = session.choices().policy, {s["mechanism"]: s for s in summaries}
    for row in rows:
        name = row["mechanism"]
        if name in now and name in beside.found and not row["old"]:
            words = difference(
                beside.found[name], now[name], WORST if policy.percent is None else policy.measure
            )
            row["difference"] = f"{beside.name} → {beside.now}: {words}." if words else ""
