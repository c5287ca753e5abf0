"""Background work of one browser: a map that fills, an inverse tuning. Survives page switches.

A run belongs to the browser, not to the session, so that a reload finds it again. Stopped and
continued, it takes what had finished from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from synth_core.errors import InputError
from synth_core.jobs.task import Task, TaskInput
from synth_core.ui.server.manager import manager
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun


def _owner(kind: str) -> str:
    return f"{session.current().name}-{kind}"


def current(kind: str) -> BackgroundRun | None:
    """The browser's run of this kind; looking at it keeps it alive. With another table it is gone."""
    browser = session.current()
    run = browser.runs.get(kind)
    if run is None:
        return None
    if run.tasks[0].given.identity != browser.table.identity:
        manager().drop(_owner(kind))
        browser.runs.pop(kind, None)  # another tab may have come first
        return None
    manager().touch(run.jobs)
    return run


def start(
    kind: str, tasks: list[Task[Any]], asked: Any = None, expected: Mapping[str, float] | None = None
) -> BackgroundRun:
    """Start tasks in the background in place of the browser's former run of this kind."""
    manager().forget(_owner(kind), [])
    run = BackgroundRun(tasks, manager().submit(_owner(kind), tasks), asked, dict(expected or {}))
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
    start(kind, run.tasks, run.asked, run.expected)


CHANGED = "The choices have changed since: this is of those from before."


def is_of_now(run: BackgroundRun, now: Callable[[], TaskInput]) -> bool:
    """Whether a run reads what one would read now; not where `now` says that nothing could be asked for."""
    return reads_the_same(lambda: run.tasks[0].given, now)


def reads_the_same(one: Callable[[], TaskInput], other: Callable[[], TaskInput]) -> bool:
    """Whether two inputs say the same; not where one of them could not be asked for."""
    try:
        return repr(one()) == repr(other())
    except InputError:
        return False


def keep_alive() -> None:
    """Keep background runs alive, at the start of every page's run: a map goes on while its owner looks elsewhere."""
    for kind in list(session.current().runs):
        current(kind)
