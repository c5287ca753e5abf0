"""A mechanism with its weights: what is known of it before the refit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.anchored import Anchored
from synth_core.analysis.fits import Fits
from synth_core.analysis.mechanism_weights import MechanismWeights, weights_of
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
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


def require_survey_weights(mechanism: Mechanism) -> None:
    """Refuse what is not known to compose with survey weights in the likelihood; raises InputError with the reason."""
    if mechanism.adjustments:
        raise InputError(
            f"{mechanism.label}: truncation and re-weighting are solved on the fit without survey weights, and say "
            "nothing of the product with them. Take a mechanism without them, or declare no total (--weight-total)."
        )
    if mechanism.standard.of_range:
        raise InputError(
            f"{mechanism.label}: no proof covers a sensitive range with survey weights in the likelihood. Take a "
            "mechanism of the whole range, or declare no total (--weight-total)."
        )


def require_units(mechanism: Mechanism, settings: Settings) -> None:
    """Refuse a mechanism whose epsilon is of a record where units of several are declared; raises InputError."""
    if settings.unit_column is not None and not mechanism.likelihood.clamps:
        raise InputError(
            f"{mechanism.label}: its ε is measured for one record, and says nothing of a unit of several. Take a "
            "mechanism that keeps ε by construction: measured, anchored or censored; or name no units (--unit-column)."
        )


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
