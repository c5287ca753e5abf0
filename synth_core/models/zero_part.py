"""The probability of a zero: a logistic regression, one part of a two-part model (Duan et al. 1983)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from synth_core.mechanisms.bounds import Rows
from synth_core.models.base import Array, Draws, Records
from synth_core.models.coordinates import penalised_estimate, row_sums, whitening

SLOPE_SCALE = 2.5


class ZeroPart:
    """logit Pr(x = 0) = z' gamma.

    Priors: gamma_1 ~ logistic(0, 1), other gamma_j ~ N(0, 2.5) per standard deviation of the predictor.
    """

    def __init__(self, records: Records, prior_scale: float):
        self.records = records
        self.is_zero = records.outcome == 0
        self.rows, self.row_of = records.distinct_design
        self.prior_scale = prior_scale

    def stan_data(self, weights: Array, censored: bool) -> dict[str, Any]:
        """The data of `zero_part_data.stan` for weights of shape (n_records,)."""
        n_rows = len(self.rows)
        zero = row_sums(self.row_of, weights * self.is_zero, n_rows)
        total = row_sums(self.row_of, weights, n_rows)
        scale = SLOPE_SCALE * self.prior_scale
        center, variance = penalised_estimate(self.rows, total, zero, "logit", scale)
        basis = whitening(self.rows, total * variance, scale)
        data = empty_zero_part() | {
            "zero_k": self.rows.shape[1],
            "zero_center": center,
            "zero_basis": basis,
            "n_zero_rows": n_rows,
            "zero_rows": self.rows @ basis,
            "zero_row_center": self.rows @ center,
            "zero_weight": zero,
            "nonzero_weight": np.maximum(total - zero, 0.0),
            "zero_scale": self.prior_scale,
        }
        if censored:
            keys = np.column_stack([weights, self.row_of])[self.is_zero]
            distinct, count = np.unique(keys, axis=0, return_counts=True)
            data |= {
                "n_zero_censored": len(count),
                "zero_censored_row": distinct[:, 1].astype(int) + 1,
                "zero_censored_weight": distinct[:, 0],
                "zero_censored_count": count.astype(float),
            }
        return data

    def log_probabilities(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        """log Pr(x = 0) and log Pr(x != 0), each of shape (n_draws, n_rows)."""
        logit, index = self.records.linear_predictor(draws["gamma"], rows)
        return scipy.special.log_expit(logit)[:, index], scipy.special.log_expit(-logit)[:, index]

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        """Which of the synthetic values are zero, of shape (n_records,)."""
        return rng.random(len(self.row_of)) < scipy.special.expit(self.rows @ draw["gamma"])[self.row_of]


def empty_zero_part() -> dict[str, Any]:
    """The same data for a model without a zero part."""
    empty = np.empty(0)
    return {
        "zero_k": 0,
        "zero_center": empty,
        "zero_basis": np.empty((0, 0)),
        "n_zero_rows": 0,
        "zero_rows": np.empty((0, 0)),
        "zero_row_center": empty,
        "zero_weight": empty,
        "nonzero_weight": empty,
        "n_zero_censored": 0,
        "zero_censored_row": empty.astype(int),
        "zero_censored_weight": empty,
        "zero_censored_count": empty,
        "zero_scale": 1.0,
    }
