"""What the board shows while mechanisms finish one by one: rows that are done, old, awaited, or without a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.wording.on_screen import on_screen
from synth_core.jobs.job import Job
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.characters import sentence


@dataclass(frozen=True)
class Last:
    """The last finished picture: by mechanism the job's key and its summary, and what they were made of."""

    results: Mapping[str, tuple[str, ResultSummary]]
    settings: Settings
    fingerprint: str

    @property
    def summaries(self) -> list[ResultSummary]:
        """The summaries in the order of the rows."""
        return [summary for _, summary in self.results.values()]


@dataclass(frozen=True)
class Picture:
    """Rows in the order of the mechanisms.

    Attributes
    ----------
    summaries : list of dict
        Of the rows with numbers; "old" marks those of the last picture, whose mechanism is still at work.
    missing : dict
        Why a mechanism has no numbers, in words.
    version : str
        Changes with the contents.
    complete : bool
        Whether nothing is awaited, old, approximate or cancelled.
    """

    summaries: list[ResultSummary]
    missing: dict[str, str] = field(default_factory=dict)
    version: str = ""
    complete: bool = False
    dim: bool = False  # all of it is older than the choices


def assemble(jobs: Sequence[Job], last: Last | None, fingerprint: str) -> Picture:
    """The picture of these jobs as they are now.

    Parameters
    ----------
    last : Last, optional
        Its rows stand in for mechanisms that are still at work, as far as they are of the same table and variable.
    """
    summaries: list[ResultSummary] = []
    missing: dict[str, str] = {}
    version = []
    for job in jobs:
        name = job.task.mechanism
        state, summary = job.state, job.answer
        if state in ("queued", "running") and (preview := job.preview()) is not None:
            state, summary = "preview", preview
        if summary is not None:
            summaries.append(summary)
        elif state == "failed":
            said = on_screen(job.error).removeprefix(f"{find_mechanism(name).label}: ")  # its row is named so
            missing[name] = sentence(said)
        elif last is not None and name in last.results and _comparable(last, job, fingerprint):
            state = "old"
            summaries.append(replace(last.results[name][1], old=True))
        else:
            missing[name] = "cancelled" if state == "cancelled" else "is being fitted …"
        version.append(f"{job.key[:8]}{state[0]}")
    complete = all(job.state in ("done", "failed") for job in jobs)
    return Picture(summaries, missing, "".join(version), complete)


def last_picture(last: Last) -> Picture:
    """The last finished picture as it was, under the version that it had."""
    return Picture(
        last.summaries, version="".join(f"{key[:8]}d" for key, _ in last.results.values()), dim=True
    )


def brings_news(jobs: Sequence[Job], last: Last | None) -> bool:
    """Whether something finished that the last picture does not show: what was known already is no reason to redraw."""
    known = set() if last is None else {key for key, _ in last.results.values()}
    return any(
        job.state == "failed" or (job.state == "done" and job.key not in known) or job.preview() is not None
        for job in jobs
    )


def _comparable(last: Last, job: Job, fingerprint: str) -> bool:
    """Whether numbers are of the same table and variable; a page with several has a last picture of its own."""
    same = bool(job.task.given.blocks) or last.settings.outcome == job.task.given.settings.outcome
    return same and last.fingerprint == fingerprint
