"""Ordered synthesizer: a cumulative logit regression, with a location and a scale, of declared ordered categories."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Options, Records
from synth_core.models.categories import OfCategories
from synth_core.models.coordinates import category_contrasts
from synth_core.models.ordered_coordinates import gaps, penalised_cuts

SHARE_SCALE, LOCATION_SCALE, SPREAD_SCALE = 5.0, 2.5, 0.5


class OrderedLogit(OfCategories):
    """Pr(x <= c) = inv_logit((tau_c - z' beta) exp(-z' delta)), c = 0..K-1 (McCullagh 1980, section 6.1).

    tau_c is the log odds of the cumulative shares of the record of average predictors. Prior: the logits of these
    shares, in contrasts as those of `Categorical`, N(0, 5); beta ~ N(0, 2.5) and delta ~ N(0, 0.5) per standard
    deviation of the predictor.
    """

    name = "ordered"
    label = "Ordered logit regression"
    program = "ordered.stan"
    parameters = ("log_share", "beta", "delta")
    uses: ClassVar[frozenset[str]] = frozenset({"categories"})
    block_elements = BLOCK_ELEMENTS // 2

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.contrasts = category_contrasts(self.n_categories)

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> dict[str, Any]:
        kept = self.kept(weights, censoring)
        prior, k = self.options.prior_scale, self.rows.shape[1]
        scale = np.concatenate(
            [
                np.full(self.n_categories - 1, SHARE_SCALE * prior),
                np.full(k - 1, self.slope_scale_of(LOCATION_SCALE * prior, censoring)),
                np.full(k - 1, self.slope_scale_of(SPREAD_SCALE * prior, censoring, SPREAD_SCALE)),
            ]
        )
        seen = kept if censoring is None else kept + self.counts(weights)
        center, basis = penalised_cuts(self.rows[:, 1:], seen, scale)
        row, category = np.nonzero(kept)
        return {
            "k": k,
            "n_categories": self.n_categories,
            "contrasts": self.contrasts,
            "center": center,
            "basis": basis,
            "n_rows": len(self.rows),
            "rows": self.rows,
            "n_cells": len(row),
            "cell_row": row + 1,
            "cell_category": category + 1,
            "cell_weight": kept[row, category],
            "scale": scale,
            **self.clamped(weights, censoring),
        }

    def from_coordinates(self, coordinates: Array) -> Draws:
        gamma, beta, delta = np.split(
            coordinates, [self.n_categories - 1, self.n_categories - 2 + self.rows.shape[1]], axis=1
        )
        zero = np.zeros((len(coordinates), 1))
        return {
            "log_share": scipy.special.log_softmax(gamma @ self.contrasts.T, axis=1),
            "beta": np.hstack([zero, beta]),
            "delta": np.hstack([zero, delta]),
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        # Of the record's own category alone: the others cost many times as much.
        code = self.code[rows]
        cut, gap = gaps(draws["log_share"])
        location, index = self.records.linear_predictor(draws["beta"], rows)
        scale = np.exp(-self.records.linear_predictor(draws["delta"], rows)[0])
        found = np.zeros((len(cut), len(code)))
        for inner, place, sign in (
            (code < self.n_categories - 1, code, 1.0),
            (code > 0, code - 1, -1.0),
        ):
            at = (cut[:, place[inner]] - location[:, index[inner]]) * scale[:, index[inner]]
            found[:, inner] += scipy.special.log_expit(sign * at)
        between = (code > 0) & (code < self.n_categories - 1)
        with np.errstate(divide="ignore"):
            found[:, between] += np.log(-np.expm1(-gap[:, code[between] - 1] * scale[:, index[between]]))
        return found + self.log_within()[rows]

    def log_shares(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        cut, gap = gaps(draws["log_share"])
        location, index = self.records.linear_predictor(draws["beta"], rows)
        scale = np.exp(-self.records.linear_predictor(draws["delta"], rows)[0])[:, None]
        at = (cut[:, :, None] - location[:, None]) * scale
        found = np.zeros((len(cut), self.n_categories, at.shape[2]))
        found[:, :-1] += scipy.special.log_expit(at)
        found[:, 1:] += scipy.special.log_expit(-at)
        with np.errstate(divide="ignore"):
            found[:, 1:-1] += np.log(-np.expm1(-gap[:, :, None] * scale))
        return found, index

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """All categories alike: nobody need guess more."""
        none = np.zeros((1, self.rows.shape[1]))
        return {
            "log_share": np.full((1, self.n_categories), -np.log(self.n_categories)),
            "beta": none,
            "delta": none,
        }
