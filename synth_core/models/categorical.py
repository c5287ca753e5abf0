"""Categorical synthesizer: a multinomial logit regression of an outcome of declared categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws
from synth_core.models.categories import OfCategories
from synth_core.models.coordinates import category_contrasts, penalised_shares
from synth_core.models.design_parts import design_parts


class Categorical(OfCategories):
    """Pr(x = c) proportional to exp(z' beta_c), c = 0..K-1 the place of a value among the declared categories.

    Prior: beta = gamma C', C orthonormal with columns that sum to 0, so that all categories are alike;
    gamma_1j ~ N(0, 5), others N(0, 2.5) between two categories of a predictor or two standard deviations of a number
    (McFadden 1974; Gelman et al. 2008). By its own deviation a rare category would have a wide prior, and where
    predictors decide the outcome the posterior is as wide as its prior.
    """

    name = "categorical"
    label = "Multinomial logit regression"
    program = "categorical.stan"
    parameters = ("beta",)
    uses = frozenset({"categories"})

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        kept = self.kept(weights, censoring)
        scale = self.logit_scale(censoring)
        seen = kept if censoring is None else kept + self.counts(weights)
        center, basis = penalised_shares(self.rows, seen, scale)
        return {
            "k": self.rows.shape[1],
            "n_categories": self.n_categories,
            "contrasts": category_contrasts(self.n_categories),
            "center": center,
            "basis": basis,
            **design_parts(self.rows),
            "row_weight": kept.sum(axis=1),
            "linear": self.rows.T @ kept,
            "coefficient_scale": scale,
            **self.clamped(weights, censoring),
        }

    def prior_scale(self, data: Mapping[str, Any]) -> Array:
        return np.tile(data["coefficient_scale"], self.n_categories - 1)

    @property
    def n_coordinates(self) -> int:
        return self.rows.shape[1] * (self.n_categories - 1)

    def from_coordinates(self, coordinates: Array, data: Mapping[str, Any]) -> Draws:
        gamma = coordinates.reshape(len(coordinates), self.n_categories - 1, -1)
        beta = np.einsum("cj,sjk->sck", category_contrasts(self.n_categories), gamma)
        return {"beta": beta.reshape(len(coordinates), -1)}

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        # Of the record's own category alone. A record is a row here: what is taken of it is copied as it lies.
        logits, index = self._logits(draws, rows)
        largest = logits.max(axis=0)
        own = logits[self.code[rows], index]
        logits -= largest
        return (own - (largest + np.log(np.exp(logits, out=logits).sum(axis=0)))[index]).T

    def log_shares(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        logits, index = self._logits(draws, rows)
        return scipy.special.log_softmax(logits, axis=0).transpose(2, 0, 1), index

    def _logits(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        """Logits of shape (n_categories, n_used, n_draws), and each row's place among the used."""
        beta = draws["beta"].reshape(-1, self.n_categories, self.rows.shape[1])
        used, index = np.unique(self.row_of[rows], return_inverse=True)
        return self.rows[used] @ beta.transpose(1, 2, 0), index

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """All categories alike: nobody need guess more."""
        return {"beta": np.zeros((1, self.rows.shape[1] * self.n_categories))}
