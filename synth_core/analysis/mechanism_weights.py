"""The weights of a mechanism: scheme, scale and shift, truncation, re-weighting.

The risk that weights are made of comes from the current table, or from a frozen risk map
(risk_map.py). Only then does a record's weight depend on that record alone (PPM, Assumptions 1
and 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.risk_map import FrozenReweighting, RiskMap, ends
from synth_core.analysis.settings import Settings
from synth_core.engine.sampling import Posterior
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Bounds, lipschitz_bounds
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import weighted_terms
from synth_core.mechanisms.schemes import SCHEMES, Evidence, Scheme
from synth_core.mechanisms.solving import Solution, solve_increasing
from synth_core.mechanisms.weights import reweight, truncate
from synth_core.models.base import Draws, Model

Array = NDArray[np.float64]
WeightsOfValues = Callable[[NDArray[np.int64], Array], Array]
TELLING_RECORDS = 256  # evenly by their value: their extreme draws tell the risk of other values roughly


@dataclass(frozen=True)
class MechanismWeights:
    """Weights of shape (n_records,), how many were truncated, and what was solved for."""

    weights: Array
    truncated: int = 0
    tuned: dict[str, int | float] = field(default_factory=dict)


class TableEvidence:
    """The evidence of a scheme (`schemes.Evidence`), on the table itself or on a frozen map."""

    def __init__(self, fits: Fits, frozen: RiskMap | None):
        self._fits, self._frozen = fits, frozen

    @property
    def outcome(self) -> Array:
        return self._fits.model.records.outcome

    @property
    def counted(self) -> Array:
        if self._frozen is None:
            return self.outcome
        if not self._frozen.outcome.size:
            raise InputError(
                "The plan's risk map holds no values that count weights could count in: the plan is of another "
                "mechanism. Name the table that it was tuned on as the risk reference, or take a mechanism of its kind."
            )
        return self._frozen.outcome

    @cached_property
    def max_abs_log_lik(self) -> Array:
        if self._frozen is None:
            return self._fits.unweighted_bounds().lipschitz_bounds
        return self._frozen.max_abs_log_lik(self._fits)

    @cached_property
    def oscillation(self) -> Array:
        if self._frozen is None:
            return self._fits.unweighted_bounds().oscillations
        return self._frozen.oscillation(self._fits)

    def span_of(self, measure: str) -> tuple[float, float] | None:
        return self._fits.settings.risk_span if self._frozen is None else self._frozen.spans[measure]

    @property
    def lipschitz_bound(self) -> float:
        whose = self._fits.unweighted_bounds() if self._frozen is None else self._frozen
        return whose.lipschitz_bound


class SubsetEvidence:
    """Evidence about a subset of the records; what a frozen map knows does not change."""

    def __init__(self, risk: TableEvidence, rows: slice | NDArray[np.bool_]):
        self._risk, self._rows = risk, rows

    def __getattr__(self, name: str) -> Any:
        """Looked up when a scheme asks: it may need little of it, and f_i costs a fit."""
        value = getattr(self._risk, name)
        return value[self._rows] if name in ("outcome", "max_abs_log_lik", "oscillation") else value


class ReplacedValueEvidence:
    """Evidence of other values: their own risk, and what is known of the others."""

    def __init__(self, risk: TableEvidence, model: Model, draws: Draws):
        self._risk, self._model, self._draws = risk, model, draws
        self.outcome = model.records.outcome

    @cached_property
    def _bounds(self) -> Bounds:
        draws = len(next(iter(self._draws.values())))
        return lipschitz_bounds(
            lambda rows: self._model.log_lik(self._draws, rows), self._model.records.n, draws
        )

    @property
    def max_abs_log_lik(self) -> Array:
        return self._bounds.lipschitz_bounds

    @property
    def oscillation(self) -> Array:
        return self._bounds.oscillations

    def span_of(self, measure: str) -> tuple[float, float] | None:
        return self._risk.span_of(measure) or ends(getattr(self._risk, measure))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._risk, name)


class LeaveOneOutEvidence(SubsetEvidence):
    """What the table alone says once a record has left, with the posterior held."""

    def __getattr__(self, name: str) -> Any:
        if name == "counted":
            return self.outcome
        return float(self.max_abs_log_lik.max()) if name == "lipschitz_bound" else super().__getattr__(name)


def _require_own_record(scheme: str, weights: Array, of_some: Array) -> None:
    """A frozen map promises that a weight depends on its record alone: without half of the others it must stay."""
    if not np.array_equal(weights[::2], of_some):
        raise InputError(
            f"The scheme '{scheme}' reads other records: without them its weights change, although the risk map is "
            f"frozen. Its guarantee would be untrue; use it without a frozen map."
        )


def weights_of(
    mechanism: Mechanism, fits: Fits, frozen: RiskMap | None = None, scalar: float | None = None
) -> MechanismWeights:
    """The weights of a mechanism, before range averaging.

    Parameters
    ----------
    frozen : RiskMap, optional
        None makes the weights from the current table.
    scalar : float, optional
        Replaces the weight of a scheme that has a single one.
    """
    s, n = fits.settings, fits.model.records.n
    scheme, risk = SCHEMES[mechanism.scheme], TableEvidence(fits, frozen)
    chosen = _chosen(scheme, fits)
    tuned: dict[str, int | float] = {}
    if scheme.alpha is None:
        weights = np.ones(n)
    elif scheme.single:
        if scalar is None and frozen is not None:
            scalar = frozen.scalar
        if scalar is None:
            scalar = float(scheme.alpha(risk, **chosen))
        weights, tuned["scalar"] = np.full(n, scalar), scalar
    else:
        weights = np.asarray(scheme.alpha(risk, **chosen))
        if frozen is not None and n > 1:
            of_some = np.asarray(scheme.alpha(SubsetEvidence(risk, slice(0, n, 2)), **chosen))
            _require_own_record(mechanism.scheme, weights, of_some)
        if weights.shape != (n,) or not ((weights >= 0) & (weights <= 1)).all():
            raise ValueError(f"the scheme '{mechanism.scheme}' must give each record a weight in [0, 1]")
    truncated = 0
    if "truncation" in mechanism.adjustments:
        before = np.count_nonzero(weights)
        weights = _truncated(mechanism, weights, risk, s)
        truncated = int(before - np.count_nonzero(weights))
    if "reweighting" in mechanism.adjustments:
        if frozen is not None and frozen.reweighting is not None:
            weights = _reweighted_by(weights, fits, frozen, frozen.reweighting)
            tuned["k"] = frozen.reweighting.k
        else:
            weights, solution = _reweighted(weights, fits)
            tuned |= solved("k", solution)
    return MechanismWeights(weights, truncated, tuned)


def _chosen(scheme: Scheme, fits: Fits) -> dict[str, Any]:
    """What the scheme's function is called with beside the evidence."""
    return {
        name: fits.radius if name == "radius" else getattr(fits.settings, name) for name in scheme.keywords
    }


