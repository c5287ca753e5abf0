"""The last steps of a run: what a refit says of privacy, and what the values drawn from it say of utility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.identification_risk import identification_risk
from synth_core.analysis.record_influence import joint_oscillation, replaced_oscillation
from synth_core.analysis.regression import interval_overlap
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.survey_estimates import weighted_statistics
from synth_core.analysis.utility import Statistic, distance_of, share_statistics, statistics
from synth_core.analysis.weighted import Weighted
from synth_core.data.survey_weights import Survey
from synth_core.engine.sampling import Posterior
from synth_core.models import Records

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Privacy:
    """The part of a `Result` that its attributes of the same names describe."""

    lipschitz_bounds: Array
    growth: Array
    epsilon_promised: float | None
    epsilon_replace: float | None
    n_censored: int = 0
    oscillation: float | None = None
    oscillation_joint: float | None = None


def privacy_of(
    weighted: Weighted,
    fits: Fits,
    frozen: RiskMap | None,
    posterior: Posterior,
    fit_key: str,
    from_current: bool,
) -> Privacy:
    """Bounds of a mechanism under its posterior.

    Parameters
    ----------
    frozen : RiskMap or None
        What the weights are frozen on.
    fit_key : str
        Of the posterior in the cache.
    from_current : bool
        Whether the weights come from the table itself, so that those of others move with a record.
    """
    mechanism, censoring = weighted.mechanism, weighted.censoring
    terms = posterior, fit_key, weighted.multiplier, mechanism.standard.truncates
    n_censored, promised, replaced, oscillation = 0, None, None, None
    if censoring is None:
        bounds = fits.bounds(*terms)
        oscillation = bounds.oscillation
        if fits.units is None:  # what other values of a whole unit would do is not searched for
            replaced = replaced_oscillation(mechanism, fits, frozen, posterior, weighted.multiplier, bounds)
    else:
        before = fits.bounds(*terms, censoring=censoring, of_records=True)
        n_censored = int((before.lipschitz_bounds > censoring.bound).sum())
        alone = fits.units is None
        bounds = before.clamped(censoring.bound) if alone else fits.bounds(*terms, censoring=censoring)
        # A priori: one term can go from -epsilon/2 to epsilon/2 when a record is replaced.
        promised, replaced = fits.settings.epsilon, 2 * fits.settings.epsilon
    joint = None
    if from_current and fits.units is None:
        joint = joint_oscillation(mechanism, fits, weighted.weights, posterior, bounds, censoring)
    return Privacy(
        bounds.lipschitz_bounds, bounds.growth(), promised, replaced, n_censored, oscillation, joint
    )


@dataclass(frozen=True)
class Utility:
    """The part of a `Result` that its attributes of the same names describe; means over data sets."""

    match_risk: Array
    true_match_rate: float
    false_match_rate: float | None
    ecdf_max: float
    ecdf_avg: float
    ecdf_location: float
    overlap: float | None
    statistics: tuple[Statistic, ...]


def utility_of(
    records: Records,
    synthetic: Array,
    percentiles: tuple[float, ...],
    radius: float,
    seed: int,
    categories: tuple[str, ...] | None = None,
    survey: Survey | None = None,
) -> Utility:
    """Everything that a result says of its synthetic values.

    Parameters
    ----------
    synthetic : array of shape (n_datasets, n_records)
    radius : float
        Of the match risk, see `identification_risk`.
    seed : int
        Of the bootstrap.
    categories : tuple of str, optional
        What the codes of the outcome stand for; its shares are then compared instead of mean and percentiles.
    survey : Survey, optional
        Of the records: what is compared is then of the population. Match risk is of the records themselves.
    """
    outcome, group = records.outcome, records.distinct_design[1]
    weights = None if survey is None else (survey.weights, survey.weights)
    distances = [distance_of(outcome, each, categories, weights) for each in synthetic]
    overlaps = []  # no regression has a code on its left
    if categories is None:
        overlaps = [interval_overlap(outcome, each, records.design, survey) for each in synthetic]
    if survey is not None:
        sets = [(each, survey) for each in synthetic]
        compared = weighted_statistics((outcome, survey), sets, percentiles, categories)
    elif categories is None:
        compared = statistics(outcome, synthetic, percentiles, seed)
    else:
        compared = share_statistics(outcome, synthetic, categories, seed)
    known = [each for each in overlaps if each is not None]
    risks = [identification_risk(outcome, each, group, radius) for each in synthetic]
    false = [r.false_match_rate for r in risks if r.false_match_rate is not None]
    return Utility(
        match_risk=np.mean([r.by_record for r in risks], axis=0),
        true_match_rate=float(np.mean([r.true_match_rate for r in risks])),
        false_match_rate=float(np.mean(false)) if false else None,
        ecdf_max=float(np.mean([d.ecdf_max for d in distances])),
        ecdf_avg=float(np.mean([d.ecdf_avg for d in distances])),
        ecdf_location=distances[0].location,
        overlap=float(np.mean(known)) if known else None,
        statistics=compared,
    )
