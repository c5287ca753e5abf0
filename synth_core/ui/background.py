"""Background work of one browser: a map that fills, an inverse tuning. Survives page switches.

A run belongs to the browser, not to the session, so that a reload finds it again. Stopped and
continued, it takes what had finished from the cache.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from synth_core.explore.sweep import seconds_per_point
from synth_core.points import find_mechanism
from synth_core.settings import Settings
from synth_core.tasks import Job, Task
from synth_core.ui import session
from synth_core.ui.server import manager


@dataclass
class Run:
    """Tasks that were started together, and what the page needs to say about them."""

    tasks: list[Task]
    jobs: list[Job]
    about: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def having(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job.state in states]

    @property
    def running(self) -> bool:
        return bool(self.having("queued", "running"))

    def seconds_left(self, lanes: int) -> float:
        """From what finished points of the same mechanism took, else from the estimate."""
        took: dict[str, list[float]] = defaultdict(list)
        for job in self.having("done"):
            assert job.summary is not None
            if not job.summary.get("cached") and "seconds" in job.summary:
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


def _owner(kind: str) -> str:
    return f"{session.current().name}-{kind}"


def current(kind: str) -> Run | None:
    """The browser's run of this kind; looking at it keeps it alive. With another table it is gone."""
    browser = session.current()
    run: Run | None = browser.runs.get(kind)
    if run is None:
        return None
    if run.tasks[0].spec["fingerprint"] != browser.table.fingerprint:
        manager().drop(_owner(kind))
        browser.runs.pop(kind, None)  # another tab may have come first
        return None
    manager().touch(run.jobs)
    return run


def start(kind: str, tasks: list[Task], **about: Any) -> Run:
    """Start tasks in the background in place of the browser's former run of this kind."""
    manager().forget(_owner(kind), [])
    run = Run(tasks, manager().submit(_owner(kind), tasks), about)
    session.current().runs[kind] = run
    return run


def stop(kind: str) -> None:
    """Cancel what has not finished; the rest stays."""
    manager().cancel(_owner(kind))


def resume(kind: str) -> None:
    """Run again what was stopped or failed; what had finished comes from the cache."""
    run = session.current().runs.get(kind)
    if run is None:  # another tab has chosen another table
        return
    manager().forget(_owner(kind), run.jobs)
    start(kind, run.tasks, **run.about)


def keep_alive() -> None:
    """At the start of every page's run: a map goes on while its owner looks elsewhere."""
    for kind in list(session.current().runs):
        current(kind)
