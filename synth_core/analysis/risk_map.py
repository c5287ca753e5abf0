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
from synth_core.analysis.selection import selected
from synth_core.data.design import DesignTransform
from synth_core.engine.sampling import Posterior
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Bounds
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
    name, fingerprint, records : str
        Of the reference table; `records` is its `fingerprint_of_records`, empty where an older file lacks it.
    key : str
        Changes with the contents.
    transform : DesignTransform
        Predictors to the reference's design.
    posterior : Posterior
        Of the unweighted fit.
    spans : dict
        Smallest and largest of each measure of risk, in nats, by its name in a scheme's evidence; None if unknown.
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
    spans: dict[str, tuple[float, float] | None]
    lipschitz_bound: float
    outcome: Array = field(default_factory=lambda: np.empty(0))
    scalar: float | None = None
    reweighting: FrozenReweighting | None = None
    tail_from: float | None = None
    closed: bool = False
    records: str = ""

    def model_of(self, fits: Fits) -> Model:
        """The current table's records in the reference's design."""
        s = fits.settings
        mine = selected(fits.table, s, self.transform)
        return build_model(s.model, mine.records, **s.model_options)

    def max_abs_log_lik(self, fits: Fits, posterior: Posterior | None = None) -> Array:
        """f_i of the current records at the frozen draws, of shape (n_records,), in nats."""
        return self._bounds(fits, posterior).lipschitz_bounds

    def oscillation(self, fits: Fits) -> Array:
        """How much each log-likelihood varies over the frozen draws, of shape (n_records,), in nats."""
        if self.spans["oscillation"] is None:
            raise InputError(
                "The risk map was made before oscillation weights were known; make the plan again."
            )
        return self._bounds(fits, None).oscillations

    def _bounds(self, fits: Fits, posterior: Posterior | None) -> Bounds:
        model = self.model_of(fits)
        chosen, part = (self.posterior, "unweighted") if posterior is None else (posterior, "weighted")
        return fits.bounds(
            chosen,
            f"{self.key}:{part}",
            np.ones(model.records.n),
            model=model,
            transformed_by=self.fingerprint,
        )

    def outside(self, fits: Fits) -> Array:
        """lambda_i of the current records under the frozen unweighted draws."""
        return fits.outside((self.posterior, self.key, self.model_of(fits)))


def map_of(reference: Fits) -> RiskMap:
    """The risk map of a reference table, fitted here."""
    name = reference.settings.unit_column
    if name is not None and name not in reference.table.frame.columns:
        raise InputError(
            f"The risk reference has no column '{name}', and what is risky is told of whole units: take a reference "
            "that has it, or name no units (--unit-column)."
        )
    posterior, key = reference.unweighted("fitting the risk reference")
    bounds = reference.unweighted_bounds()
    spans = {"max_abs_log_lik": ends(bounds.lipschitz_bounds), "oscillation": ends(bounds.oscillations)}
    if spans["max_abs_log_lik"] is None:
        raise InputError("The risk reference has no record of finite risk; choose another table or model.")
    return RiskMap(
        name=reference.table.name,
        fingerprint=reference.table.fingerprint,
        key=f"{key}:{reference.table.fingerprint}",
        transform=reference.selection.transform,
        posterior=posterior,
        spans=spans,
        lipschitz_bound=bounds.lipschitz_bound,
        outcome=reference.model.records.outcome,
        records=reference.table.fingerprint_of_records(
            (reference.settings.outcome, *reference.settings.predictors)
        ),
    )


def ends(risk: Array) -> tuple[float, float] | None:
    """Smallest and largest finite risk; None if there is none."""
    finite = risk[np.isfinite(risk)]
    return (float(finite.min()), float(finite.max())) if finite.size else None
