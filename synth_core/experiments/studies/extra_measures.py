"""What a point of a study may measure beside its result's own numbers: a worker computes it, while it has the fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.records.synthetic_records import at_records
from synth_core.analysis.result import Result
from synth_core.analysis.survey_estimates import weighted_statistics
from synth_core.data.survey_weights import Survey

Numbers = dict[str, float]
QUANTILES = 500  # by which a mean is computed


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


@dataclass(frozen=True)
class ConfidentialWeights:
    """`NAME_drawn`, `NAME_smoothed`: statistics of the population by survey weights that are a sensitive variable too.

    By each record's synthetic weight, and by the one that the model expects of it; `NAME_confidential` is that of the
    table, and `NAME_unweighted` that of the synthetic values without weights.
    """

    outcome: str
    weight: str

    def __call__(self, analysis: RecordsAnalysis, result: RecordsResult) -> Numbers:
        values = analysis.synthetic(result)
        synthetic = values[self.outcome]
        confidential = analysis.confidential[self.outcome], Survey(analysis.confidential[self.weight])
        weights = {
            "drawn": values[self.weight],
            "smoothed": expected_values(analysis, result, self.weight),
            "unweighted": np.ones_like(synthetic),
        }
        found: Numbers = {}
        for how, of_sets in weights.items():
            sets = [(each, Survey(w)) for each, w in zip(synthetic, of_sets, strict=True)]
            for each in weighted_statistics(confidential, sets, analysis.settings.percentiles):
                found |= {
                    f"{each.name}_{how}": each.synthetic,
                    f"{each.name}_confidential": each.confidential,
                }
        return found


def expected_values(analysis: RecordsAnalysis, result: RecordsResult, name: str) -> NDArray[np.float64]:
    """What the model of a variable expects of each synthetic record, given the values that were drawn before it.

    By the parameters that the records were drawn by, so it leaves with them at no further epsilon. The mean is that of
    the middles of `QUANTILES` equally likely ranges.

    Returns
    -------
    array of shape (n_datasets, n_records)
    """
    shares, found = (np.arange(QUANTILES) + 0.5) / QUANTILES, []
    for parameters, columns in zip(analysis.parameters(result), result.drawn, strict=True):
        part, model, draw, *_ = next(each for each in parameters if each[0].name == name)
        here = at_records(part, model, analysis.public_design, columns)
        quantiles = (here.from_uniform(draw, np.full(analysis.n_records, share)) for share in shares)
        found.append(sum(quantiles) / QUANTILES)
    return np.stack(found)
