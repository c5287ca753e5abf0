"""A result as plain numbers, made in one place: tables, files and studies select from them, rename and format."""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.analysis.result import Result
from synth_core.analysis.utility import Statistic
from synth_core.engine.sampling import Diagnostics
from synth_core.mechanisms.guarantees import WeightsFrom


@dataclass(frozen=True)
class FlatResult:
    """The plain numbers of a result: no arrays, no curves, no values of single records. Confidential.

    Attributes
    ----------
    mechanism, label : str
        Its key, and its name.
    guarantee : str
        What is promised, as a badge says it.
    lipschitz_bound, bound_mean : float or None
        Delta and the mean of the by-record bounds, in nats; None for the histogram.
    epsilon, epsilon_replace : float
        Of one data set, removing or replacing a record; the second may be None.
    oscillation, oscillation_joint : float or None
        See `Result`.
    n_draws : int
        Posterior draws that all this was measured at; 0 for the histogram.
    n_records, n_datasets : int
    n_zero_weight, n_truncated, n_censored : int
        Records of weight 0, those that truncation set to 0, and those censored at some draw.
    weight_mean, weight_min, weight_max : float or None
        None for the histogram.
    match_risk, true_match_rate, false_match_rate : float
        Identification risk, see `IdentificationRisk`; means over data sets.
    ecdf_max, ecdf_avg : float
        Distances of distribution functions, see `EcdfDistance`; means over data sets.
    overlap : float or None
        Of intervals of regression coefficients; None without predictors.
    statistics : tuple of Statistic
        Mean and percentiles of the confidential and the synthetic values.
    weights_from : str
        Where the weights come from.
    tuned : dict
        What was solved for.
    diagnostics : Diagnostics or None
    problems : tuple of str
        Why the numbers should not be used.
    seconds : float
        What it cost when it was computed.
    cached : bool
    preview_khat : float or None
        Of an approximate result.
    anchor : str
        A sentence about what the likelihood is anchored at; empty where it is not.
    """

    mechanism: str
    label: str
    guarantee: str
    lipschitz_bound: float | None
    bound_mean: float | None
    epsilon: float
    epsilon_replace: float | None
    oscillation: float | None
    oscillation_joint: float | None
    n_draws: int
    n_records: int
    n_datasets: int
    n_zero_weight: int
    n_truncated: int
    n_censored: int
    weight_mean: float | None
    weight_min: float | None
    weight_max: float | None
    match_risk: float
    true_match_rate: float
    false_match_rate: float
    ecdf_max: float
    ecdf_avg: float
    overlap: float | None
    statistics: tuple[Statistic, ...]
    weights_from: WeightsFrom
    tuned: dict[str, int | float]
    diagnostics: Diagnostics | None
    problems: tuple[str, ...]
    seconds: float
    cached: bool
    preview_khat: float | None
    anchor: str

    @property
    def synthetic(self) -> dict[str, float]:
        """Statistics of the synthetic values by name."""
        return {each.name: each.synthetic for each in self.statistics}

    @property
    def relative_errors(self) -> dict[str, float]:
        """Relative errors of the statistics by name."""
        return {each.name: each.relative_error for each in self.statistics}


def flatten(result: Result) -> FlatResult:
    """The plain numbers of a result."""
    weights, bounds = result.weights, result.lipschitz_bounds
    n_datasets, n_records = result.synthetic.shape
    return FlatResult(
        mechanism=result.mechanism,
        label=result.point.label,
        guarantee=result.guarantee.label,
        lipschitz_bound=result.lipschitz_bound,
        bound_mean=float(bounds.mean()) if bounds.size else None,
        epsilon=result.epsilon,
        epsilon_replace=result.epsilon_replace,
        oscillation=result.oscillation,
        oscillation_joint=result.oscillation_joint,
        n_draws=len(result.growth),
        n_records=n_records,
        n_datasets=n_datasets,
        n_zero_weight=result.n_zero_weight,
        n_truncated=result.n_truncated,
        n_censored=result.n_censored,
        weight_mean=float(weights.mean()) if weights.size else None,
        weight_min=float(weights.min()) if weights.size else None,
        weight_max=float(weights.max()) if weights.size else None,
        match_risk=float(result.match_risk.mean()),
        true_match_rate=result.true_match_rate,
        false_match_rate=result.false_match_rate,
        ecdf_max=result.ecdf_max,
        ecdf_avg=result.ecdf_avg,
        overlap=result.overlap,
        statistics=result.statistics,
        weights_from=result.weights_from,
        tuned=result.tuned,
        diagnostics=result.diagnostics,
        problems=result.problems,
        seconds=result.seconds,
        cached=result.cached,
        preview_khat=result.preview_khat,
        anchor=result.anchor,
    )
