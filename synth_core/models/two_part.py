"""Two-part regression: a zero with a probability of its own, else a normal on a transformed scale."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import Array, Draws, Model, Options, Proposal, parted
from synth_core.models.bracketed import with_zero_alone
from synth_core.models.lognormal import Lognormal
from synth_core.models.records import Records
from synth_core.models.transformation import Transformation
from synth_core.models.zero_part import ZeroPart


class TwoPart(Lognormal):
    """x = 0 with probability p(z); otherwise t(x) ~ Normal(z' beta, sigma), t = log or asinh (Duan et al. 1983).

    For incomes with zeros and, on asinh, losses. A record of value zero contributes log p, a probability;
    any other log(1 - p) plus a log density per unit. Priors: those of the lognormal model and of `ZeroPart`.
    """

    name = "two_part"
    label = "Two-part regression"
    uses = frozenset({"unit", "transformation", "offset", "asinh_scale"})
    remedy = "two-part regression for many zeros, on asinh for losses"
    proposals = {  # noqa: RUF012
        "losses": Proposal(
            "Losses are no zeros: asinh takes them with the gains, and zeros have a probability of their own.",
            (("transformation", "asinh"),),
        ),
        "zeros": Proposal(
            "Zeros have a probability of their own; the other amounts are modelled on the logarithm.",
            (("transformation", "log"), ("offset", 0.0)),
        ),
    }
    parameters = ("beta", "sigma", "gamma")

    def __init__(self, records: Records, options: Options):
        self.zero_part = ZeroPart(records, options.prior_scale) if self.has_zeros(options) else None
        super().__init__(records, options)

    @classmethod
    def has_zeros(cls, options: Options) -> bool:
        """Zeros have a probability of their own."""
        return True

    @classmethod
    def _transformation(cls, options: Options) -> Transformation:
        return Transformation(options.transformation, options.unit, options.offset, options.asinh_scale)

    def _normal_records(self) -> Rows:
        return slice(None) if self.zero_part is None else np.flatnonzero(~self.zero_part.is_zero)

    @property
    def has_density(self) -> NDArray[np.bool_]:
        return super().has_density if self.zero_part is None else ~self.zero_part.is_zero

    @property
    def searches_all(self) -> bool:
        return self.zero_part is None

    @property
    def density_scale(self) -> str:
        zeros = "" if self.zero_part is None else "probability of a zero, otherwise "
        return zeros + super().density_scale

    def _zero_data(self, weights: Array, censoring: Censoring | None) -> StanData:
        if self.zero_part is None:
            return super()._zero_data(weights, censoring)
        unclamped = [(m.zero_part, alpha) for m, alpha in self.unclamped(weights, censoring) if m.zero_part]
        slope_scale = self.slope_scale_of(self.zero_part.slope_scale, censoring)
        return self.zero_part.stan_data(unclamped, weights, censoring, slope_scale)

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        density = self.log_density(draws, rows)
        if self.zero_part is None:
            return density
        zero, other = self.zero_part.log_probabilities(draws, rows)
        return np.where(self.zero_part.is_zero[rows], zero, other + density)

    weighted_sum = Model.weighted_sum  # term by term: not all records are in the normal part

    def family(self, draws: Draws) -> LinearFamily | None:
        return super().family(draws) if self.zero_part is None else None

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        below = self.distribution(draws, values, rows)
        if self.zero_part is None:
            return below
        zero, other = (np.exp(p) for p in self.zero_part.log_probabilities(draws, rows))
        return zero * (values >= 0) + other * below

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        mass = self.mass(draws, lower, upper, rows)
        if self.zero_part is None:
            return mass
        zero, other = (np.exp(p) for p in self.zero_part.log_probabilities(draws, rows))
        return zero * ((lower <= 0) & (upper >= 0)) + other * mass

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        draws = super().guess(typical, spread, zeros)
        if self.zero_part is None:
            return draws
        return draws | {"gamma": self._first_column(scipy.special.logit(np.array([zeros])))}

    def guess_edges(self, typical: float, spread: float) -> tuple[float, ...]:
        edges = super().guess_edges(typical, spread)
        return edges if self.zero_part is None else with_zero_alone(edges)

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        if self.zero_part is None:
            return super().from_uniform(draw, uniform)
        part, within = parted(uniform, self.zero_part.shares(draw))
        return np.where(part == 0, 0.0, super().from_uniform(draw, within))
