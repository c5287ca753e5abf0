"""What models of declared categories share: an outcome of codes, its clamped terms, its distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.engine.sampling import Sampler
from synth_core.engine.stan_data import StanData
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Model, Options, parted
from synth_core.models.coordinates import row_sums
from synth_core.models.records import Records
from synth_core.system.plain_paths import plain

INTERCEPT_SCALE, STEP_SCALE = 5.0, 2.5
WHITE_RECORDS = 40  # for each parameter
RARE_RECORDS = 10  # of a category
PRIOR_SHARE = 0.2  # of the prior's variance, that is left to a coordinate; on average
WHITE: dict[str, Any] = {"warmup": 50, "adapt_delta": 0.88, "max_treedepth": 3}  # where both are reached


class OfCategories(Model):
    """Probabilities of categories given a row of the design; the outcome is the place of a category among them."""

    discrete = True
    ordered = False
    needs_guess = False
    adapt_delta = 0.95
    max_warmup = 300
    metric = "unit_e"  # an adapted one took a third more gradients for smaller effective sizes
    block_elements = BLOCK_ELEMENTS // 4  # every category is computed

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.n_categories = self._declared()
        self.code = self._codes(records.outcome)
        self.rows, self.row_of = records.distinct_design

    def _declared(self) -> int:
        """How many categories there are; raises InputError below two."""
        if len(self.options.categories) < 2:
            raise InputError(f"The {self.label} model needs two declared categories or more.")
        return len(self.options.categories)

    def _codes(self, outcome: Array) -> NDArray[np.int64]:
        """Places of the outcomes among the categories; raises InputError for one that has none."""
        if not np.isin(outcome, np.arange(self.n_categories)).all():
            raise InputError(f"The {self.label} model needs codes from 0 to {self.n_categories - 1}.")
        return outcome.astype(np.int64)

    def logit_scale(self, censoring: Censoring | None) -> Array:
        """Prior scales of the coefficients of logits, of shape (k,)."""
        k, prior = self.rows.shape[1], self.options.prior_scale
        steps = np.full(k, 2.0) if self.records.steps is None else self.records.steps
        slopes = [self.slope_scale_of(STEP_SCALE * prior / step, censoring) for step in steps[1:]]
        return np.r_[INTERCEPT_SCALE * prior, slopes]

    @property
    def order_scores(self) -> Array:
        """The place of each category in their order, in deviations of equal shares; 0 where there is no order."""
        return np.zeros(self.n_categories)

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """How many parameters are free."""

    def sampler_settings(self, sampler: Sampler, censoring: Censoring | None) -> Sampler:
        """Without an anchor nobody knows which terms are clamped, and what to whiten by: the metric is adapted too."""
        if censoring is not None and censoring.anchor is None:
            return replace(sampler, adapt_delta=self.adapt_delta)
        return super().sampler_settings(sampler, censoring)

    def adapt_trajectories(
        self, sampler: Sampler, weights: Array, censoring: Censoring | None, data: Mapping[str, Any]
    ) -> Sampler:
        """Few and short trajectories where the coordinates are white: the records say much of each parameter.

        Then 7 steps are about half a turn, of which a draw is a quarter away from the last, and a quarter forgets most.
        Of many coordinates a step is short, half a turn is just more than 7, and NUTS would take 15: nearly a whole
        turn, back to where it was. Elsewhere the posterior is skewed, most of all where a category is nearly empty and
        its share may be anything below, or where predictors decide the outcome and the prior alone says how far: steps
        are small, NUTS chooses how many.
        """
        if plain() or (censoring is not None and censoring.anchor is None):
            return sampler
        told = np.bincount(self.code, weights, self.n_categories)
        if censoring is not None and censoring.prior_outcome is not None:
            prior = self._codes(censoring.prior_outcome)
            told += np.bincount(prior, np.broadcast_to(censoring.prior_weight, len(prior)), len(told))
            widest = 1.0  # the prior's slopes are narrow
        else:
            widest = PRIOR_SHARE
        if told.min() < RARE_RECORDS or told.sum() < WHITE_RECORDS * self.n_coordinates:
            return sampler
        variance = np.square(data["basis"]).sum(axis=1)
        if np.mean(variance / np.square(self.prior_scale(data))) > widest:
            return sampler
        return replace(sampler, **WHITE | {"warmup": min(sampler.warmup, WHITE["warmup"])})

    @abstractmethod
    def prior_scale(self, data: Mapping[str, Any]) -> Array:
        """The prior scale of each coordinate of the data's center, of shape (n_coordinates,)."""

    @property
    def density_scale(self) -> str:
        return "probability of a category"

    @property
    def has_density(self) -> NDArray[np.bool_]:
        return np.zeros(self.records.n, dtype=bool)

    def outcomes(self, codes: NDArray[np.int64], within: Array) -> Array:
        """An outcome in each category, at a share of what lies in it."""
        return codes.astype(float)

    @abstractmethod
    def log_shares(self, draws: Draws, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        """Log probabilities of shape (n_draws, n_categories, n_used), and each row's place among the used."""

    @cached_property
    def log_within(self) -> Array:
        """What log densities have beside the log probability of a category, of shape (n_records,)."""
        return np.zeros(self.records.n)

    def counts(self, weights: Array) -> Array:
        """Sums of the weights by distinct row of the design and by category, of shape (n_rows, n_categories)."""
        shape = len(self.rows), self.n_categories
        cell = self.row_of * self.n_categories + self.code
        return row_sums(cell, weights, shape[0] * shape[1]).reshape(shape)

    def kept(self, weights: Array, censoring: Censoring | None) -> Array:
        """Weighted counts of the records that enter without clamping."""
        none = np.zeros((len(self.rows), self.n_categories))
        return sum((m.counts(alpha) for m, alpha in self.unclamped(weights, censoring)), none)

    def clamped(self, weights: Array, censoring: Censoring | None) -> StanData:
        """The clamped part of Stan's data: distinct records, and how many share all of it."""
        empty, none = np.empty(0), np.empty(0, dtype=int)
        if censoring is None:
            return {
                "n_censored": 0,
                "censored_row": none,
                "censored_category": none,
                "censored_weight": empty,
                "censored_count": empty,
                "censored_constant": empty,
                "censor_bound": 0.0,
            }
        some = np.flatnonzero(weights)
        # Rounded: the anchor's density has the same factor within a bracket, which leaves the last bits behind.
        constant = np.round(weights * (self.log_within - censoring.offset(len(weights))), 10)[some]
        keys = np.column_stack([self.row_of[some], self.code[some], weights[some], constant])
        distinct, count = np.unique(keys, axis=0, return_counts=True)
        return {
            "n_censored": len(count),
            "censored_row": distinct[:, 0].astype(int) + 1,
            "censored_category": distinct[:, 1].astype(int) + 1,
            "censored_weight": distinct[:, 2],
            "censored_constant": distinct[:, 3],
            "censored_count": count.astype(float),
            "censor_bound": censoring.bound,
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        log_shares, index = self.log_shares(draws, rows)
        return log_shares[:, self.code[rows], index] + self.log_within[rows]

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return self.interval_mass(draws, np.full(len(values), -np.inf), values, rows)

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        """Probability of the categories between two codes, ends included."""
        log_shares, index = self.log_shares(draws, rows)
        low, high = self.whole_ends(lower, upper)
        codes = np.arange(self.n_categories)[:, None]
        inside = (codes >= low) & (codes <= high)
        return np.einsum("skr,kr->sr", np.exp(log_shares)[:, :, index], inside)

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        one = {name: np.asarray(values)[None] for name, values in draw.items()}
        log_shares, index = self.log_shares(one, slice(None))
        return self.outcomes(*parted(uniform, np.exp(log_shares[0])[:, index]))
