"""The kinds of tasks: a mechanism, a point of the map, a search, a plan, a release, checks, studies, audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.records.blocks import Block, common_of, parts_of
from synth_core.analysis.result_key import NOT_OF_ALL, result_key
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.data.table import Table
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import PointSummary, point_key
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer
from synth_core.experiments.rivals.map_runs import MapRun, RivalSummary, run_key
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.jobs.stored_summaries import keep_summary
from synth_core.jobs.study_task import StudyAnswer, StudyRequest
from synth_core.jobs.task import Task, TaskInput
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.making.drawing import Request
from synth_core.release.making.outcome import ReleaseOutcome
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.planning import Decision
from synth_core.system.cache import content_key
from synth_core.system.entries import to_entry

if TYPE_CHECKING:  # what answers are, and only workers need
    from synth_core.analysis.model_check import FitCheck, PriorSensitivity
    from synth_core.experiments.explore.division import Division
    from synth_core.jobs.audit_task import AuditAnswer
    from synth_core.models.own.contract import ContractReport

OWN = {
    "risk_reference": "current",
    "match_epsilon": None,
}  # settings of what reads no other table and no other ε


@dataclass(frozen=True, eq=False)
class MechanismTask(Task[ResultSummary]):
    """One mechanism under the settings, for a picture somebody waits for."""

    stored: ClassVar[bool] = True

    @cached_property
    def key(self) -> str:
        """That of the result, of the settings that it depends on: a guess for one mechanism stops no other's fit."""
        given, mechanism = self.given, find_mechanism(self.mechanism)
        if not given.blocks:
            table, reference = given.fingerprints
            return result_key(table, given.settings, mechanism, reference)
        parts = parts_of(given.blocks, common_of(given.settings))
        return content_key(
            task=type(self).__name__,
            results=[result_key(given.identity, part.settings, mechanism, given.reference) for part in parts],
            parts=[(part.share, part.of_missing, part.block.missing) for part in parts],
        )

    def answer(self, analysis: AnyAnalysis[Any]) -> ResultSummary:
        """What a screen shows; what is known of single records is kept under the task's key."""
        from synth_core.analysis.by_record import by_record
        from synth_core.analysis.check.shape import first_rows, shape_of
        from synth_core.analysis.summary import summary_of
        from synth_core.release.output.closeness_checks import closeness_lines

        result = analysis.run(self.mechanism)
        summary = replace(
            summary_of(analysis, result),
            closeness=closeness_lines(analysis, result),
            first_rows=first_rows(analysis, result),
            shape=shape_of(analysis, result),
        )
        if analysis.blocks:
            analysis.cache.put(self.key, to_entry(by_record(analysis, result)))
        keep_summary(analysis.cache, self.key, summary)
        return summary


@dataclass(frozen=True, eq=False, kw_only=True)
class DivisionTask(Task["Division"]):
    """How ε is divided among the blocks by what is asked of each."""

    wanted: dict[str, float]
    background: bool = True

    def answer(self, analysis: AnyAnalysis[Any]) -> Division:
        from synth_core.experiments.explore.division import divide

        return divide(analysis, self.mechanism, self.wanted)


@dataclass(frozen=True, eq=False)
class ContractTask(Task["ContractReport"]):
    """Whether the own program of the settings keeps the contract on the table."""

    repeated: ClassVar[bool] = True

    def answer(self, analysis: AnyAnalysis[Any]) -> ContractReport:
        from synth_core.analysis.own_program_check import check_table

        a = analysis
        return check_table(a.table, a.settings, a.cache, a.progress)


