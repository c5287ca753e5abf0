"""The base of a family whose Stan program has one term a record: what such a family needs to say is its density."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from synth_core.engine.stan_data import StanData
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Model, Options
from synth_core.models.records import Records


class PerRecordModel(Model):
    """A family of numbers x = outcome / unit, given by its log density, distribution function and quantiles.

    Its Stan program declares `per_record_data.stan` and adds `per_record_sum(terms, ...)`; docs/develop/extending.md
    has an example. The functions below are given x of shape (n_rows,), the design of the same rows, of shape
    (n_rows, n_columns), and each of `parameters` by its name: scalars of shape (n_draws, 1), vectors of shape
    (n_draws, n_elements).

    Attributes
    ----------
    values : str
        Which numbers the family takes: "positive", or "any".
    prior_data : dict
        Scales of the priors by their names in the program, each multiplied by the option `prior_scale`.
    """

    uses: ClassVar[frozenset[str]] = frozenset({"unit"})
    uses_predictors: bool = False
    values: ClassVar[Literal["positive", "any"]] = "any"
    prior_data: ClassVar[dict[str, float]] = {}

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.x = records.outcome / options.unit
        refused = int((self.x <= 0).sum()) if self.values == "positive" else 0
        if refused:
            raise InputError(f"{self.label} needs positive values; {refused:,} are not.")

    @abstractmethod
    def log_density(self, x: Array, design: Array, *_: Any, **parameters: Any) -> Array:
        """The log density of x, complete, in nats, of shape (n_draws, n_rows)."""

    @abstractmethod
    def distribution(self, x: Array, design: Array, *_: Any, **parameters: Any) -> Array:
        """The distribution function at x, of shape (n_draws, n_rows); x may be infinite, or no possible value."""

    @abstractmethod
    def quantile(self, share: Array, design: Array, *_: Any, **parameters: Any) -> Array:
        """The x below which such a share of the distribution lies, of shape (n_draws, n_rows); shares in (0, 1)."""

    @property
    def density_scale(self) -> str:
        """The unit of the density, in words."""
        return f"density per {self.options.unit:g} of the table’s unit"

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        """Data of `per_record_data.stan`: clamped terms first, each record with its weight and its anchor."""
        clamped = [] if censoring is None else [(self, weights, censoring.offset(self.records.n))]
        free = [(model, alpha, np.zeros(len(alpha))) for model, alpha in self.unclamped(weights, censoring)]
        parts = [*clamped, *free] or [(self, weights[:0], weights[:0])]
        x, design = (
            np.concatenate([getattr(model, name)[: len(alpha)] for model, alpha, _ in parts])
            for name in ("x", "design")
        )
        return {
            "n": len(x),
            "x": x,
            "n_columns": design.shape[1],
            "design": design,
            "weights": np.concatenate([alpha for _, alpha, _ in parts]),
            "anchor": np.concatenate([anchor for *_, anchor in parts]),
            "n_clamped": self.records.n if clamped else 0,
            "censor_bound": 0.0 if censoring is None else censoring.bound,
        } | {name: scale * self.options.prior_scale for name, scale in self.prior_data.items()}

    @property
    def design(self) -> Array:
        """The design that the family reads, of shape (n_records, n_columns): of one without predictors no column."""
        return self.records.design if self.uses_predictors else self.records.design[:, :0]

    def _parameters(self, draws: Draws) -> dict[str, Array]:
        return {
            name: values[:, None] if (values := np.asarray(draws[name])).ndim == 1 else values
            for name in self.parameters
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        """The log density of the records in these rows."""
        return self.log_density(self.x[rows], self.design[rows], **self._parameters(draws))

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        """The distribution function of the records in these rows, at values in the analyst's unit."""
        x = values / self.options.unit
        return self.distribution(x, self.design[rows], **self._parameters(draws))

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        """The quantiles of each record."""
        one = {name: np.asarray(draw[name])[None] for name in self.parameters}
        return self.options.unit * self.quantile(uniform, self.design, **self._parameters(one))[0]
