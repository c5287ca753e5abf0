"""What a background process can be asked to do, and how far it is: tasks and jobs.

A task is content: a key, a plain specification that the worker understands (its `kind` says
which of the worker's functions answers), and the tables it needs. A job is a task under way.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from synth_core.analysis.records.blocks import Block, common_of, settings_of_first
from synth_core.analysis.result_key import NOT_OF_ALL, result_key
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import point_key
from synth_core.experiments.explore.sweep import Planned
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.experiments.rivals.map_runs import MapRun, run_key
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.jobs.study_task import StudyRequest
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.making.drawing import Request
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.planning import Decision
from synth_core.system.attempts import Attempts
from synth_core.system.cache import content_key

ABANDONED_SECONDS = 90.0  # browsers call timers of hidden tabs once a minute only
BACKGROUND_SECONDS = 900.0  # a map goes on while its owner looks at another page


@dataclass(frozen=True)
class Task:
    """One thing to compute; equal keys are computed once, whoever asks.

    `background` tasks wait behind all others, and give up their process to one that comes.
    """

    key: str
    spec: dict[str, Any]
    tables: tuple[Table, ...]
    background: bool = False


@dataclass
class Job:
    """One computation. `state` is queued, running, done, failed or cancelled."""

    key: str
    spec: dict[str, Any]
    tables: list[Table]
    directory: Path
    background: bool = False
    state: str = "queued"
    summary: dict[str, Any] | None = None
    error: str = ""
    attempts: Attempts = field(default_factory=Attempts)
    yielding: bool = False  # told to give its process to a task that is not in the background
    last_asked: float = field(default_factory=time.monotonic)
    shown_to: set[str] = field(default_factory=set)
    finished: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        """Mark as finished; a finished job does not keep tables in memory."""
        self.tables = []
        self.finished.set()

    def abandoned(self, now: float) -> bool:
        """Whether nobody has looked at it for too long."""
        return now - self.last_asked > (BACKGROUND_SECONDS if self.background else ABANDONED_SECONDS)

    def progress(self) -> tuple[str, float]:
        """What is being done and the share of it that is done."""
        if self.state == "queued":
            return "waiting for a free process", 0.0
        status = self._read("status.json")
        return (status["text"], float(status["share"])) if status else ("starting", 0.0)

    def preview(self) -> dict[str, Any] | None:
        """An approximate summary while a slow fit runs, once there is one."""
        return self._read("preview.json") if self.state == "running" else None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads((self.directory / name).read_text())
            return content
        except (OSError, ValueError):
            return None


def cancelled_job(task: Task) -> Job:
    """A stand-in for what an owner has cancelled."""
    job = Job(task.key, task.spec, [], Path(), state="cancelled")
    job.finished.set()
    return job


def _spec(
    kind: str, table: Table, settings: Settings, mechanism: str, reference: Table | None
) -> dict[str, Any]:
    return {
        "kind": kind,
        "fingerprint": table.identity,
        "reference": None if reference is None else reference.identity,
        "mechanism": mechanism,
        "settings": settings.model_dump(),
    }


def _tables(table: Table, reference: Table | None) -> tuple[Table, ...]:
    return (table,) if reference is None else (table, reference)


def _task(spec: dict[str, Any], tables: tuple[Table, ...], background: bool = False) -> Task:
    """A task that is keyed by its specification."""
    settings = Settings(**spec["settings"]).model_dump(mode="json")
    return Task(content_key(task=spec | {"settings": settings}), spec, tables, background)


def _first(settings: Settings, blocks: Sequence[Block]) -> Settings:
    """Settings that name the first block, with what all have: the same, whichever variable is described now."""
    return settings_of_first(blocks, common_of(settings)) if blocks else settings


def blocks_of(spec: dict[str, Any]) -> tuple[Block, ...]:
    """The sensitive variables of whole records that a task is of; empty where it is of one variable."""
    return tuple(Block(**each) for each in spec.get("blocks", ()))


def mechanism_task(
    table: Table,
    settings: Settings,
    mechanism: str,
    reference: Table | None = None,
    blocks: Sequence[Block] = (),
) -> Task:
    """One mechanism under the settings, for a picture somebody waits for; with blocks, on whole records.

    Raises
    ------
    InputError
        As `parts_of`, of the blocks.
    """
    spec = _spec("mechanism", table, _first(settings, blocks), mechanism, reference)
    tables = _tables(table, reference)
    if blocks:
        task = _task(spec | {"blocks": [asdict(block) for block in blocks]}, tables)
    else:
        frozen = None if reference is None else reference.fingerprint
        key = result_key(table.fingerprint, settings, find_mechanism(mechanism), frozen)
        task = Task(key, spec, tables)
    return replace(task, spec=task.spec | {"key": task.key})


def division_task(
    table: Table,
    settings: Settings,
    blocks: Sequence[Block],
    mechanism: str,
    wanted: dict[str, float],
    reference: Table | None = None,
) -> Task:
    """How ε is divided among the blocks by what is asked of each; raises InputError as `parts_of` does."""
    spec = _spec("division", table, _first(settings, blocks), mechanism, reference)
    spec |= {"blocks": [asdict(block) for block in blocks], "wanted": wanted}
    return _task(spec, _tables(table, reference), background=True)


def contract_task(table: Table, settings: Settings) -> Task:
    """Whether the own program of the settings keeps the contract on the table."""
    return _task(_spec("contract", table, settings, "", None), (table,))


def point_task(
    table: Table, planned: Planned, reference: Table | None = None, blocks: Sequence[Block] = ()
) -> Task:
    """One point of a map, in the background; with blocks, of whole records."""
    spec = _spec("point", table, _first(planned.settings, blocks), planned.mechanism, reference)
    spec |= {"blocks": [asdict(block) for block in blocks]}
    if blocks:
        return _task(spec, _tables(table, reference), background=True)
    frozen = None if reference is None else reference.fingerprint
    key = point_key(table.fingerprint, planned.settings, find_mechanism(planned.mechanism), frozen)
    return Task(key, spec, _tables(table, reference), background=True)


def rival_task(table: Table, settings: Settings, beside: MapRun) -> Task:
    """One run of another synthesizer beside a map, in the background."""
    kept = settings.model_copy(update={"risk_reference": "current", "match_epsilon": None})
    spec = _spec("rival", table, kept, beside.asked.who, None)
    spec |= {"beside": asdict(beside), "seconds": RIVALS[beside.asked.who].seconds}
    return Task(run_key(table.fingerprint, kept, beside), spec, (table,), background=True)


def tune_task(
    table: Table,
    settings: Settings,
    mechanism: str,
    target: Target | EpsilonTarget,
    variants: tuple[dict[str, Any], ...] = ({},),
    reference: Table | None = None,
    blocks: Sequence[Block] = (),
    divided: bool = False,
) -> Task:
    """The inverse tuning of one mechanism, in the background; with blocks, on whole records.

    Parameters
    ----------
    divided : bool
        Divide the epsilon of a strict mechanism among the blocks first, by the target's accuracy of each.
    """
    spec = _spec("tune", table, _first(settings, blocks), mechanism, reference) | {
        "target": asdict(target),
        "variants": list(variants),
        "blocks": [asdict(block) for block in blocks],
        "divided": divided,
    }
    return _task(spec, _tables(table, reference), background=True)


def plan_task(
    table: Table,
    settings: Settings,
    mechanism: str,
    decision: Decision,
    reference: Table | None = None,
    blocks: Sequence[Block] = (),
) -> Task:
    """Make a release plan of a mechanism on the table it was tuned on; with blocks, one of whole records.

    Raises
    ------
    InputError
        As `parts_of`, of the blocks.
    """
    spec = _spec("plan", table, _first(settings, blocks), mechanism, reference)
    spec |= {"decision": asdict(decision), "blocks": [asdict(block) for block in blocks]}
    return _task(spec, _tables(table, reference))


def release_task(request: Request, click: str) -> Task:
    """Release a table by a plan; `click` makes two requests for the same release two jobs."""
    spec = _spec("release", request.table, request.plan.settings, request.plan.mechanism, None)
    spec |= {"request": {k: getattr(request, k) for k in request.__dataclass_fields__ if k != "table"}}
    return Task(f"release:{request.id}:{click}", spec, (request.table,))


def check_task(table: Table, settings: Settings, column: str | None, level: str | None) -> Task:
    """The check of a model's unweighted fit; it depends on no setting of the mechanisms."""
    kept = settings.model_copy(
        update={
            name: Settings.model_fields[name].default for name in NOT_OF_ALL | {"percentiles", "datasets"}
        }
    )
    spec = _spec("check", table, kept, "unweighted", None) | {"column": column, "level": level}
    return _task(spec, (table,))


