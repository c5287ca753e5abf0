"""What an audit asks of an analysis of K ≥ 1 sensitive variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.fits import Progress
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.errors import InputError
from synth_core.experiments.audit.measured_runs import MEASURED, MeasuredTrials
from synth_core.experiments.audit.neighbours import relations_of
from synth_core.experiments.audit.one_variable import FindNeighbours, anchored_at_own_draw, trials_of_one
from synth_core.experiments.audit.whole_records import trials_of_records
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.models import OwnProgram


@dataclass(frozen=True)
class AuditedAnalysis:
    """An analysis as it is audited: of several variables a neighbour differs in all sensitive values of a record."""

    analysis: AnyAnalysis[Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (*self.analysis.outcomes, *self.analysis.settings.predictors)

    @property
    def models(self) -> str:
        """The families, each with its variable where there are several."""
        fits = self.analysis.analyses(False)
        if not self.analysis.blocks:
            return fits[0].model.label
        return "; ".join(f"{each.settings.outcome}: {each.model.label}" for each in fits)

    @cached_property
    def content(self) -> dict[str, Any]:
        """What its lines depend on: everything but the mechanism."""
        fits = self.analysis.analyses(False)
        return {
            "table": self.analysis.loaded.fingerprint,
            "settings": [each.settings.model_dump(mode="json") for each in fits],
            "blocks": [[block.name, block.missing] for block in self.analysis.blocks],
            "reference": [each.reference_fingerprint for each in fits],
        }

    def check(self) -> None:
        """Raise InputError for what no audit can be made of."""
        for name, settings in self.analysis.outcomes.items():
            if settings.model == OwnProgram.name:
                raise InputError(
                    f"'{name}': an own Stan program cannot be audited, because each of thousands of synthetic tables "
                    f"would need a process of its own. Take one of the built-in models."
                )
        if self.analysis.settings.match_epsilon is not None:
            raise InputError(
                "These settings match one mechanism's ε to another's; audit them without matching."
            )

    def reporting(self, progress: Progress) -> AuditedAnalysis:
        """A copy whose progress is reported to another callback."""
        return AuditedAnalysis(self.analysis.reporting(progress))

    def from_current(self) -> AuditedAnalysis:
        """A copy with weights from its own table."""
        return AuditedAnalysis(self.analysis.from_current())

    def relations(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The relations that something is said about."""
        units = self.analysis.settings.unit_column is not None
        return relations_of(mechanism, bool(self.analysis.blocks) or units)

    def holds_draw(self, mechanism: Mechanism) -> bool:
        """Whether an anchor was drawn from the table itself, and that draw is held on its neighbours."""
        anchored = mechanism.likelihood.anchors
        return anchored and any(
            anchored_at_own_draw(each.weighted(mechanism)) for each in self.analysis.analyses(anchored)
        )

    def trials(self, result: Any, relation: str, runs: int) -> FindNeighbours:
        """The neighbours to be tried, and what gives the runs on both tables."""
        point = result.point
        if point.likelihood.key in MEASURED:
            return MeasuredTrials(self.analysis, point.likelihood.key, point.label, relation, runs).find()
        if isinstance(self.analysis, RecordsAnalysis):
            return trials_of_records(self.analysis, result, relation, runs)
        [alone] = self.analysis.analyses(False)
        return trials_of_one(alone, result, relation, runs)