@dataclass(frozen=True, eq=False)
class PointTask(Task[PointSummary]):
    """One point of a map."""

    background: bool = True

    @cached_property
    def key(self) -> str:
        if self.given.blocks:
            return super().key
        table, reference = self.given.fingerprints
        return point_key(table, self.given.settings, find_mechanism(self.mechanism), reference)

    def seconds_of(self, answer: Any) -> float | None:
        return None if answer.cached else float(answer.seconds)

    def answer(self, analysis: AnyAnalysis[Any]) -> PointSummary:
        from synth_core.experiments.explore.point import run_point

        return run_point(analysis, self.mechanism).summary()


@dataclass(frozen=True, eq=False, kw_only=True)
class RivalTask(Task[RivalSummary]):
    """One run of another synthesizer beside a map; `mechanism` is its key."""

    beside: MapRun
    background: bool = True

    @property
    def runs(self) -> tuple[str, ...]:
        """None of ours."""
        return ()

    @classmethod
    def of(cls, table: Table, settings: Settings, beside: MapRun, blocks: Sequence[Block] = ()) -> Self:
        """The task of a run beside the map of these settings."""
        given = TaskInput.of(table, settings.model_copy(update=OWN), blocks=blocks)
        return cls(given, beside.asked.who, beside=beside)

    @cached_property
    def key(self) -> str:
        given = self.given
        return run_key(given.tables[0].fingerprint, given.settings, self.beside, given.blocks)

    @property
    def expected_seconds(self) -> float:
        return RIVALS[self.mechanism].seconds

    def seconds_of(self, answer: Any) -> float | None:
        return None if answer.cached else float(answer.seconds)

    def answer(self, analysis: AnyAnalysis[Any]) -> RivalSummary:
        from synth_core.experiments.rivals.map_runs import run_for_map, summary_of

        return summary_of(run_for_map(analysis, self.beside), self.beside)


@dataclass(frozen=True, eq=False, kw_only=True)
class TuneTask(Task[TuningAnswer]):
    """The inverse tuning of one mechanism.

    Attributes
    ----------
    divided : bool
        Divide the epsilon of a strict mechanism among the blocks first, by the target's accuracy of each.
    """

    target: Target | EpsilonTarget
    variants: tuple[dict[str, Any], ...] = ({},)
    divided: bool = False
    background: bool = True

    def answer(self, analysis: AnyAnalysis[Any]) -> TuningAnswer:
        from synth_core.experiments.explore.division import divided_for, shares_by_name
        from synth_core.experiments.explore.tuning import tune

        if self.divided:
            analysis = divided_for(analysis, self.mechanism, self.target)
        answer = tune(analysis, self.mechanism, self.target, self.variants)
        return replace(answer, shares=shares_by_name(analysis))


