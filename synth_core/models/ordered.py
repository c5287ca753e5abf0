"""Ordered synthesizer: a cumulative logit regression, with a location and a scale, of declared ordered categories."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Options
from synth_core.models.categories import OfCategories
from synth_core.models.coordinates import category_contrasts, penalised_shares
from synth_core.models.design_parts import design_parts
from synth_core.models.ordered_coordinates import gaps, log_interval, log_shares, penalised_cuts
from synth_core.models.records import Records

SHARE_SCALE, LOCATION_SCALE, SPREAD_SCALE = 5.0, 2.5, 0.5
ROOT_2 = np.sqrt(2.0)


class OrderedLogit(OfCategories):
    """Pr(x <= c) = inv_logit((tau_c - z' beta) exp(-z' delta)), c = 0..K-1 (McCullagh 1980, section 6.1).

    tau_c is the log odds of the cumulative shares of the record of average predictors. Prior: the logits of these
    shares, in contrasts as those of `Categorical`, N(0, 5); beta ~ N(0, 2.5) per standard deviation of the predictor;
    delta ~ N(0, 0.5 / sqrt(k - 1)) likewise, so that all predictors together spread the log scale by 0.5. Where they
    decide the outcome the prior alone says how steep the logits are: with more spread their steepness differs between
    records by factors that no step size suits.
    """

    name = "ordered"
    label = "Ordered logit regression"
    program = "ordered.stan"
    ordered_categories = True
    adapt_delta = 0.99
    estimated = False  # its steps are short where predictors tell much: then it takes minutes
    uses: ClassVar[frozenset[str]] = frozenset({"categories"})
    block_elements = BLOCK_ELEMENTS // 2

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.point_mass_category = self._point_mass_category()
        self.n_ordered = self.n_categories - (self.point_mass_category is not None)
        self.contrasts = category_contrasts(self.n_ordered)
        self.parameters = (
            "log_share",
            "beta",
            "delta",
            *(() if self.point_mass_category is None else ("gamma",)),
        )
        self._ends_of: tuple[Array, tuple[Array, ...]] | None = None

    def _point_mass_category(self) -> int | None:
        """The category that is not one of an order, if there is one."""
        return None

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Each category's place among the ordered ones; -1 of the one that stands apart."""
        places = np.arange(self.n_categories)
        return (
            places
            if self.point_mass_category is None
            else np.insert(places[:-1], self.point_mass_category, -1)
        )

    @property
    def order_scores(self) -> Array:
        if self.n_ordered < 3:
            return super().order_scores
        place = np.arange(self.n_ordered)
        scores = (place - place.mean()) / place.std()
        return np.where(self.place < 0, 0.0, scores[self.place])

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        kept = self.kept(weights, censoring)
        prior, k = self.options.prior_scale, self.rows.shape[1]
        slope = self.slope_scale_of(LOCATION_SCALE * prior, censoring)
        spread = SPREAD_SCALE * prior / np.sqrt(max(k - 1, 1))
        scale = np.repeat([SHARE_SCALE * prior, slope, spread], [self.n_ordered - 1, k - 1, k - 1])
        seen = kept if censoring is None else kept + self.counts(weights)
        among = seen[:, self.place >= 0]
        middle = among.sum(axis=1) @ self.rows[:, 1:] / max(among.sum(), 1e-300)
        center, basis = penalised_cuts(self.rows[:, 1:] - middle, among, scale)
        if self.point_mass_category is not None:
            one = seen[:, self.point_mass_category]
            own_scale = self.logit_scale(censoring)
            own = penalised_shares(self.rows, np.column_stack([one, seen.sum(axis=1) - one]), own_scale)
            center = np.concatenate([center, ROOT_2 * own[0]])  # log odds from one orthonormal contrast
            basis = scipy.linalg.block_diag(basis, ROOT_2 * own[1])
            scale = np.concatenate([scale, ROOT_2 * own_scale])
        clamped = self.clamped(weights, censoring)
        clamped["censored_category"] = self.place[clamped["censored_category"] - 1] + 1
        row, category = np.nonzero(kept)
        return {
            "k": k,
            "apart_k": k if self.point_mass_category is not None else 0,
            "n_categories": self.n_ordered,
            "contrasts": self.contrasts,
            "center": center,
            "basis": basis,
            "middle": middle,
            **design_parts(self.rows),
            "n_kept": len(row),
            "kept_row": row + 1,
            "kept_category": self.place[category] + 1,
            "kept_weight": kept[row, category],
            "scale": scale,
            **clamped,
        }

    def prior_scale(self, data: Mapping[str, Any]) -> Array:
        return np.asarray(data["scale"])

    @property
    def n_coordinates(self) -> int:
        k = self.rows.shape[1]
        return self.n_ordered - 1 + 2 * (k - 1) + (0 if self.point_mass_category is None else k)

    def from_coordinates(self, coordinates: Array, data: Mapping[str, Any]) -> Draws:
        k = self.rows.shape[1]
        share, beta, delta, gamma = np.split(
            coordinates, np.cumsum([self.n_ordered - 1, k - 1, k - 1]), axis=1
        )
        zero = np.zeros((len(coordinates), 1))
        factor = np.exp(delta @ data["middle"])[:, None]
        cut, gap = gaps(scipy.special.log_softmax(share @ self.contrasts.T, axis=1))
        beta = factor * beta
        draws = {
            "log_share": log_shares(factor * cut + (beta @ data["middle"])[:, None], factor * gap),
            "beta": np.hstack([zero, beta]),
            "delta": np.hstack([zero, delta]),
        }
        return draws if self.point_mass_category is None else draws | {"gamma": gamma}

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        # Of the record's own category alone: the others cost many times as much. A row of these arrays is a record:
        # what is taken of a category or of a row of the design is copied as it lies.
        parameters = [draws[name] for name in self.parameters[1:]]
        predictors, index = self.records.linear_predictor(np.concatenate(parameters), rows)
        location, spread, *apart = np.split(np.ascontiguousarray(predictors.T), len(parameters), axis=1)
        place, scale = self.place[self.code[rows]] + 1, np.exp(-spread)[index]
        cut_above, cut_below, gap = self._ends(draws["log_share"])
        above = (cut_above[place] - location[index]) * scale
        below = (cut_below[place] - location[index]) * scale
        log_lik = log_interval(above, below, gap[place] * scale)
        if self.point_mass_category is not None:
            logit = np.where(place == 0, 1.0, -1.0)[:, None] * apart[0][index]
            log_lik += np.minimum(logit, 0.0) - np.log1p(np.exp(-np.abs(logit)))
        return log_lik.T + self.log_within[rows]

    def _ends(self, log_share: Array) -> tuple[Array, ...]:
        """Cuts above and below each category and what lies between, of shape (1 + n_ordered, n_draws).

        First of the category apart, which has no cuts: its share of the ordered ones is 1. Kept for the next records.
        """
        known = self._ends_of
        if known is None or known[0] is not log_share:
            cut, gap = (found.T for found in gaps(log_share))
            far = np.full((1, len(log_share)), np.inf)
            ends = [far, cut, far], [-far, -far, cut], [far, far, gap, far]
            known = self._ends_of = log_share, tuple(map(np.concatenate, ends))
        return known[1]

    def log_shares(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        cut, gap = gaps(draws["log_share"])
        location, index = self.records.linear_predictor(draws["beta"], rows)
        scale = np.exp(-self.records.linear_predictor(draws["delta"], rows)[0])[:, None]
        at = (cut[:, :, None] - location[:, None]) * scale
        shares = log_shares(at, gap[:, :, None] * scale)
        if self.point_mass_category is not None:
            logit = self.records.linear_predictor(draws["gamma"], rows)[0]
            shares += scipy.special.log_expit(-logit)[:, None]
            shares = np.insert(shares, self.point_mass_category, scipy.special.log_expit(logit), axis=1)
        return shares, index

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """All categories alike: nobody need guess more."""
        none = np.zeros((1, self.rows.shape[1]))
        draws = {
            "log_share": np.full((1, self.n_ordered), -np.log(self.n_ordered)),
            "beta": none,
            "delta": none,
        }
        if self.point_mass_category is not None:
            draws["gamma"] = none - np.log(self.n_ordered) * np.eye(1, none.shape[1])
        return draws
