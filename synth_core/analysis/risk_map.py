"""A frozen risk map: what makes a record's weight depend on that record alone.

PPM's Assumptions 1 and 2 want alpha_i = m(x_i). The posterior draws and the span of f come
from one reference table, historical or public, and are then applied to any other. A map that
a release plan carries is `closed`: k and Delta of re-weighting, EM's scalar, the draws behind
lambda and the start of the tail are frozen too, so that nothing is read from the current table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.data.design import DesignTransform, select
from synth_core.engine.sampling import Posterior
from synth_core.errors import InputError
from synth_core.models import Model, build_model

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrozenReweighting:
    """k, and the weighted fit that Delta and Delta_i are evaluated with (Reweight, section 3.1)."""

    k: float
    posterior: Posterior
    lipschitz_bound: float


@dataclass(frozen=True)
class RiskMap:
    """Draws and span of f of a reference table. Confidential where that table is.

    Attributes
    ----------
    name, fingerprint : str
        Of the reference table.
    key : str
        Changes with the contents.
    transform : DesignTransform
        Predictors to the reference's design.
    posterior : Posterior
        Of the unweighted fit.
    span : (min f, max f), in nats
    lipschitz_bound : float
        Delta of the unweighted fit.
    outcome : array of shape (n_reference,)
        Values that count weights count in; empty where they are not used.
    scalar, reweighting, tail_from
        Frozen with a plan; None is computed from the current table.
    """

    name: str
    fingerprint: str
    key: str
    transform: DesignTransform
    posterior: Posterior
    span: tuple[float, float]
    lipschitz_bound: float
    outcome: Array = field(default_factory=lambda: np.empty(0))
    scalar: float | None = None
    reweighting: FrozenReweighting | None = None
    tail_from: float | None = None
    closed: bool = False

    def model_of(self, fits: Fits) -> Model:
        """The current table's records in the reference's design."""
        s = fits.settings
        mine = select(fits.table, s.outcome, s.predictors, s.categorical, self.transform)
        return build_model(s.model, mine.records, **s.model_options)

    def max_abs_log_lik(self, fits: Fits, posterior: Posterior | None = None) -> Array:
        """f_i of the current records at the frozen draws, of shape (n_records,), in nats."""
        model = self.model_of(fits)
        chosen, part = (self.posterior, "unweighted") if posterior is None else (posterior, "weighted")
        return fits.bounds(
            chosen,
            f"{self.key}:{part}",
            np.ones(model.records.n),
            model=model,
            transformed_by=self.fingerprint,
        ).lipschitz_bounds

    def outside(self, fits: Fits) -> Array:
        """lambda_i of the current records under the frozen unweighted draws."""
        return fits.outside((self.posterior, self.key, self.model_of(fits)))


def map_of(reference: Fits) -> RiskMap:
    """The risk map of a reference table, fitted here."""
    posterior, key = reference.unweighted("fitting the risk reference")
    bounds = reference.unweighted_bounds()
    finite = bounds.lipschitz_bounds[np.isfinite(bounds.lipschitz_bounds)]
    if not finite.size:
        raise InputError("The risk reference has no record of finite risk; choose another table or model.")
    return RiskMap(
        name=reference.table.name,
        fingerprint=reference.table.fingerprint,
        key=f"{key}:{reference.table.fingerprint}",
        transform=reference.selection.transform,
        posterior=posterior,
        span=(float(finite.min()), float(finite.max())),
        lipschitz_bound=bounds.lipschitz_bound,
        outcome=reference.model.records.outcome,
    )
