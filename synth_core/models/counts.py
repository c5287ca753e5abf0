"""Count synthesizers: Poisson and negative binomial regression with log link."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy

from synth_core.engine.stan_data import StanData
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import Array, Draws, Model, Options, Proposal
from synth_core.models.coordinates import penalised_estimate, row_sums, whitening
from synth_core.models.records import Records, distinct_columns

SLOPE_SCALE = 5.0
MEAN_SHAPE, MEAN_RATE = 1.0, 1e-3
MAX_PHI = 1e4  # beyond, Poisson


class CountModel(Model):
    """What count regressions share: support, distinct records, whitened coordinates."""

    discrete = True

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.slope_scale = SLOPE_SCALE * options.prior_scale
        bad = ~((records.outcome >= 0) & (records.outcome % 1 == 0))
        if bad.any():
            raise InputError(
                f"The {self.label} model needs whole numbers from 0, and {bad.sum():,} of {records.n:,} "
                f"values are not ({records.first_row(bad)})."
            )
        self.rows, self.row_of = records.distinct_design

    @property
    def density_scale(self) -> str:
        return "probability of a count"

    def _sums(self, weights: Array) -> Array:
        """Sums of the weights, and of weight * x, by distinct row of the design, of shape (2, n_rows)."""
        each = (weights, weights * self.records.outcome)
        return np.stack([row_sums(self.row_of, one, len(self.rows)) for one in each])

    def _estimate(
        self, weights: Array, censoring: Censoring | None, dispersion: float = 0.0
    ) -> tuple[Array, Array]:
        """Penalised estimate of beta and the information of each row about it: they only choose coordinates."""
        parts = self.unclamped(weights, censoring) + ([] if censoring is None else [(self, weights)])
        total, mass = sum((m._sums(alpha) for m, alpha in parts), np.zeros((2, len(self.rows))))
        beta, mean = penalised_estimate(self.rows, total, mass, "log", self.slope_scale)
        return beta, total * mean / (1 + dispersion * mean)

    def _common(self, weights: Array, censoring: Censoring | None) -> StanData:
        empty = np.empty(0)
        data: StanData = {
            "k": self.rows.shape[1],
            "n_rows": len(self.rows),
            "n_censored": 0,
            "censored_x": empty,
            "censored_row": empty.astype(int),
            "censored_weight": empty,
            "censored_count": empty,
            "censored_constant": empty,
            "censor_bound": 0.0,
        }
        if censoring is not None:
            keys = np.column_stack([self.records.outcome, weights, self.row_of])
            first, index = distinct_columns(keys.T)
            distinct, count = keys[first], np.bincount(index)
            fixed = scipy.special.gammaln(self.records.outcome + 1) + censoring.offset(self.records.n)
            data |= {
                "n_censored": len(count),
                "censored_x": distinct[:, 0],
                "censored_weight": distinct[:, 1],
                "censored_row": distinct[:, 2].astype(int) + 1,
                "censored_count": count.astype(float),
                "censored_constant": -(weights * fixed)[first],
                "censor_bound": censoring.bound,
            }
        return data

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        low, high = self.whole_ends(lower, upper)
        # From the nearer tail: a difference of two numbers close to 1 has no digits left.
        left = self.cdf(draws, high, rows) - self.cdf(draws, low - 1.0, rows)
        right = self.survival(draws, low - 1.0, rows) - self.survival(draws, high, rows)
        _, mean = self._mean(draws, rows)
        return np.maximum(np.where(low > mean, right, left), 0.0)

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        if not typical > 0:
            raise InputError(
                f"A typical count of {typical:g} is no mean of a count model; guess a positive one."
            )
        return {"beta": np.r_[np.log(typical), np.zeros(self.rows.shape[1] - 1)][None]}

    @abstractmethod
    def survival(self, draws: Draws, values: Array, rows: Rows) -> Array:
        """Pr(X > value_i | theta_s, z_i) of shape (n_draws, n_rows)."""

    def _means(self, draw: Draws) -> Array:
        """Mean of every record under one draw, within what a generator can give."""
        return np.exp(np.clip(self.rows @ draw["beta"], -700, 40))[self.row_of]

    def _mean(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        """log mean and mean of shape (n_draws, n_rows); distinct design rows are computed once."""
        log_mean, index = self.records.linear_predictor(draws["beta"], rows)
        return log_mean[:, index], np.exp(log_mean)[:, index]


class Poisson(CountModel):
    """x ~ Poisson(exp(z' beta)).

    Priors: exp(beta_1) ~ Gamma(1, 0.001), conjugate without predictors; other beta_j ~ N(0, 5) per
    standard deviation of the predictor.
    """

    name = "poisson"
    label = "Poisson regression"
    program = "poisson.stan"
    proposals = {  # noqa: RUF012
        "even_counts": Proposal("Counts that vary about as much as their mean: Poisson regression.")
    }
    parameters = ("beta",)

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        center, information = self._estimate(weights, censoring)
        basis = whitening(self.rows, information, self.slope_scale)
        rows = self.rows @ basis
        unclamped = self.unclamped(weights, censoring)
        total, mass = sum((m._sums(alpha) for m, alpha in unclamped), np.zeros((2, len(self.rows))))
        return self._common(weights, censoring) | {
            "center": center,
            "basis": basis,
            "rows": rows,
            "row_center": self.rows @ center,
            "row_weight": total,
            "slope": rows.T @ mass,
            "mean_shape": MEAN_SHAPE,
            "mean_rate": MEAN_RATE / self.options.prior_scale,
            "slope_scale": self.slope_scale_of(self.slope_scale, censoring),
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        log_mean, mean = self._mean(draws, rows)
        x = self.records.outcome[rows]
        return x * log_mean - mean - scipy.special.gammaln(x + 1)

    def family(self, draws: Draws) -> LinearFamily | None:
        def coefficients(row: Array) -> tuple[Array, ...]:
            log_mean = draws["beta"] @ row
            return log_mean, -np.exp(log_mean)

        return self._by_design_row((self.records.outcome,), coefficients)

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        _, mean = self._mean(draws, rows)
        k = np.floor(values)
        return np.where(k < 0, 0.0, scipy.special.gammaincc(np.maximum(k, 0) + 1, mean))

    def survival(self, draws: Draws, values: Array, rows: Rows) -> Array:
        _, mean = self._mean(draws, rows)
        k = np.floor(values)
        return np.where(k < 0, 1.0, scipy.special.gammainc(np.maximum(k, 0) + 1, mean))

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        return rng.poisson(self._means(draw)).astype(float)

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        return scipy.stats.poisson.ppf(uniform, self._means(draw))


class NegativeBinomial(CountModel):
    """x ~ NB2(exp(z' beta), phi), variance mean + mean^2 / phi.

    Priors: 1/phi ~ half-Cauchy(0, 5), beta ~ MVN(0, diag(s) Omega diag(s)), s_j ~
    half-Student-t(3, 0, 1), Omega ~ LKJ(6) (Reweight, Supp. 2).
    """

    name = "negative_binomial"
    label = "Negative binomial regression"
    program = "negative_binomial.stan"
    remedy = "negative binomial regression for counts"
    proposals = {  # noqa: RUF012
        "counts": Proposal("Counts that vary more than their mean: negative binomial regression.")
    }
    parameters = ("beta", "phi")

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        x = self.records.outcome
        total = weights.sum()
        mean = float(weights @ x / total) if total > 0 else 1.0
        variance = float(weights @ (x - mean) ** 2 / total) if total > 0 else 1.0
        dispersion = max(variance - mean, 1e-3) / max(mean, 1e-3) ** 2
        estimate, information = self._estimate(weights, censoring, dispersion)
        precision = (self.rows * information[:, None]).T @ self.rows
        data = self._common(weights, censoring)
        unclamped = self.unclamped(weights, censoring)
        total, mass = sum((m._sums(alpha) for m, alpha in unclamped), np.zeros((2, len(self.rows))))
        censored_x = data.pop("censored_x")
        x = np.concatenate([censored_x, *(m.records.outcome for m, _ in unclamped)])
        values, value = np.unique(x, return_inverse=True)
        clamped = data["censored_weight"] * data["censored_count"]
        fixed, free = np.zeros(len(clamped)), [alpha for _, alpha in unclamped]
        row = data["censored_row"] - 1
        rows = [row_sums(row, each, len(total)) for each in (clamped, clamped * censored_x)]
        log_excess, scale = _log_excess(
            values,
            row_sums(value, np.concatenate([clamped, *free]), len(values)),
            total + rows[0],
            mass + rows[1],
            np.exp(np.clip(self.rows @ estimate, -30, 30)),
        )
        return data | {
            "precision": precision[None],
            "shift": (precision @ estimate)[:, None],
            "rows": self.rows,
            "n_values": len(values),
            "values": values,
            "value_weight": row_sums(value, np.concatenate([fixed, *free]), len(values)),
            "row_weight": total,
            "row_mass": mass,
            "censored_value": value[: len(censored_x)] + 1,
            "log_excess_center": log_excess,
            "log_excess_scale": scale,
            "prior_scale": self.options.prior_scale,
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        log_mean, mean = self._mean(draws, rows)
        phi = draws["phi"][:, None]
        values, index = np.unique(self.records.outcome[rows], return_inverse=True)
        by_value = scipy.special.gammaln(values + phi) - scipy.special.gammaln(values + 1)
        by_value += phi * np.log(phi) - scipy.special.gammaln(phi)
        x = values[index]
        return by_value[:, index] - (x + phi) * np.log(phi + mean) + x * log_mean

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        beyond = max(spread**2 - typical, typical**2 / MAX_PHI)
        return super().guess(typical, spread, zeros) | {"phi": np.array([typical**2 / beyond])}

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        _, mean = self._mean(draws, rows)
        phi = draws["phi"][:, None]
        k = np.floor(values)
        with np.errstate(invalid="ignore"):
            inside = scipy.special.betainc(phi, np.maximum(k, 0) + 1, phi / (phi + mean))
        return np.where(k < 0, 0.0, np.where(np.isinf(k), 1.0, inside))

    def survival(self, draws: Draws, values: Array, rows: Rows) -> Array:
        _, mean = self._mean(draws, rows)
        phi = draws["phi"][:, None]
        k = np.floor(values)
        with np.errstate(invalid="ignore"):
            beyond = scipy.special.betainc(np.maximum(k, 0) + 1, phi, mean / (phi + mean))
        return np.where(k < 0, 1.0, np.where(np.isinf(k), 0.0, beyond))

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        return rng.poisson(rng.gamma(draw["phi"], self._means(draw) / draw["phi"])).astype(float)

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        phi = draw["phi"]
        return scipy.stats.nbinom.ppf(uniform, phi, phi / (phi + self._means(draw)))


def _log_excess(
    values: Array, value_weight: Array, row_weight: Array, row_mass: Array, mean: Array
) -> tuple[float, float]:
    """Estimate of log(1 / phi - 1 / MAX_PHI) given the means, and about its standard deviation.

    They only choose coordinates. Arguments as in negative_binomial.stan; mean of shape (n_rows,).
    """

    def cost(log_excess: float) -> float:
        phi = 1.0 / (1.0 / MAX_PHI + np.exp(log_excess))
        each = scipy.special.gammaln(values + phi) - scipy.special.gammaln(phi) + phi * np.log(phi)
        return float((row_mass + phi * row_weight) @ np.log(phi + mean) - value_weight @ each)

    if not value_weight.any():
        return 0.0, 1.0
    at = float(scipy.optimize.minimize_scalar(cost, bounds=(-12.0, 5.0), method="bounded").x)
    curvature = (cost(at + 0.1) - 2 * cost(at) + cost(at - 0.1)) / 0.1**2
    return at, float(1.0 / np.sqrt(max(curvature, 0.25)))
