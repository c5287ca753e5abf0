"""A task under way: what state it is in, and how far it is."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth_core.analysis.summary import ResultSummary
from synth_core.jobs.task import Task
from synth_core.system.attempts import Attempts
from synth_core.system.cache import Entry
from synth_core.system.entries import from_entry

ABANDONED_SECONDS = 90.0  # browsers call timers of hidden tabs once a minute only
BACKGROUND_SECONDS = 900.0  # a map goes on while its owner looks at another page


@dataclass
class Job:
    """One computation. `state` is queued, running, done, failed or cancelled."""

    task: Task[Any]
    directory: Path
    state: str = "queued"
    answer: Any = None  # of the kind that its task gives, once it is done
    error: str = ""
    attempts: Attempts = field(default_factory=Attempts)
    yielding: bool = False  # told to give its process to a task that is not in the background
    last_asked: float = field(default_factory=time.monotonic)
    shown_to: set[str] = field(default_factory=set)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def key(self) -> str:
        return self.task.key

    @property
    def background(self) -> bool:
        return self.task.background

    def end(self) -> None:
        """Mark as finished; a finished job does not keep tables in memory."""
        self.task = self.task.sent
        self.finished.set()

    @property
    def let_go(self) -> bool:
        """Whether no worker has it any more: of a cancelled one it undoes first what it has begun."""
        return self.finished.is_set() and not self.directory.exists()

    def abandoned(self, now: float) -> bool:
        """Whether nobody has looked at it for too long."""
        return now - self.last_asked > (BACKGROUND_SECONDS if self.background else ABANDONED_SECONDS)

    def progress(self) -> tuple[str, float]:
        """What is being done and the share of it that is done."""
        if self.state == "queued":
            return "waiting for a free process", 0.0
        status = self._read("status.json")
        return (status["text"], float(status["share"])) if status else ("starting", 0.0)

    def preview(self) -> ResultSummary | None:
        """An approximate summary while a slow fit runs, once there is one."""
        entry = self._read("preview.json") if self.state == "running" else None
        return None if entry is None else from_entry(ResultSummary, entry)

    def _read(self, name: str) -> Entry | None:
        try:
            content: Entry = json.loads((self.directory / name).read_text())
            return content
        except (OSError, ValueError):
            return None


def refused_job(task: Task[Any], why: str) -> Job:
    """A stand-in for what cannot be computed, with the reason: told at once, without a worker."""
    job = Job(task.sent, Path(), state="failed", error=why)
    job.finished.set()
    return job


def cancelled_job(task: Task[Any]) -> Job:
    """A stand-in for what an owner has cancelled."""
    job = Job(task.sent, Path(), state="cancelled")
    job.finished.set()
    return job
