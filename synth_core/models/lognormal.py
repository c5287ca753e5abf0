"""Lognormal regression (Hu, Williams and Savitsky, range restriction, sections 4 and 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import Array, Draws, Model, Options, Records
from synth_core.models.transformation import Transformation
from synth_core.models.zero_part import empty_zero_part

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

    def stan_data(self, weights: Array, censor_bound: float | None = None) -> dict[str, Any]:
        design, response = self.records.design[self.normal], self.response[self.normal]
        weights = weights[self.normal]
        weight_sum = float(weights.sum())
        weighted = design * weights[:, None]
        gram = weighted.T @ design
        # Centre and basis only choose coordinates; the posterior does not depend on them.
        # One pass with a ridge equal to the prior (sigma at 1), one with sigma estimated.
        sigma = 1.0
        center = np.zeros(design.shape[1])
        for _ in range(2):
            precision = gram / sigma**2 + np.diag(self.beta_scale**-2.0)
            center = scipy.linalg.solve(precision, weighted.T @ response / sigma**2, assume_a="pos")
            residual = response - design @ center
            rss = float(weights @ residual**2)
            sigma = np.sqrt((rss + 1e-8) / (weight_sum + 1e-8)) if weight_sum > 0 else 1.0
        covariance = scipy.linalg.inv(gram / sigma**2 + np.diag(self.beta_scale**-2.0))
        basis = scipy.linalg.cholesky((covariance + covariance.T) / 2, lower=True)
        data: dict[str, Any] = {
            "k": design.shape[1],
            "center": center,
            "basis": basis,
            "weight_sum": weight_sum,
            "rss": rss,
            "rss_slope": basis.T @ (weighted.T @ residual),
            "rss_curvature": basis.T @ gram @ basis,
            "n_censored": 0,
            "censored_rows": np.empty((0, design.shape[1] + 1)),
            "censored_constant": np.empty(0),
            "censored_weight": np.empty(0),
            "censored_count": np.empty(0),
            "censored_row": np.empty(0, dtype=int),
            "censor_bound": 0.0,
            "beta_scale": self.beta_scale,
            "sigma_scale": SIGMA_SCALE * self.options.prior_scale,
        } | empty_zero_part()
        if censor_bound is not None:
            group = self.records.distinct_design[1][self.normal]
            keys = np.column_stack([response, weights, group])
            _, first, count = np.unique(keys, axis=0, return_index=True, return_counts=True)
            data |= {
                "n_censored": len(first),
                "censored_rows": np.column_stack([residual[first], -design[first] @ basis]),
                "censored_constant": weights[first] * (self.log_slope[self.normal][first] - LOG_ROOT_2PI),
                "censored_weight": weights[first],
                "censored_count": count.astype(float),
                "censored_row": group[first] + 1,
                "censor_bound": censor_bound,
            }
        return data

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        return self.log_density(draws, rows)

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


def normal_mass(low: Array, high: Array) -> Array:
    """Pr(low < Z < high), from the nearer tail: a difference of numbers close to 1 has no digits left."""
    right = low > 0
    low, high = np.where(right, -high, low), np.where(right, -low, high)
    return scipy.special.ndtr(high) - scipy.special.ndtr(low)