def sensitivity_task(
    table: Table,
    settings: Settings,
    mechanism: str,
    factors: tuple[float, ...],
    reference: Table | None = None,
) -> Task:
    """A mechanism again under scaled priors."""
    spec = _spec("sensitivity", table, settings, mechanism, reference) | {"factors": list(factors)}
    return _task(spec, _tables(table, reference))


def study_task(table: Table, settings: Settings, asked: StudyRequest, blocks: Sequence[Block] = ()) -> Task:
    """A Monte Carlo study, in the background; with blocks, its databases are of whole records."""
    kept = settings.model_copy(update={"risk_reference": "current", "match_epsilon": None})
    spec = _spec("study", table, _first(kept, blocks), "", None)
    spec |= {"asked": asdict(asked), "blocks": [asdict(block) for block in blocks]}
    return _task(spec, (table,), background=True)


def audit_task(
    table: Table,
    settings: Settings,
    asked: AuditRequest,
    reference: Table | None = None,
    plan: Plan | None = None,
    blocks: Sequence[Block] = (),
) -> Task:
    """A privacy audit of mechanisms, with blocks of whole records, or of a release plan, in the background."""
    spec = _spec("audit", table, _first(settings, blocks), "", reference) | {
        "asked": asdict(asked),
        "plan": None if plan is None else plan.canonical(),
        "blocks": [asdict(block) for block in blocks],
    }
    return _task(spec, _tables(table, reference), background=True)
