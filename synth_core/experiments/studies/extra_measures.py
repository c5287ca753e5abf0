"""What a point of a study may measure beside its result's own numbers: a worker computes it, while it has the fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.result import Result
from synth_core.analysis.survey_estimates import weighted_statistics

Numbers = dict[str, float]


class Extra(Protocol):
    """A measure of a result beyond its own numbers; a frozen dataclass whose `repr` enters the replicate's key."""

    def __call__(self, analysis: Any, result: Any) -> Numbers: ...


@dataclass(frozen=True)
class RecordsAbove:
    """`above_B`: records whose log-likelihood, unweighted and with its sign, exceeds B in some draw of the fit."""

    bound: float

    def __call__(self, analysis: Analysis, result: Result) -> Numbers:
        posterior, key = analysis.refit_and_key(result)
        bounds = analysis.fits.bounds(posterior, key, np.ones(analysis.model.records.n))
        return {f"above_{self.bound:g}": float((bounds.highest > self.bound).sum())}


@dataclass(frozen=True)
class CountMean:
    """`count_mean`, `count_mean_sd`: posterior mean and deviation of a count model's mean, without predictors."""

    def __call__(self, analysis: Analysis, result: Result) -> Numbers:
        mean = np.exp(analysis.refit(result).draws["beta"][:, 0])
        return {"count_mean": float(mean.mean()), "count_mean_sd": float(mean.std(ddof=1))}


@dataclass(frozen=True)
class WithoutWeights:
    """`NAME_without`: statistics of the population, by survey weights, of values that were made without them."""

    def __call__(self, analysis: Analysis, result: Result) -> Numbers:
        survey, outcome = analysis.survey, analysis.model.records.outcome
        if survey is None:
            return {}
        plain = analysis.with_settings(weight=None, weight_total=None, strata=None, accuracy_of="sample")
        sets = [(each, survey) for each in plain.run(result.mechanism).synthetic]
        found = weighted_statistics((outcome, survey), sets, analysis.settings.percentiles)
        return {f"{each.name}_without": each.synthetic for each in found}
