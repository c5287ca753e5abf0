"""A mechanism with its weights: what is known of it before the refit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.anchored import Anchored
from synth_core.analysis.fits import Fits
from synth_core.analysis.mechanism_weights import MechanismWeights, weights_of
from synth_core.analysis.requirements import require_survey_weights, require_units
from synth_core.analysis.risk_map import RiskMap
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.weights import range_averaged_weights

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weighted:
    """What a refit is made with.

    Attributes
    ----------
    weights : array of shape (n_records,)
        Of the refit.
    multiplier : array of shape (n_records,)
        Of the log-likelihoods in the bounds.
    outside : array of shape (n_records,), or empty
        lambda_i of the range-averaged standard.
    """

    mechanism: Mechanism
    chosen: MechanismWeights
    weights: Array
    multiplier: Array
    outside: Array
    censoring: Censoring | None
    anchored: Anchored | None = None

    def censoring_of(self, rows: Any) -> Censoring | None:
        """How the terms of some of the records are clamped."""
        return None if self.censoring is None else self.censoring.of(rows)


def weigh(
    mechanism: Mechanism,
    fits: Fits,
    frozen: RiskMap | None,
    anchored: Anchored | None = None,
    scalar: float | None = None,
) -> Weighted:
    """The weights of a mechanism's refit and of its bounds, and whether its terms are clamped.

    Parameters
    ----------
    frozen : RiskMap or None
        What the weights are frozen on.
    anchored : Anchored, optional
        Of an anchored likelihood.
    scalar : float, optional
        Replaces EM's own weight.
    """
    require_units(mechanism, fits.settings)
    chosen = weights_of(mechanism, fits, frozen if mechanism.weighted else None, scalar)
    if (survey := fits.survey_weights) is not None:
        require_survey_weights(mechanism)
        chosen = replace(chosen, weights=survey * chosen.weights)
    weights, multiplier, outside = chosen.weights, chosen.weights, np.empty(0)
    if anchored is not None:
        weights = multiplier = np.where(anchored.part, anchored.weight * weights, 0.0)
        chosen = replace(chosen, tuned=chosen.tuned | anchored.tuned)
    if mechanism.standard.averages:
        closed = frozen is not None and frozen.closed
        outside = frozen.outside(fits) if frozen is not None and closed else fits.outside()
        multiplier = (1.0 - outside) * weights
        weights = range_averaged_weights(weights, outside)
    censoring = censoring_under(mechanism, fits, anchored)
    return Weighted(mechanism, chosen, weights, multiplier, outside, censoring, anchored)


@dataclass(frozen=True)
class _Fit:
    """What a likelihood may read to say how its terms are clamped (`likelihoods.Fit`)."""

    epsilon: float
    n_records: int
    anchored: Censoring | None


def censoring_under(mechanism: Mechanism, fits: Fits, anchored: Anchored | None) -> Censoring | None:
    """How a mechanism's likelihood is clamped, if it is."""
    clamp = mechanism.likelihood.clamp
    if clamp is None:
        return None
    around = None if anchored is None else anchored.censoring
    return clamp(_Fit(fits.settings.record_epsilon, fits.model.records.n, around))
