"""What runs inside a background process: one job at a time, never Streamlit.

The same `run_job` serves every backend. Progress goes out through a small file, a request
to cancel comes in through one; both live in the job's own directory.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth_core.analysis.result import Result
from synth_core.data.table import Table
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.jobs.stored_summaries import keep_summary
from synth_core.system import files
from synth_core.system.backend.process_guard import working_in
from synth_core.system.entries import to_entry

if TYPE_CHECKING:
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.any_analysis import AnyAnalysis
    from synth_core.analysis.fits import Fits
    from synth_core.analysis.records.records import RecordsAnalysis

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


def _failed(error: Exception, directory: Path) -> dict[str, Any]:
    """The answer of a task that failed; where samplers and compilers were ended on request, none has."""
    if _cancelled(directory):
        return {"cancelled": True}
    if isinstance(error, OSError):
        return {"fit_error": files.explain(error, "The directory of results, plans or working files")}
    return {"input_error" if isinstance(error, InputError) else "fit_error": str(error)}


def _write(path: Path, value: dict[str, Any]) -> None:
    """Whole or not at all; a courtesy to who watches, so a full disk does not stop a fit."""
    with contextlib.suppress(OSError):
        files.write_whole(path, json.dumps(value), durable=False)


def _summary(analysis: Analysis, result: Result) -> dict[str, Any]:
    from synth_core.analysis.summary import summarise

    return summarise(result, analysis.model.records.outcome) | {
        "density_scale": analysis.model.density_scale,
        "rows_dropped": analysis.selection.dropped,
    }


def _explored(analysis: Analysis, spec: dict[str, Any]) -> AnyAnalysis[Any]:
    """What a search is of: the sensitive variable of the settings, or whole records."""
    return _whole(analysis, spec) if spec["blocks"] else analysis


def _mechanism(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    """What a screen shows of a mechanism; what is known of single records is kept under the task's key."""
    if spec.get("blocks"):
        from synth_core.analysis.records.by_record import by_record
        from synth_core.analysis.records.summary import summarise_records

        whole = _whole(analysis, spec)
        result = whole.run(spec["mechanism"])
        summary = summarise_records(whole, result)
        analysis.cache.put(spec["key"], to_entry(by_record(whole, result)))
    else:
        summary = _summary(analysis, analysis.run(spec["mechanism"]))
    keep_summary(analysis.cache, spec["key"], summary)
    return summary


def _whole(analysis: Analysis, spec: dict[str, Any]) -> RecordsAnalysis:
    """An analysis of this table and these settings for several sensitive variables."""
    from synth_core.analysis.records.blocks import common_of
    from synth_core.analysis.records.records import RecordsAnalysis
    from synth_core.jobs.tasks import blocks_of

    return RecordsAnalysis(
        analysis.table,
        blocks_of(spec),
        common_of(analysis.settings),
        analysis.cache,
        analysis.progress,
        None if spec["reference"] is None else _tables[spec["reference"]],
    )


