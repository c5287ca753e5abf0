"""Lognormal regression (Hu, Williams and Savitsky, range restriction, sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import Array, Draws, Model, Options, Records
from synth_core.models.transformation import Transformation
from synth_core.models.zero_part import empty_zero_part

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
    parameters: tuple[str, ...] = ("beta", "sigma")
    spread_words = "standard deviation of the logarithm"
    widest_spread = 20.0  # values simulated from a wider one are no numbers any more

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.transformation = self._transformation(options)
        self.normal: Rows = self._normal_records()
        rows = np.arange(records.n)[self.normal]
        self.transformation.check(records.outcome[self.normal], rows, records.n, self.label)
        self.response, self.log_slope = np.zeros((2, records.n))
        self.response[self.normal] = self.transformation.forward(records.outcome[self.normal])
        self.log_slope[self.normal] = self.transformation.log_slope(records.outcome[self.normal])
        # [z, y]: residuals of all draws are then one matrix product
        self._design_and_response = np.column_stack([records.design, self.response])
        self.beta_scale = np.full(records.design.shape[1], SLOPE_SCALE * options.prior_scale)
        self.beta_scale[0] = INTERCEPT_SCALE * options.prior_scale

    def _transformation(self, options: Options) -> Transformation:
        return Transformation("log", options.unit, options.offset)

    def _normal_records(self) -> Rows:
        """The records that the normal part models."""
        return slice(None)

    @property
    def density_scale(self) -> str:
        unit = self.options.unit
        per = f"density per {'the table’s unit' if unit == 1 else f'{unit:g} of the table’s unit'}"
        return ", ".join(filter(None, (per, self.transformation.words)))

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> dict[str, Any]:
        unclamped = self.unclamped(weights, censoring)
        level, beta_scale = self._prior(censoring)
        center, basis, log_sigma, log_sigma_scale = self._coordinates(
            unclamped, level, beta_scale, weights, censoring
        )
        sums = _Sums.of(unclamped, center, level)
        data: dict[str, Any] = {
            "k": len(center),
            "center": center,
            "basis": basis,
            "log_sigma_center": log_sigma,
            "log_sigma_scale": log_sigma_scale,
            "weight_sum": sums.weight,
            "rss": sums.rss,
            "rss_slope": basis.T @ sums.slope,
            "rss_curvature": basis.T @ sums.gram @ basis,
            "n_censored": 0,
            "censored_rows": np.empty((0, len(center) + 1)),
            "censored_constant": np.empty(0),
            "censored_weight": np.empty(0),
            "censored_count": np.empty(0),
            "censored_row": np.empty(0, dtype=int),
            "censor_bound": 0.0,
            "level": level,
            "beta_scale": beta_scale,
            "sigma_scale": SIGMA_SCALE * self.options.prior_scale,
        } | empty_zero_part()
        if censoring is not None:
            data |= self._clamped(weights, censoring, center, basis, level)
        return data

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
        sigma, center = 1.0, np.zeros(len(beta_scale))
        parts = unclamped if censoring is None else [*unclamped, (self, weights)]
        sums = _Sums.of(parts, center, level)
        # One pass with a ridge equal to the prior (sigma at 1), one with sigma estimated.
        for _ in range(2):
            precision = sums.gram / sigma**2 + np.diag(beta_scale**-2.0)
            step = sums.slope / sigma**2 - center / beta_scale**2
            center = center + scipy.linalg.solve(precision, step, assume_a="pos")
            sums = _Sums.of(parts, center, level)
            sigma = float(np.sqrt((sums.rss + 1e-8) / (sums.weight + 1e-8))) if sums.weight > 0 else 1.0
        if censoring is not None:  # a clamped term says nothing of how wide the posterior is
            beta = center + level * np.eye(1, len(center))
            log_lik = self.log_density({"beta": beta, "sigma": np.array([sigma])}, slice(None))[0]
            terms = weights * (log_lik - censoring.offset(self.records.n))
            inside = np.where(np.abs(terms) < censoring.bound, weights, 0.0)
            sums = _Sums.of([*unclamped, (self, inside)], center, level)
        covariance = scipy.linalg.inv(sums.gram / sigma**2 + np.diag(beta_scale**-2.0))
        basis = scipy.linalg.cholesky((covariance + covariance.T) / 2, lower=True)
        return center, basis, float(np.log(sigma)), float(1.0 / np.sqrt(2.0 * max(sums.weight, 0.5)))

    def _clamped(
        self, weights: Array, censoring: Censoring, center: Array, basis: Array, level: float
    ) -> dict[str, Any]:
        """What the clamped terms need, by distinct record."""
        group = self.records.distinct_design[1][self.normal]
        design, response, weights = (
            self.records.design[self.normal],
            self.above(level),
            weights[self.normal],
        )
        first, count = self._distinct(np.column_stack([response, weights, group]))
        constant = (self.log_slope - LOG_ROOT_2PI - censoring.offset(self.records.n))[self.normal]
        constant = constant if level == 0 else np.round(constant, _DECIMALS)
        return {
            "n_censored": len(first),
            "censored_rows": np.column_stack([response - design @ center, -design @ basis])[first],
            "censored_constant": (weights * constant)[first],
            "censored_weight": weights[first],
            "censored_count": count.astype(float),
            "censored_row": group[first] + 1,
            "censor_bound": censoring.bound,
        }

    @staticmethod
    def _distinct(keys: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One place of each distinct row whose weight (the second column) is not 0, and how many share it."""
        active = np.flatnonzero(keys[:, 1])
        _, first, count = np.unique(keys[active], axis=0, return_index=True, return_counts=True)
        return active[first], count

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        return self.log_density(draws, rows)

    def weighted_sum(self, draws: Draws, weights: Array) -> Array:
        """From weighted moments of residuals around a centre, whatever the number of records."""
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
            raise InputError(f"A typical value of {typical:g} has no logarithm; guess a positive one.")
        if spread > self.widest_spread:
            raise InputError(
                f"A spread of {spread:g} is too wide for {self.label}: it is a standard deviation on the scale of the "
                f"model, of the logarithm or the inverse hyperbolic sine, and not in the unit of the variable. 0.8 is "
                f"usual for the logarithm of incomes."
            )
        return {"beta": self._first_column(middle), "sigma": np.array([spread])}

    def _first_column(self, intercept: Array) -> Array:
        """Coefficients of shape (1, n_columns) that are 0 but for the intercept."""
        return np.concatenate([intercept, np.zeros(self.records.design.shape[1] - 1)])[None]

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        return self.transformation.inverse(self.response_draw(draw, rng))

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

    def response_draw(self, draw: Draws, rng: np.random.Generator) -> Array:
        """One draw of y for every record."""
        mean = self.records.design @ draw["beta"]
        return mean + draw["sigma"] * rng.standard_normal(self.records.n)


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
