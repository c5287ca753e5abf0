"""The probability of a zero: a logistic regression, one part of a two-part model (Duan et al. 1983)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws
from synth_core.models.coordinates import penalised_estimate, row_sums, whitening
from synth_core.models.gauss_rule import quadrature_rows
from synth_core.models.records import Records, distinct_columns
from synth_core.system.plain_paths import plain

SLOPE_SCALE = 2.5
FEW_VALUES = 64  # of a column of the design, for it to be kept by cell
REACH = 12.0  # standard deviations of a coefficient: beyond it a sample comes in no lifetime


class ZeroPart:
    """logit Pr(x = 0) = z' gamma.

    Priors: gamma_1 ~ logistic(0, 1), other gamma_j ~ N(0, 2.5) per standard deviation of the predictor.
    """

    def __init__(self, records: Records, prior_scale: float):
        self.records = records
        self.is_zero = records.outcome == 0
        self.rows, self.row_of = records.distinct_design
        self._design = _ByCell.of(self.rows)
        self.prior_scale = prior_scale
        self.slope_scale = SLOPE_SCALE * prior_scale

    def _sums(self, weights: Array) -> Array:
        """Sums of the weights over the zeros and over the others, by distinct row of the design: shape (2, n_rows)."""
        zero = row_sums(self.row_of, weights * self.is_zero, len(self.rows))
        return np.stack([zero, np.maximum(row_sums(self.row_of, weights, len(self.rows)) - zero, 0.0)])

    def stan_data(
        self,
        unclamped: list[tuple[ZeroPart, Array]],
        weights: Array,
        censoring: Censoring | None,
        slope_scale: float,
    ) -> StanData:
        """The data of `zero_part_data.stan`.

        Parameters
        ----------
        unclamped : list of (zero part, weights)
            Whose likelihoods enter as they are, see `Model.unclamped`; in the same design.
        weights : array of shape (n_records,)
            Of the clamped terms.
        slope_scale : float
            Of the prior.
        """
        n_rows = len(self.rows)
        kept = sum((part._sums(alpha) for part, alpha in unclamped), np.zeros((2, n_rows)))
        design = self._design
        seen = kept if censoring is None else kept + self._sums(weights)
        center, variance = penalised_estimate(self.rows, seen.sum(axis=0), seen[0], "logit", slope_scale)
        basis = whitening(self.rows, seen.sum(axis=0) * variance, slope_scale)
        data = empty_zero_part() | {
            "zero_k": self.rows.shape[1],
            "zero_center": center,
            "zero_basis": basis,
            **design.data(),
            "zero_sum": self.rows.T @ kept[0],
            **design.nodes(kept.sum(axis=0), center, basis),
            "zero_scale": self.prior_scale,
            "zero_slope_scale": slope_scale,
        }
        if censoring is not None:
            chosen = np.flatnonzero(self.is_zero & (weights != 0))
            keys = np.column_stack([weights, self.row_of])[chosen]
            first, index = distinct_columns(keys.T)
            count = np.bincount(index)
            first = chosen[first]
            data |= {
                "n_zero_rows": n_rows,
                "zero_cell": design.cell + 1,
                "zero_others": design.others,
                "n_zero_censored": len(count),
                "zero_censored_row": self.row_of[first] + 1,
                "zero_censored_weight": weights[first],
                "zero_censored_count": count.astype(float),
                "zero_censored_constant": -(weights * censoring.offset(len(weights)))[first],
            }
        return data

    def log_probabilities(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        """log Pr(x = 0) and log Pr(x != 0), each of shape (n_draws, n_rows)."""
        logit, index = self.records.linear_predictor(draws["gamma"], rows)
        return scipy.special.log_expit(logit)[:, index], scipy.special.log_expit(-logit)[:, index]

    def shares(self, draw: Draws) -> Array:
        """Pr(0) and Pr(other) of every record, of shape (2, n_records)."""
        logit = (self.rows @ draw["gamma"])[self.row_of]
        return scipy.special.expit([logit, -logit])


def empty_zero_part() -> StanData:
    """The data of `zero_part_data.stan` for a model without a zero part."""
    empty = np.empty(0)
    none = np.empty((0, 0))
    return {
        "zero_k": 0,
        "zero_center": empty,
        "zero_basis": none,
        **_ByCell.of(none).data(),
        "zero_sum": empty,
        **_nodes(empty.astype(int), none, empty),
        "n_zero_rows": 0,
        "zero_cell": empty.astype(int),
        "zero_others": none,
        "n_zero_censored": 0,
        "zero_censored_row": empty.astype(int),
        "zero_censored_weight": empty,
        "zero_censored_count": empty,
        "zero_censored_constant": empty,
        "zero_scale": 1.0,
        "zero_slope_scale": 1.0,
    }


@dataclass(frozen=True)
class _ByCell:
    """Rows of a design as `zero_part_data.stan` has them: columns of few values once a cell, the others by row.

    Where a predictor has a value of its own for nearly every record, the others are read a few hundred times a
    gradient instead of once a record.

    Attributes
    ----------
    cells : array of shape (n_cells, k), 0 in the other columns
    cell : array of shape (n_rows,)
    other : places of the other columns
    others : array of shape (n_rows, n_others); empty without any
    """

    cells: Array
    cell: NDArray[np.int64]
    other: NDArray[np.int64]
    others: Array

    @staticmethod
    def of(rows: Array) -> _ByCell:
        few = np.array([len(np.unique(column)) <= FEW_VALUES for column in rows.T], dtype=bool)
        kept = np.where(few, rows, 0.0)
        first, cell = distinct_columns(kept.T)
        other = np.flatnonzero(~few)
        return _ByCell(kept[first], cell, other, rows[:, other] if other.size else np.empty((0, 0)))

    def data(self) -> StanData:
        return {
            "n_zero_cells": len(self.cells),
            "zero_cells": self.cells,
            "n_zero_others": len(self.other),
            "zero_other": self.other + 1,
        }

    def nodes(self, weight: Array, center: Array, basis: Array) -> StanData:
        """What stands for the rows in an unclamped sum: where one column is not in the cells, few that give the same.

        The same to rounding wherever the coefficient of that column is within `REACH` of its standard deviations.
        """
        if len(self.other) == 0:
            total = row_sums(self.cell, weight, len(self.cells))
            return _nodes(np.arange(len(total)), self.others, total)
        if len(self.other) > 1 or plain():
            some = np.flatnonzero(weight)
            return _nodes(self.cell[some], self.others[some], weight[some])
        at = self.other[0]
        slope = abs(center[at]) + REACH * float(np.linalg.norm(basis[at]))
        cell, place, total = quadrature_rows(self.cell, self.others[:, 0], weight, slope)
        return _nodes(cell, place[:, None], total)


def _nodes(cell: NDArray[np.int64], others: Array, weight: Array) -> StanData:
    return {
        "n_zero_nodes": len(cell),
        "zero_node_cell": cell + 1,
        "zero_node_others": others,
        "zero_node_weight": weight,
    }
