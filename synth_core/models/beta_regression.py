"""Beta regression on declared bounds (Hu, Williams and Savitsky, the censoring mechanism, section 5)."""

from __future__ import annotations

import numpy as np
import scipy

from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import Array, Draws, Options, Proposal
from synth_core.models.beta import LAMBDA_LOWER, LAMBDA_SHAPE, SHARE_BOUNDS, BetaFamily
from synth_core.models.coordinates import penalised_estimate, row_sums, whitening
from synth_core.models.records import Records

SLOPE_SCALE = 2.5


class BetaRegression(BetaFamily):
    """x scaled into (0, 1) ~ Beta(lambda * mu, lambda * (1 - mu)), logit(mu) = z' beta.

    Priors: beta_1 ~ logistic(0, 1) (a uniform mean, as in the beta model), other beta_j ~ N(0, 2.5) per
    standard deviation of the predictor, lambda ~ Pareto(0.1, 1.5).
    """

    name = "beta_regression"
    label = "Beta regression"
    program = "beta_regression.stan"
    proposals = {  # noqa: RUF012
        "share": Proposal(SHARE_BOUNDS, (("bounds", (0.0, 1.0)),), regression=True)
    }
    parameters = ("beta", "lambda")

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.rows, self.row_of = records.distinct_design
        self.slope_scale = SLOPE_SCALE * options.prior_scale

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        n_rows = len(self.rows)
        unclamped = self.unclamped(weights, censoring)
        kept = sum((m._sums(alpha) for m, alpha in unclamped), np.zeros((5, n_rows)))
        total, _, _, mass, square = kept if censoring is None else kept + self._sums(weights)
        center, variance = penalised_estimate(self.rows, total, mass, "logit", self.slope_scale)
        mean = scipy.special.expit(self.rows @ center)
        residual = float((square - 2 * mean * mass + mean**2 * total).sum())
        precision = max(float(total @ variance) / max(residual, 1e-9), 1.1)  # 1 + lambda, by moments
        basis = whitening(self.rows, total * variance * precision, self.slope_scale)
        data: StanData = {
            "k": self.rows.shape[1],
            "center": center,
            "basis": basis,
            "n_rows": n_rows,
            "rows": self.rows @ basis,
            "row_center": self.rows @ center,
            "row_weight": kept[0],
            "row_log_x": kept[1],
            "row_log1m_x": kept[2],
            "n_censored": 0,
            "censored_features": np.empty((0, 3)),
            "censored_row": np.empty(0, dtype=int),
            "censored_count": np.empty(0),
            "censored_constant": np.empty(0),
            "censor_bound": 0.0,
            "intercept_scale": self.options.prior_scale,
            "slope_scale": self.slope_scale_of(self.slope_scale, censoring),
            "lambda_lower": LAMBDA_LOWER,
            "lambda_shape": LAMBDA_SHAPE / self.options.prior_scale,
        }
        if censoring is not None:
            terms = np.column_stack([self.log_x, self.log1m_x, np.ones(self.records.n)]) * weights[:, None]
            distinct, first, count = np.unique(
                np.column_stack([terms, self.row_of]), axis=0, return_index=True, return_counts=True
            )
            data |= {
                "n_censored": len(count),
                "censored_features": distinct[:, :3],
                "censored_row": distinct[:, 3].astype(int) + 1,
                "censored_count": count.astype(float),
                "censored_constant": -(weights * censoring.offset(self.records.n))[first],
                "censor_bound": censoring.bound,
            }
        return data

    def _sums(self, weights: Array) -> Array:
        """Weighted sums of 1, log x, log(1 - x), x and its square by distinct row of the design: (5, n_rows)."""
        each = (1.0, self.log_x, self.log1m_x, np.exp(self.log_x), np.exp(2 * self.log_x))
        return np.stack([row_sums(self.row_of, weights * one, len(self.rows)) for one in each])

    def shapes(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        a, b, _ = self._by_row(draws, rows)
        return a, b

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        a, b, log_constant = self._by_row(draws, rows)
        return (a - 1) * self.log_x[rows] + (b - 1) * self.log1m_x[rows] - log_constant

    def family(self, draws: Draws) -> LinearFamily | None:
        def coefficients(row: Array) -> tuple[Array, ...]:
            eta, precision = draws["beta"] @ row, draws["lambda"]
            a, b = precision * scipy.special.expit(eta), precision * scipy.special.expit(-eta)
            return a - 1.0, b - 1.0, -scipy.special.betaln(a, b)

        return self._by_design_row((self.log_x, self.log1m_x), coefficients)

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        mean, precision = self._guess(typical, spread)
        slopes = np.zeros(self.rows.shape[1] - 1)
        return {"beta": np.r_[scipy.special.logit(mean), slopes][None], "lambda": np.array([precision])}

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        eta = (self.rows @ draw["beta"])[self.row_of]
        a, b = (np.maximum(draw["lambda"] * scipy.special.expit(e), 1e-300) for e in (eta, -eta))
        return self._draw(a, b, rng)

    def _by_row(self, draws: Draws, rows: Rows) -> tuple[Array, Array, Array]:
        """a, b and log B(a, b) of shape (n_draws, n_rows); distinct design rows are computed once."""
        precision = draws["lambda"][:, None]
        eta, index = self.records.linear_predictor(draws["beta"], rows)
        a, b = precision * scipy.special.expit(eta), precision * scipy.special.expit(-eta)
        log_constant = scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(precision)
        return a[:, index], b[:, index], log_constant[:, index]
