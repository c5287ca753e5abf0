"""Lognormal regression (Hu, Williams and Savitsky, range restriction, sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.sampling import Start
from synth_core.engine.stan_data import StanData
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import (
    FAR,
    GUESS_STEPS,
    HALF,
    Array,
    Draws,
    Model,
    Options,
    Proposal,
    Refit,
    normal_of_half,
    short,
)
from synth_core.models.clamp_screening import Terms, settle
from synth_core.models.clamped_mode import ClampedNormal, factor_of_covariance, spread_of_log_sigma
from synth_core.models.coordinates import row_sums, solve_penalised
from synth_core.models.records import Records, distinct_columns
from synth_core.models.transformation import Transformation
from synth_core.models.zero_part import empty_zero_part
from synth_core.system.number_text import declared

MANY_MODES = 0.2  # share of the weight that a bound leaves unclamped, below which modes are searched for
LOOKED_AT = 8  # draws of a chain, to see which modes it was in
ANOTHER_MODE = 1.0  # nats of mass by which another mode must be better to become the centre
LEAST_SPREAD = 0.1  # of the predictions of an anchored fit, on the logarithm
_DECIMALS = 7  # of a response above its level
LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
INTERCEPT_SCALE, SLOPE_SCALE, SIGMA_SCALE = 20.0, 5.0, 1.0


class Lognormal(Model):
    """log((x + offset) / unit) ~ Normal(z' beta, sigma); the offset is 0 unless the analyst gives one.

    Priors, none of them taken from the outcome: beta_1 ~ N(0, 20), other beta_j ~ N(0, 5) per
    standard deviation of the predictor, sigma ~ half-Student-t(3, 0, 1).
    """

    name = "lognormal"
    label = "Lognormal regression"
    program = "lognormal.stan"
    uses = frozenset({"unit", "offset"})
    bell = True
    searches = True
    proposals = {  # noqa: RUF012 # declared as a ClassVar in Model
        "amounts": Proposal(
            "Amounts above zero, mostly with a long upper tail: the logarithm.", (("offset", 0.0),)
        )
    }
    parameters: tuple[str, ...] = ("beta", "sigma")
    spread_words = "standard deviation of the logarithm"
    widest_spread = 20.0  # values simulated from a wider one are no numbers any more

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.transformation = self._transformation(options)
        self.normal: Rows = self._normal_records()
        rows = np.arange(records.n)[self.normal]
        self.transformation.check(records, rows, self.label)
        self.response, self.log_slope = np.zeros((2, records.n))
        self.response[self.normal] = self.transformation.forward(records.outcome[self.normal])
        self.log_slope[self.normal] = self.transformation.log_slope(records.outcome[self.normal])
        # [z, y]: residuals of all draws are then one matrix product
        self._design_and_response = np.column_stack([records.design, self.response])
        self.beta_scale = np.full(records.design.shape[1], SLOPE_SCALE * options.prior_scale)
        self.beta_scale[0] = INTERCEPT_SCALE * options.prior_scale

    @classmethod
    def _transformation(cls, options: Options) -> Transformation:
        return Transformation("log", options.unit, options.offset)

    def _normal_records(self) -> Rows:
        """The records that the normal part models."""
        return slice(None)

    @property
    def density_scale(self) -> str:
        unit = self.options.unit
        per = f"density per {'the table’s unit' if unit == 1 else f'{declared(unit)} of the table’s unit'}"
        return ", ".join(filter(None, (per, self.transformation.words)))

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        unclamped = self.unclamped(weights, censoring)
        level, beta_scale = self._prior(censoring)
        center, basis, log_sigma, log_sigma_scale = self._coordinates(
            unclamped, level, beta_scale, weights, censoring
        )
        sums = _Sums.of(unclamped, center, level)
        data: StanData = {
            "k": len(center),
            "center": center,
            "basis": basis,
            "log_sigma_center": log_sigma,
            "log_sigma_scale": log_sigma_scale,
            "weight_sum": sums.weight,
            "rss": sums.rss,
            "rss_slope": basis.T @ sums.slope,
            "rss_curvature": basis.T @ sums.gram @ basis,
            "level": level,
            "beta_scale": beta_scale,
            "sigma_scale": SIGMA_SCALE * self.options.prior_scale,
        } | self._zero_data(weights, censoring)
        return data | self._clamped(weights, censoring, data)

    def _zero_data(self, weights: Array, censoring: Censoring | None) -> StanData:
        """What the zero part needs."""
        return empty_zero_part()

    def _prior(self, censoring: Censoring | None) -> tuple[float, Array]:
        """Prior mean of the intercept, and scales of the coefficients.

        0 and the family's own, but of an anchored fit what the anchor's records have, so that no unit enters.
        """
        if censoring is None or censoring.prior_outcome is None:
            return 0.0, self.beta_scale
        prior = type(self)(self.records.with_outcome(censoring.prior_outcome), self.options)
        stands = np.zeros(prior.records.n, dtype=bool)
        stands[prior.normal] = True
        stands[: censoring.padding] = False
        response = prior.response[stands]
        level = float(response.mean())
        above = _above(response, level)
        scale = self.beta_scale.copy()
        scale[1:] = self.slope_scale_of(
            scale[-1], censoring, max(LEAST_SPREAD, round(float(above.std()), _DECIMALS))
        )
        return level, scale

    def above(self, level: float) -> Array:
        """The normal part's response less a level."""
        return _above(self.response[self.normal], level)

    def _coordinates(
        self,
        unclamped: list[tuple[Self, Array]],
        level: float,
        beta_scale: Array,
        weights: Array,
        censoring: Censoring | None,
    ) -> tuple[Array, Array, float, float]:
        """Centre and factor of beta, centre and scale of log sigma: the posterior does not depend on them."""
        parts = unclamped if censoring is None else [*unclamped, (self, weights)]
        center, sigma = _least_squares(parts, level, beta_scale)
        if censoring is None:
            sums = _Sums.of(parts, center, level)
            basis = factor_of_covariance(sums.gram, sigma, beta_scale)
            return center, basis, float(np.log(sigma)), spread_of_log_sigma(sums.weight)
        density = self._density(unclamped, level, beta_scale, weights, censoring)
        mode = density.climb(center, sigma)
        if density.share_inside(mode) < MANY_MODES:
            mode = density.search(center, sigma, np.random.default_rng(0))
        elif density.weight.size:
            best = density.modes(center, sigma, np.random.default_rng(0))[0]
            if density.log_mass(best) > density.log_mass(mode) + ANOTHER_MODE:
                mode = best
        basis, spread = density.scale(mode)
        return mode.beta, basis, float(np.log(mode.sigma)), spread

    def _density(
        self,
        unclamped: list[tuple[Self, Array]],
        level: float,
        beta_scale: Array,
        weights: Array,
        censoring: Censoring,
    ) -> ClampedNormal:
        """What is sampled, but for a zero part."""
        k = len(beta_scale)
        kept = _Sums.of(unclamped, np.zeros(k), level)
        alpha = weights[self.normal]
        active = np.flatnonzero(alpha)
        return ClampedNormal(
            design=self.records.design[self.normal][active],
            response=self.above(level)[active],
            constant=self._constant(level, censoring)[active],
            weight=alpha[active],
            bound=censoring.bound,
            beta_scale=beta_scale,
            sigma_scale=SIGMA_SCALE * self.options.prior_scale,
            kept_gram=kept.gram,
            kept_slope=kept.slope,
            kept_rss=kept.rss,
            kept_weight=kept.weight,
        )

    def start(self, fit: Refit) -> Start | None:
        """Where a bound clamps there may be modes: each chain starts at another one, if a search finds any.

        Where it clamps most terms they are too many, and each chain starts at the best of a search of its own. R-hat
        then tells whether they are one.
        """
        weights, censoring, data = fit.weights, fit.censoring, fit.data
        if censoring is None or data is None or not data["n_censored"]:
            return None
        level, beta_scale = data["level"], data["beta_scale"]
        unclamped = self.unclamped(weights, censoring)
        density = self._density(unclamped, level, beta_scale, weights, censoring)
        center, log_sigma = data["center"], data["log_sigma_center"]
        estimate = _least_squares([*unclamped, (self, weights)], level, beta_scale)
        if density.share_inside(density.at(center, float(np.exp(log_sigma)))) < MANY_MODES:
            modes = [density.search(*estimate, np.random.default_rng(chain)) for chain in range(fit.chains)]
        else:
            modes = [*density.modes(*estimate, np.random.default_rng(0))]
            if len(modes) == 1:
                return None
        inits = []
        for chain in range(fit.chains):
            mode = modes[chain % len(modes)]
            basis, spread = density.scale(mode)
            rng = np.random.default_rng([fit.seed, 43, chain])
            apart = [
                rng.uniform(-2, 2, size) for size in (len(center), None, data["zero_k"])
            ]  # as Stan's own
            u = scipy.linalg.solve_triangular(
                data["basis"], mode.beta + basis @ apart[0] - center, lower=True
            )
            s = (np.log(mode.sigma) + spread * apart[1] - log_sigma) / data["log_sigma_scale"]
            inits.append({"u": u, "s": s, "v": apart[2]})
        return Start(tuple(inits), np.ones(len(center) + 1 + data["zero_k"]), 1.0)

    def unseen(self, fit: Refit, draws: Draws) -> float:
        weights, censoring, data = fit.weights, fit.censoring, fit.data
        if censoring is None or data is None or not data["n_censored"]:
            return 0.0
        level, beta_scale = data["level"], data["beta_scale"]
        unclamped = self.unclamped(weights, censoring)
        density = self._density(unclamped, level, beta_scale, weights, censoring)
        estimate = _least_squares([*unclamped, (self, weights)], level, beta_scale)
        some = np.linspace(0, len(draws["sigma"]) - 1, LOOKED_AT * fit.chains).astype(int)
        beta = draws["beta"][some] - level * (np.arange(len(beta_scale)) == 0)
        modes = density.modes(*estimate, np.random.default_rng(0))
        return density.unseen(modes, zip(beta, draws["sigma"][some].tolist(), strict=True))

    def _constant(self, level: float, censoring: Censoring) -> Array:
        """The parameter-free part of the log density, less the anchor's, of the normal part's records."""
        constant = (self.log_slope - LOG_ROOT_2PI - censoring.offset(self.records.n))[self.normal]
        return constant if level == 0 else np.round(constant, _DECIMALS)

    def _clamped(self, weights: Array, censoring: Censoring | None, data: StanData) -> StanData:
        """What the clamped terms need, by distinct record."""
        rows, row_of = self.records.distinct_design
        first, count = np.empty((2, 0), dtype=np.int64)
        group, alpha, response = row_of[self.normal], weights[self.normal], self.above(data["level"])
        bound, constant = 0.0, np.zeros(len(response))
        if censoring is not None:
            bound, constant = censoring.bound, self._constant(data["level"], censoring)
            first, count = self._distinct(np.column_stack([response, alpha, group]))
        group, alpha, design = group[first], alpha[first], self.records.design[self.normal][first]
        logit, reach = None, None
        if data["zero_k"]:
            logit = (rows @ data["zero_center"])[group]
            reach = np.sqrt(((rows @ data["zero_basis"]) ** 2).sum(axis=1))[group]
        terms = Terms(
            rows=np.column_stack([response[first] - design @ data["center"], -design @ data["basis"]]),
            constant=alpha * constant[first],
            weight=alpha,
            count=count.astype(float),
            bound=bound,
            log_sigma=data["log_sigma_center"],
            log_sigma_scale=data["log_sigma_scale"],
            logit=logit,
            logit_reach=reach,
        )
        order, settled = settle(terms)
        cell = group[order]
        both = terms.weight[order] * terms.count[order]
        return settled | {
            "n_censored": len(first),
            "censored_rows": terms.rows[order],
            "censored_constant": terms.constant[order],
            "censored_weight": terms.weight[order],
            "censored_count": terms.count[order],
            "censored_row": cell + 1,
            "censored_row_weight": row_sums(cell, both, data["n_zero_rows"])
            if data["zero_k"]
            else np.empty(0),
            "censor_bound": bound,
        }

    @staticmethod
    def _distinct(keys: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One place of each distinct row whose weight (the second column) is not 0, and how many share it."""
        active = np.flatnonzero(keys[:, 1])
        first, index = distinct_columns(keys[active].T)
        return active[first], np.bincount(index)

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        return self.log_density(draws, rows)

    def weighted_sum(self, draws: Draws, weights: Array) -> Array:
        """The weighted sum from moments of residuals around a centre, whatever the number of records."""
        center, sigma = draws["beta"].mean(axis=0), draws["sigma"]
        sums = _Sums.of([(self, weights)], center, 0.0)
        apart = draws["beta"] - center
        squares = sums.rss - 2 * apart @ sums.slope + np.einsum("sj,jk,sk->s", apart, sums.gram, apart)
        constant = float(weights @ (self.log_slope - LOG_ROOT_2PI))
        return constant - sums.weight * np.log(sigma) - squares / (2 * sigma**2)

    def family(self, draws: Draws) -> LinearFamily | None:
        middle = float(self.response.mean())  # smaller numbers: it only chooses which draws are evaluated

        def coefficients(row: Array) -> tuple[Array, ...]:
            mean, sigma = draws["beta"] @ row - middle, draws["sigma"]
            return -0.5 / sigma**2, mean / sigma**2, -0.5 * (mean / sigma) ** 2 - np.log(sigma)

        apart = self.response - middle
        return self._by_design_row((apart**2, apart), coefficients)

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return self.distribution(draws, values, rows)

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        return self.mass(draws, lower, upper, rows)

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        middle = self.transformation.forward(np.array([typical]))
        if not np.isfinite(middle).all():
            raise InputError(
                f"A typical value of {declared(typical)} has no logarithm; guess a positive one."
            )
        if spread > self.widest_spread:
            raise InputError(
                f"A spread of {declared(spread)} is too wide for {self.label}: it is a standard deviation on the scale "
                "of the model, of the logarithm or the inverse hyperbolic sine, and not in the unit of the variable. "
                "0.8 is usual for the logarithm of incomes."
            )
        return {"beta": self._first_column(middle), "sigma": np.array([spread])}

    def guess_edges(self, typical: float, spread: float) -> tuple[float, ...]:
        middle = np.ravel(self.guess(typical, spread, 0.5)["beta"])[0]
        return tuple(self.transformation.inverse(middle + spread * GUESS_STEPS).tolist())

    @classmethod
    def guess_of_half(cls, options: Options, low: float, high: float) -> tuple[float, float]:
        transformation = cls._transformation(options)
        ends = transformation.forward(np.array([low, high]))
        if not np.isfinite(ends).all():
            raise InputError(
                "On the logarithm both ends, with the offset, must be above 0; on asinh they may be below."
            )
        middle, spread = normal_of_half(*ends.tolist())
        return short(float(transformation.inverse(np.array([middle]))[0])), short(spread)

    @classmethod
    def half_of_guess(cls, options: Options, typical: float, spread: float) -> tuple[float, float]:
        transformation = cls._transformation(options)
        middle = transformation.forward(np.array([typical]))
        low, high = transformation.inverse(middle + HALF * spread * np.array([-1.0, 1.0])).tolist()
        return low, high

    @classmethod
    def guess_range(cls, options: Options, typical: float, spread: float) -> tuple[float, float] | None:
        transformation = cls._transformation(options)
        middle = transformation.forward(np.array([typical]))
        low, high = transformation.inverse(middle + FAR * spread * np.array([-1.0, 1.0])).tolist()
        return (low, high) if np.isfinite([low, high]).all() and low < high else None

    def _first_column(self, intercept: Array) -> Array:
        """Coefficients of shape (1, n_columns) that are 0 but for the intercept."""
        return np.concatenate([intercept, np.zeros(self.records.design.shape[1] - 1)])[None]

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        return self.transformation.inverse(self.response_at(draw, uniform))

    # The continuous part, which the two-part and mixture models build on.

    def log_density(self, draws: Draws, rows: Rows) -> Array:
        """log density of the continuous part, of shape (n_draws, n_rows)."""
        sigma = draws["sigma"][:, None]
        coefficients = np.hstack([draws["beta"], -np.ones_like(sigma)]) / (np.sqrt(2.0) * sigma)
        terms = coefficients @ self._design_and_response[rows].T
        np.square(terms, out=terms)
        terms += np.log(sigma) + LOG_ROOT_2PI
        terms -= self.log_slope[rows]
        return np.negative(terms, out=terms)

    def _standardised(self, draws: Draws, values: Array, rows: Rows) -> Array:
        mean = draws["beta"] @ self.records.design[rows].T
        return (self.transformation.forward(values) - mean) / draws["sigma"][:, None]

    def distribution(self, draws: Draws, values: Array, rows: Rows) -> Array:
        """cdf of the continuous part."""
        return scipy.special.ndtr(self._standardised(draws, values, rows))

    def mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        """Probability of an interval under the continuous part."""
        return normal_mass(self._standardised(draws, lower, rows), self._standardised(draws, upper, rows))

    def response_at(self, draw: Draws, uniform: Array) -> Array:
        """The y of every record that a uniform number is turned into."""
        mean = self.records.design @ draw["beta"]
        return mean + draw["sigma"] * scipy.special.ndtri(uniform)


def _least_squares(
    parts: Sequence[tuple[Lognormal, Array]], level: float, beta_scale: Array
) -> tuple[Array, float]:
    """Penalised weighted estimates of beta and sigma: one pass with sigma at 1, one with sigma estimated."""
    sigma, center = 1.0, np.zeros(len(beta_scale))
    sums = _Sums.of(parts, center, level)
    for _ in range(2):
        precision = sums.gram / sigma**2 + np.diag(beta_scale**-2.0)
        step = sums.slope / sigma**2 - center / beta_scale**2
        center = center + solve_penalised(precision, step)
        sums = _Sums.of(parts, center, level)
        sigma = float(np.sqrt((sums.rss + 1e-8) / (sums.weight + 1e-8))) if sums.weight > 0 else 1.0
    return center, sigma


@dataclass(frozen=True)
class _Sums:
    """Weighted sums over the normal parts of some models: 1, residuals from a centre squared, z * residual, z z'."""

    weight: float
    rss: float
    slope: Array
    gram: Array

    @staticmethod
    def of(parts: Sequence[tuple[Lognormal, Array]], center: Array, level: float) -> _Sums:
        k = len(center)
        weight, rss, slope, gram = 0.0, 0.0, np.zeros(k), np.zeros((k, k))
        for model, weights in parts:
            design, alpha = model.records.design[model.normal], weights[model.normal]
            weighted = design * alpha[:, None]
            residual = model.above(level) - design @ center
            weight += float(alpha.sum())
            rss += float(alpha @ residual**2)
            slope = slope + weighted.T @ residual
            gram = gram + weighted.T @ design
        return _Sums(weight, rss, slope, gram)


def _above(response: Array, level: float) -> Array:
    """A response less a level; rounded, so that another unit gives the same to the last bit."""
    return response if level == 0 else np.round(response - level, _DECIMALS)


def normal_mass(low: Array, high: Array) -> Array:
    """Pr(low < Z < high), from the nearer tail: a difference of numbers close to 1 has no digits left."""
    right = low > 0
    low, high = np.where(right, -high, low), np.where(right, -low, high)
    return scipy.special.ndtr(high) - scipy.special.ndtr(low)
