"""Coverage of the intervals from a release: databases are drawn from its first data set, and released again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.errors import InputError
from synth_core.experiments.studies.coverage import (
    ANCHORS,
    estimates_words,
    require_drawn_units,
    study_coverage,
)
from synth_core.experiments.studies.covered import coverage_in_words, coverage_of
from synth_core.experiments.studies.run_study import run_study
from synth_core.release.plan.plan import Plan
from synth_core.release.report.coverage_summary import Coverage, CoverageLine
from synth_core.system import limits
from synth_core.system.backend.base import SerialBackend


@dataclass(frozen=True)
class ReleasedCoverage:
    """A study of as many databases, simulated from a released data set.

    Attributes
    ----------
    replicates : int
    """

    replicates: int

    def __post_init__(self) -> None:
        low, high = limits.REPLICATES
        if not low <= self.replicates <= high:
            raise InputError(
                f"Simulated databases for coverage: {low} to {high:,} (given: {self.replicates:,})."
            )

    def check(self, plan: Plan) -> None:
        """Refuse, before anything is charged, what cannot be studied; raises InputError."""
        require_drawn_units(plan.settings)
        if plan.settings.unit_column is not None and plan.unit is None:
            raise InputError(
                f"Coverage is studied on databases in which every '{plan.settings.unit_column}' has its records, and "
                "this plan leaves the column of units out of the files (--no-units). Release it without."
            )
        if plan.point.likelihood.anchors and plan.settings.anchor not in ANCHORS:
            raise InputError(
                f"Coverage is studied with anchors that are made of each simulated database: {' or '.join(ANCHORS)}. "
                "Release this plan without."
            )

    def run(self, analysis: AnyAnalysis[Any], mechanism: str, epsilon: float) -> Coverage:
        """Study the intervals from a data set that was released.

        Parameters
        ----------
        analysis : Analysis or RecordsAnalysis
            Of that data set, under the settings of the plan.
        """
        study, truth = study_coverage(analysis, [mechanism], [epsilon], (), self.replicates, resampled=True)

        def report(done: int, total: int, left: float) -> None:
            remaining = f", about {left:.0f} s left" if np.isfinite(left) else ""
            analysis.progress(f"coverage: {done:,} of {total:,} simulated databases{remaining}", done / total)

        outcome = run_study(
            study, self.replicates, analysis.settings.seed, SerialBackend(), analysis.cache, report
        )
        covered = coverage_of(outcome, truth)
        return Coverage(
            replicates=self.replicates,
            words=tuple(coverage_in_words(covered, self.replicates, estimates_words(analysis.settings))),
            lines=tuple(
                CoverageLine(
                    title=each.title,
                    rule=each.rule,
                    held=each.held[each.rule],
                    error=each.errors[each.rule],
                    factor=each.factor,
                    with_factor=each.with_factor,
                    bias=each.bias,
                )
                for each in covered
            ),
        )
