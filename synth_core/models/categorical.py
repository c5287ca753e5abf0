"""Categorical synthesizer: a multinomial logit regression of an outcome of declared categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Model, Options, Records
from synth_core.models.coordinates import category_contrasts, penalised_shares, row_sums

INTERCEPT_SCALE, SLOPE_SCALE = 5.0, 2.5


class Categorical(Model):
    """Pr(x = c) proportional to exp(z' beta_c), c = 0..K-1 the place of a value among the declared categories.

    Prior: beta = gamma C', C orthonormal with columns that sum to 0, so that all categories are alike;
    gamma_1j ~ N(0, 5), others N(0, 2.5) per standard deviation of the predictor (McFadden 1974; Gelman et al. 2008).
    """

    name = "categorical"
    label = "Multinomial logit regression"
    program = "categorical.stan"
    parameters = ("beta",)
    uses = frozenset({"categories"})
    discrete = True
    ordered = False
    needs_guess = False
    adapt_delta = 0.9  # an empty category has a skewed posterior
    block_elements = BLOCK_ELEMENTS // 8  # every category is computed

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.n_categories = len(options.categories)
        if self.n_categories < 2:
            raise InputError(f"The {self.label} model needs two declared categories or more.")
        if not np.isin(records.outcome, np.arange(self.n_categories)).all():
            raise InputError(f"The {self.label} model needs codes from 0 to {self.n_categories - 1}.")
        self.code = records.outcome.astype(np.int64)
        self.rows, self.row_of = records.distinct_design
        self.scale = np.full(self.rows.shape[1], SLOPE_SCALE * options.prior_scale)
        self.scale[0] = INTERCEPT_SCALE * options.prior_scale

    @property
    def density_scale(self) -> str:
        return "probability of a category"

    def _counts(self, weights: Array) -> Array:
        """Sums of the weights by distinct row of the design and by category, of shape (n_rows, n_categories)."""
        shape = len(self.rows), self.n_categories
        cell = self.row_of * self.n_categories + self.code
        return row_sums(cell, weights, shape[0] * shape[1]).reshape(shape)

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> dict[str, Any]:
        kept = sum(
            (m._counts(alpha) for m, alpha in self.unclamped(weights, censoring)),
            np.zeros((len(self.rows), self.n_categories)),
        )
        scale = self.scale.copy()
        scale[1:] = self.slope_scale_of(SLOPE_SCALE * self.options.prior_scale, censoring)
        seen = kept if censoring is None else kept + self._counts(weights)
        center, basis = penalised_shares(self.rows, seen, scale)
        empty, none = np.empty(0), np.empty(0, dtype=int)
        data: dict[str, Any] = {
            "k": self.rows.shape[1],
            "n_categories": self.n_categories,
            "contrasts": category_contrasts(self.n_categories),
            "center": center,
            "basis": basis,
            "n_rows": len(self.rows),
            "rows": self.rows,
            "row_weight": kept,
            "n_censored": 0,
            "censored_row": none,
            "censored_category": none,
            "censored_weight": empty,
            "censored_count": empty,
            "censored_constant": empty,
            "censor_bound": 0.0,
            "coefficient_scale": scale,
        }
        if censoring is not None:
            some = np.flatnonzero(weights)
            constant = -(weights * censoring.offset(len(weights)))[some]
            keys = np.column_stack([self.row_of[some], self.code[some], weights[some], constant])
            distinct, count = np.unique(keys, axis=0, return_counts=True)
            data |= {
                "n_censored": len(count),
                "censored_row": distinct[:, 0].astype(int) + 1,
                "censored_category": distinct[:, 1].astype(int) + 1,
                "censored_weight": distinct[:, 2],
                "censored_constant": distinct[:, 3],
                "censored_count": count.astype(float),
                "censor_bound": censoring.bound,
            }
        return data

    def _log_shares(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        """Log probabilities of shape (n_draws, n_categories, n_used), and each row's place among the used."""
        beta = draws["beta"].reshape(-1, self.n_categories, self.rows.shape[1])
        n_draws = len(beta)
        logits, index = self.records.linear_predictor(beta.reshape(n_draws * self.n_categories, -1), rows)
        logits = logits.reshape(n_draws, self.n_categories, -1)
        return scipy.special.log_softmax(logits, axis=1), index

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        log_shares, index = self._log_shares(draws, rows)
        return log_shares[:, self.code[rows], index]

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return self.interval_mass(draws, np.full(len(values), -np.inf), values, rows)

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        """Probability of the categories between two codes, ends included."""
        log_shares, index = self._log_shares(draws, rows)
        low, high = self.whole_ends(lower, upper)
        codes = np.arange(self.n_categories)[:, None]
        inside = (codes >= low) & (codes <= high)
        return np.einsum("skr,kr->sr", np.exp(log_shares)[:, :, index], inside)

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """All categories alike: nobody need guess more."""
        return {"beta": np.zeros((1, self.rows.shape[1] * self.n_categories))}

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        log_shares, index = self._log_shares({"beta": draw["beta"][None]}, slice(None))
        upto = np.cumsum(np.exp(log_shares[0]), axis=0)[:-1, index]
        return (rng.random(self.records.n) > upto).sum(axis=0).astype(float)
