"""One browser: its table, its choices with their history, its release desk and its background work."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal

from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.experiments.explore.sweep import seconds_per_point
from synth_core.jobs.tasks import Job, Task
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import WeightsFrom
from synth_core.release.making.releasing import ReleaseOutcome
from synth_core.release.plan.plan import Plan
from synth_core.ui.state.choices import Choices, first_choices

UNDO_STEPS = 50


@dataclass
class Desk:
    """What lies on the release desk."""

    plan: Plan | None = None
    problems: tuple[str, ...] = ()  # of the fit that the plan was made from
    table: Table | None = None  # the one to be released
    outcome: ReleaseOutcome | None = None  # of the gate, or of the release
    audit: str = ""  # what of an audit goes into the public report
    task: Task | None = None  # under way
    what: Literal["plan", "release"] = "plan"  # is under way
    error: str = ""


@dataclass
class BackgroundRun:
    """Tasks that were started together.

    Attributes
    ----------
    asked
        What the page asked for, so that it can tell whether it asks for the same now.
    """

    tasks: list[Task]
    jobs: list[Job]
    asked: Any = None

    def having(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job.state in states]

    @property
    def running(self) -> bool:
        return bool(self.having("queued", "running"))

    def summaries(self) -> list[dict[str, Any]]:
        """The answers so far."""
        return [job.summary for job in self.having("done") if job.summary is not None]

    def seconds_left(self, lanes: int) -> float:
        """From what finished points of the same mechanism took, else from the estimate."""
        took: dict[str, list[float]] = defaultdict(list)
        for job in self.having("done"):
            if job.summary is not None and not job.summary.get("cached") and "seconds" in job.summary:
                took[job.spec["mechanism"]].append(job.summary["seconds"])
        total = 0.0
        for job in self.having("queued", "running"):
            name = job.spec["mechanism"]
            if took[name]:
                total += sum(took[name]) / len(took[name])
            else:
                rows = len(job.tables[0].frame) if job.tables else 0
                total += seconds_per_point(find_mechanism(name), Settings(**job.spec["settings"]), rows)
        return total / max(lanes, 1)


@dataclass
class Browser:
    """One browser. Its choices are frozen; `change` is the only way to other ones."""

    table: Table
    choices: Choices = field(default_factory=first_choices)
    reference: Table | None = None  # the table that the risk map is frozen on
    demo: bool = False  # a demonstration: only simulated data are shown
    revision: int = 0  # counts changes, so that other tabs of this browser see them
    desk: Desk = field(default_factory=Desk)
    history: deque[Choices] = field(default_factory=lambda: deque(maxlen=UNDO_STEPS))
    runs: dict[str, BackgroundRun] = field(default_factory=dict)  # by kind
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))  # under which its runs ask for jobs
    used: float = field(default_factory=time.monotonic)

    def change(self, choices: Choices, undoable: bool = True) -> None:
        """Take other choices; nothing happens if they are the same.

        Parameters
        ----------
        undoable : bool
            False for what the program puts right by itself, and for what an undo could not restore.
        """
        if choices == self.choices:
            return
        if undoable:
            self.history.append(self.choices)
        self.choices = choices
        self.revision += 1

    def undo(self) -> None:
        """Take the last change back."""
        if self.history:
            self.choices = self.history.pop()
            self.revision += 1

    def use_table(self, table: Table, choices: Choices) -> None:
        """Replace the table; a step back would name columns of the old one, so there is none."""
        self.table, self.reference, self.demo = table, None, False
        self.choices = choices
        self.history.clear()
        self.revision += 1

    def use_reference(self, table: Table | None) -> None:
        """Freeze the risk map on a table, or make weights from the current one again."""
        self.reference = table
        self.revision += 1

    @property
    def weights_from(self) -> WeightsFrom:
        """Where the weights of a mechanism come from that is run now."""
        return "current" if self.reference is None else "frozen"

    def settings(self, **changes: Any) -> Settings:
        """The choices, with `changes`, as validated settings; raises InputError."""
        reference = "current" if self.reference is None else self.reference.name
        return self.choices.checked(reference, self.table.confidential, **changes)