def _division(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.experiments.explore.division import divide

    return divide(_whole(analysis, spec), spec["mechanism"], spec["wanted"]).as_dict()


def _point(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.experiments.explore.point import run_point

    return run_point(_explored(analysis, spec), spec["mechanism"]).summary()


def _rival(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.experiments.rivals.map_runs import MapRun, run_for_map, summary_of
    from synth_core.experiments.rivals.registry import RivalSpec

    beside = MapRun(**spec["beside"] | {"asked": RivalSpec(**spec["beside"]["asked"])})
    return summary_of(run_for_map(analysis, beside), beside)


def _tune(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.experiments.explore.division import divided_for, shares_by_name
    from synth_core.experiments.explore.targets import read_spec
    from synth_core.experiments.explore.tuning import tune

    explored, target = _explored(analysis, spec), read_spec(spec["target"])
    if spec["divided"]:
        explored = divided_for(explored, spec["mechanism"], target)
    answer = tune(explored, spec["mechanism"], target, tuple(spec["variants"])).as_dict()
    return answer | {"shares": shares_by_name(explored)}


def _plan(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.release.plan.planning import Decision, make_plan, save_plan
    from synth_core.release.state import plans_directory

    explored = _explored(analysis, spec)
    result = explored.run(spec["mechanism"])
    plan, content = make_plan(explored, result, Decision(**spec["decision"]))
    save_plan(plan, content, plans_directory() / f"{plan.digest}.json")
    return {"plan": plan.canonical(), "problems": list(result.problems)}


def _release(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.release.making.drawing import Request
    from synth_core.release.making.releasing import release

    outcome = release(Request(table=analysis.table, **spec["request"]), analysis.progress)
    return {k: getattr(outcome, k) for k in outcome.__dataclass_fields__}


def _contract(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.analysis.own_program_check import check_table

    c = analysis
    return to_entry(check_table(c.table, c.settings, c.cache, c.progress))


def _check(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.analysis.model_check import run_check

    return run_check(analysis, spec["column"], spec["level"])


def _sensitivity(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.analysis.model_check import run_sensitivity

    return run_sensitivity(analysis, spec["mechanism"], tuple(spec["factors"]))


def _study(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.jobs.study_task import StudyRequest, run_in_app

    return run_in_app(_explored(analysis, spec), StudyRequest(**spec["asked"]))


def _audit(analysis: Analysis, spec: dict[str, Any]) -> dict[str, Any]:
    from synth_core.jobs.audit_task import run_in_app

    return run_in_app(_explored(analysis, spec), spec["asked"], spec["plan"])


_ANSWERS = {
    "audit": _audit,
    "study": _study,
    "check": _check,
    "sensitivity": _sensitivity,
    "mechanism": _mechanism,
    "division": _division,
    "point": _point,
    "rival": _rival,
    "tune": _tune,
    "plan": _plan,
    "release": _release,
    "contract": _contract,
}


def run_job(spec: dict[str, Any], directory: str, tables: list[Table]) -> dict[str, Any]:
    """Answer one task: run a mechanism, measure a point of a map, tune a mechanism, plan, release,
    check a model or an own program.

    Parameters
    ----------
    spec : dict
        "kind" (a key of `_ANSWERS`), "fingerprint" (the table's identity), "settings" (as `Settings.model_dump`),
        "mechanism", "reference" (an identity or None), and what the kind needs.
    directory : str
        The job's own directory, private to the user.
    tables : list of Table
        Those that this process was not given before.

    Returns
    -------
    dict with one key: "summary"; or "needs_tables"; or "input_error", "fit_error", "cancelled". Beside a
    summary, "storage" says why the result could not be kept, or is empty if it was.
    """
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.settings import Settings
    from synth_core.system.cache import results_cache

    for table in tables:
        _tables[table.identity] = table
    needed = [f for f in (spec["fingerprint"], spec["reference"]) if f is not None]
    if not all(fingerprint in _tables for fingerprint in needed):
        return {"needs_tables": True}
    for fingerprint in needed:
        _tables.move_to_end(fingerprint)
    while len(_tables) > _TABLES_KEPT:
        _tables.popitem(last=False)

    place = Path(directory)
    try:
        with working_in(place):
            settings = Settings(**spec["settings"])
            columns = (spec["fingerprint"], settings.outcome, settings.predictors, settings.categorical)
            analysis = Analysis(
                _tables[spec["fingerprint"]],
                settings,
                results_cache(),
                _Reporter(place),
                None if spec["reference"] is None else _tables[spec["reference"]],
                lambda result: _write(place / "preview.json", _summary(analysis, result)),
                prepared=_prepared.get(columns),
            )
            _prepared.clear()
            _prepared[columns] = analysis.fits
            answer = {"summary": _ANSWERS[spec["kind"]](analysis, spec)}
            tried = analysis.cache.problem
            return answer if tried is None else answer | {"storage": tried}
    except Cancelled:
        return {"cancelled": True}
    except (InputError, FitError, OSError) as error:
        return _failed(error, place)