def _truncated(mechanism: Mechanism, weights: Array, evidence: Evidence, settings: Settings) -> Array:
    """The weights after truncation, if the mechanism has it; the evidence is about the same records."""
    if "truncation" not in mechanism.adjustments:
        return weights
    return truncate(weights, evidence.max_abs_log_lik, settings.epsilon / 2)


def _goes_on(mechanism: Mechanism) -> bool:
    """Whether more enters the weights after scheme, scale, shift and truncation: a refit, or a sensitive range."""
    return "reweighting" in mechanism.adjustments or mechanism.standard.of_range


def weights_without(mechanism: Mechanism, fits: Fits, weights: Array) -> list[Array] | None:
    """The weights without each of the records whose leaving moves those of others, the unweighted posterior held.

    Of weights made from the current table by scheme, scale, shift and truncation.

    Parameters
    ----------
    weights : array of shape (n_records,)
        Of the mechanism.

    Returns
    -------
    list of arrays of shape (n_records,), each 0 at the record that left, or None
        None where it is not known which records they are, or where a refit or a range entered.
    """
    scheme = SCHEMES[mechanism.scheme]
    if scheme.alpha is None or scheme.influential is None or _goes_on(mechanism):
        return None
    alpha_of = scheme.alpha
    risk, chosen, without = TableEvidence(fits, None), _chosen(scheme, fits), []

    def of(evidence: Any, rows: NDArray[np.bool_]) -> Array:
        alpha = np.zeros(len(weights))
        alpha[rows] = _truncated(
            mechanism, np.full(rows.sum(), alpha_of(evidence, **chosen)), evidence, fits.settings
        )
        return alpha

    everyone = np.ones(len(weights), dtype=bool)
    if not np.array_equal(weights, of(risk, everyone)):  # solved for, to match another mechanism
        return None
    for record in scheme.influential(risk):
        others = everyone.copy()
        others[record] = False
        without.append(of(LeaveOneOutEvidence(risk, others), others))
    return without