@dataclass(frozen=True)
class PlanMade:
    """A plan that a task has made and saved, and what stood out: problems of the fit, warnings of the gate."""

    plan: Plan
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanTask(Task[PlanMade]):
    """A release plan of a mechanism on the table it was tuned on."""

    decision: Decision

    def answer(self, analysis: AnyAnalysis[Any]) -> PlanMade:
        from synth_core.release.output.closeness_checks import closeness_warnings
        from synth_core.release.plan.planning import make_plan, save_plan
        from synth_core.release.state import plans_directory

        result = analysis.run(self.mechanism)
        plan, content = make_plan(analysis, result, self.decision)
        save_plan(plan, content, plans_directory() / f"{plan.digest}.json")
        warnings = closeness_warnings(analysis, result)
        return PlanMade(plan, result.problems, tuple(warnings))


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseTask(Task[ReleaseOutcome]):
    """A release of a table by a plan.

    Attributes
    ----------
    terms : dict
        Of `Request`, all but the table.
    name : str
        Of the release, and of the click that asked for it: two clicks are two tasks.
    coverage : int
        Simulated databases that the coverage of its intervals is measured on; 0: it is not.
    """

    terms: dict[str, Any]
    name: str
    coverage: int = 0

    @property
    def runs(self) -> tuple[str, ...]:
        """A plan was checked when it was made."""
        return ()

    @classmethod
    def of(cls, request: Request, click: str, coverage: int = 0) -> Self:
        """The task of a request, with so many simulated databases for the coverage of its intervals."""
        terms = {each.name: getattr(request, each.name) for each in fields(request) if each.name != "table"}
        blocks = tuple(each.block for each in request.plan.blocks)
        given = TaskInput.of(request.table, request.plan.settings, blocks=blocks)
        name = f"{request.id}:{click}"
        return cls(given, request.plan.mechanism, terms=terms, name=name, coverage=coverage)

    @cached_property
    def key(self) -> str:
        return f"release:{self.name}"

    def answer(self, analysis: AnyAnalysis[Any]) -> ReleaseOutcome:
        from synth_core.experiments.studies.released_coverage import ReleasedCoverage
        from synth_core.release.making.releasing import release

        study = ReleasedCoverage(self.coverage) if self.coverage else None
        return release(Request(table=analysis.loaded, **self.terms), analysis.progress, study)


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckTask(Task["FitCheck"]):
    """The check of a model's unweighted fit; of several variables that of `variable`, given those before it."""

    column: str | None
    level: str | None
    variable: str = ""

    @classmethod
    def of(
        cls,
        table: Table,
        settings: Settings,
        column: str | None,
        level: str | None,
        blocks: Sequence[Block] = (),
        variable: str = "",
    ) -> Self:
        """The check of a model; it depends on no setting of the mechanisms."""
        usual = {
            name: Settings.model_fields[name].default for name in NOT_OF_ALL | {"percentiles", "datasets"}
        }
        given = TaskInput.of(table, settings, blocks=blocks).changed(**usual)
        return cls(given, column=column, level=level, variable=variable)

    def answer(self, analysis: AnyAnalysis[Any]) -> FitCheck:
        from synth_core.analysis.model_check import run_check

        name = self.variable or analysis.settings.outcome
        [alone] = [each for each in analysis.analyses(False) if each.settings.outcome == name]
        return run_check(alone, self.column, self.level)


@dataclass(frozen=True, eq=False, kw_only=True)
class SensitivityTask(Task["tuple[PriorSensitivity, ...]"]):
    """A mechanism again under scaled priors."""

    factors: tuple[float, ...]

    def answer(self, analysis: AnyAnalysis[Any]) -> tuple[PriorSensitivity, ...]:
        from synth_core.analysis.model_check import run_sensitivity

        [alone] = analysis.analyses(False)
        return run_sensitivity(alone, self.mechanism, self.factors)


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyTask(Task[StudyAnswer]):
    """A Monte Carlo study; with blocks, its databases are of whole records."""

    asked: StudyRequest
    background: bool = True

    @property
    def runs(self) -> tuple[str, ...]:
        return self.asked.mechanisms

    @classmethod
    def of(
        cls,
        table: Table,
        settings: Settings,
        asked: StudyRequest,
        blocks: Sequence[Block] = (),
        reference: Table | None = None,
    ) -> Self:
        """The task of a study beside these settings; with a reference, risk maps of its databases are frozen on it."""
        changes = {"match_epsilon": None} if reference is not None else OWN
        given = TaskInput.of(table, settings.model_copy(update=changes), reference, blocks)
        return cls(given, asked=asked)

    def answer(self, analysis: AnyAnalysis[Any]) -> StudyAnswer:
        from synth_core.jobs.study_task import run_in_app

        return run_in_app(analysis, self.asked)


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditTask(Task["AuditAnswer"]):
    """A privacy audit of mechanisms, or of a release plan."""

    asked: AuditRequest
    plan: Plan | None = None
    background: bool = True

    @property
    def runs(self) -> tuple[str, ...]:
        return () if self.plan is not None else self.asked.mechanisms

    def answer(self, analysis: AnyAnalysis[Any]) -> AuditAnswer:
        from synth_core.jobs.audit_task import run_in_app

        return run_in_app(analysis, self.asked, self.plan)
