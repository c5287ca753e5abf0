"""What runs inside a background process: one job at a time, never Streamlit.

The same `run_job` serves every backend. Progress goes out through a small file, a request
to cancel comes in through one; both live in the job's own directory.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_core.data.table import Table
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.system import files
from synth_core.system.backend.process_guard import working_in

if TYPE_CHECKING:
    from synth_core.analysis.any_analysis import AnyAnalysis
    from synth_core.analysis.fits import Fits
    from synth_core.analysis.result import Result
    from synth_core.jobs.task import Task, TaskInput
    from synth_core.system.cache import Cache

_TABLES_KEPT = 4
_REPORT_SECONDS = 0.1
TOLD_AFTER_SECONDS, TOLD_FROM_SHARE = 2.0, 0.03

_tables: OrderedDict[str, Table] = OrderedDict()
_prepared: dict[Any, Fits] = {}  # the last table's chosen columns and model: seconds of work in a large one


def _cancelled(directory: Path) -> bool:
    return (directory / "cancel").exists()


class _Reporter:
    """Writes progress at most ten times a second and raises when the job is cancelled."""

    def __init__(self, directory: Path):
        self._directory = directory
        self._written = 0.0
        self._text = ""
        self._began = 0.0  # when this step was first told

    def __call__(self, text: str, share: float) -> None:
        if _cancelled(self._directory):
            raise Cancelled("cancelled")
        now = time.monotonic()
        if text == self._text and now - self._written < _REPORT_SECONDS:
            return  # a new step is always told: it may be silent for long
        if text != self._text:
            self._began = now
        self._written, self._text = now, text
        words = text + time_left(now - self._began, share)
        _write(self._directory / "status.json", {"text": words, "share": share})


def time_left(seconds: float, share: float) -> str:
    """Words to add about a step that has run so long and is so far; none before that can be told, or near its end.

    Examples
    --------
    >>> time_left(10.0, 0.25), time_left(600.0, 0.5), time_left(1.0, 0.5), time_left(10.0, 0.9)
    (', about 30 s left of this step', ', about 10 min left of this step', '', '')
    """
    if seconds < TOLD_AFTER_SECONDS or share < TOLD_FROM_SHARE:
        return ""
    left = seconds * (1 - share) / share
    if left < TOLD_AFTER_SECONDS:
        return ""
    return f", about {f'{left:.0f} s' if left < 120 else f'{left / 60:.0f} min'} left of this step"


@dataclass(frozen=True)
class WorkerReply:
    """What a worker says of a task.

    Attributes
    ----------
    answer : object
        Of the task; None where there is none.
    error : str
        Why it failed, in words; empty where it did not.
    cancelled : bool
    needs_tables : bool
        Whether this process has to be given the task's tables first.
    storage : str or None
        Why the answer could not be kept, empty if it was; None where nothing was to be kept.
    """

    answer: Any = None
    error: str = ""
    cancelled: bool = False
    needs_tables: bool = False
    storage: str | None = None


def _failed(error: Exception, directory: Path) -> WorkerReply:
    """The reply to a task that failed; where samplers and compilers were ended on request, none has."""
    if _cancelled(directory):
        return WorkerReply(cancelled=True)
    if isinstance(error, OSError):
        return WorkerReply(error=files.explain(error, "The directory of results, plans or working files"))
    return WorkerReply(error=str(error))


def _write(path: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all; a courtesy to who watches, so a full disk does not stop a fit."""
    with contextlib.suppress(OSError):
        files.write_whole(path, json.dumps(value), durable=False)


def run_job(task: Task[Any], directory: str, tables: list[Table]) -> WorkerReply:
    """Answer one task.

    Parameters
    ----------
    task : Task
        Without its tables, as `Task.sent` is.
    directory : str
        The job's own directory, private to the user.
    tables : list of Table
        Those that this process was not given before.

    """
    from synth_core.system.cache import results_cache

    for table in tables:
        _tables[table.identity] = table
    given = task.given
    needed = [f for f in (given.identity, given.reference) if f is not None]
    if not all(fingerprint in _tables for fingerprint in needed):
        return WorkerReply(needs_tables=True)
    for fingerprint in needed:
        _tables.move_to_end(fingerprint)
    while len(_tables) > _TABLES_KEPT:
        _tables.popitem(last=False)

    place, cache = Path(directory), results_cache()
    try:
        with working_in(place):
            answer = task.answer(_analysis(given, cache, place))
            return WorkerReply(answer, storage=cache.problem)
    except Cancelled:
        return WorkerReply(cancelled=True)
    except (InputError, FitError, OSError) as error:
        return _failed(error, place)


def _analysis(given: TaskInput, cache: Cache, place: Path) -> AnyAnalysis[Any]:
    """The analysis of a task's input, with what was prepared of the same table and columns."""
    from synth_core.analysis.any_analysis import analysis_of
    from synth_core.analysis.summary import summary_of
    from synth_core.system.entries import to_entry

    table, settings, progress = _tables[given.identity], given.settings, _Reporter(place)
    reference = None if given.reference is None else _tables[given.reference]
    if given.blocks:
        return analysis_of(table, settings, given.blocks, cache, reference, progress=progress)
    columns = (given.identity, settings.outcome, settings.predictors, settings.categorical)
    [analysis] = analysis_of(
        table, settings, (), cache, reference, progress=progress, prepared=_prepared.get(columns)
    ).analyses(False)
    _prepared.clear()
    _prepared[columns] = analysis.fits

    def show(result: Result) -> None:
        _write(place / "preview.json", to_entry(summary_of(analysis, result)))

    return replace(analysis, show_preview=show)