def extreme_draws(model: Model, posterior: Posterior, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the draws at which a log-likelihood of these records is the largest or the smallest.

    They are some dozens, and tell of other values what all draws do: over evenly spread ones a maximum is too small.
    """
    log_lik = model.log_lik(posterior.draws, rows)
    return np.unique(np.concatenate([log_lik.argmax(axis=0), log_lik.argmin(axis=0)]))


def weights_of_values(
    mechanism: Mechanism, fits: Fits, frozen: RiskMap | None, roughly: bool = False
) -> WeightsOfValues | None:
    """A function that gives records the weights that other values would have, with the others' risk held.

    None where a record's weight does not change with its value, or where a refit or a range enters it.

    Parameters
    ----------
    roughly : bool
        Whether the risk of another value is taken at a few draws that tell of nearly all, and not at all of them.
    """
    scheme = SCHEMES[mechanism.scheme]
    if scheme.alpha is None or scheme.single or _goes_on(mechanism) or not fits.model.cheap_log_lik:
        return None
    alpha_of = scheme.alpha
    risk, chosen = TableEvidence(fits, frozen), _chosen(scheme, fits)
    posterior = fits.unweighted()[0] if frozen is None else frozen.posterior
    model = fits.model if frozen is None else frozen.model_of(fits)
    draws = posterior.draws
    if roughly:
        by_value = np.argsort(model.records.outcome, kind="stable")
        some = np.unique(np.linspace(0, len(by_value) - 1, TELLING_RECORDS).astype(int))
        at = extreme_draws(model, posterior, by_value[some])
        draws = {name: values[at] for name, values in draws.items()}
    survey = fits.survey_weights

    def weigh(rows: NDArray[np.int64], values: Array) -> Array:
        asked = ReplacedValueEvidence(risk, model.of_records(rows, values), draws)
        alpha = _truncated(mechanism, np.asarray(alpha_of(asked, **chosen)), asked, fits.settings)
        return alpha if survey is None else survey[rows] * alpha

    return weigh


def _reweighted_by(weights: Array, fits: Fits, frozen: RiskMap, how: FrozenReweighting) -> Array:
    """Re-weighting with k, Delta and the weighted fit of the map: nothing is read of other records."""
    f = frozen.max_abs_log_lik(fits, how.posterior)
    return reweight(weights, weighted_terms(f, weights), how.k, how.lipschitz_bound)


def _reweighted(weights: Array, fits: Fits) -> tuple[Array, Solution]:
    """Solve for the k that leaves Delta where it was (Reweight, section 3.1)."""
    posterior, key = fits.posterior(weights, text="fitting before re-weighting")
    first = fits.bounds(posterior, key, weights)

    def evaluate(k: float) -> float:
        raised = reweight(weights, first.lipschitz_bounds, k)
        refit, refit_key = fits.posterior(raised, text=f"re-weighting, k = {k:.3f}")
        return fits.bounds(refit, refit_key, raised).lipschitz_bound

    tolerance = fits.settings.reweight_tolerance
    try:
        solution = solve_increasing(evaluate, first.lipschitz_bound, 0.95, 10.0, tolerance)
    except ValueError:
        raise InputError("Re-weighting found no k that keeps Δ: even the largest stays below it.") from None
    return reweight(weights, first.lipschitz_bounds, solution.at), solution


def solved(name: str, solution: Solution) -> dict[str, int | float]:
    """A solution as plain numbers for a result."""
    return {name: solution.at, "relative_error": solution.error, "refits": solution.refits}
