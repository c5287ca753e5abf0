"""How close the numbers of whole records are: percentiles, and regressions of each on all other columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.regression import coefficient_overlaps
from synth_core.analysis.survey_estimates import weighted_quantiles, weighted_statistics
from synth_core.analysis.utility import Statistic, mean_of_sets, statistics
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.survey_weights import Survey

Array = NDArray[np.float64]
QUARTILES = np.array([0.25, 0.75])


@dataclass(frozen=True)
class NumberMeasures:
    """One number of whole records; means over data sets.

    Attributes
    ----------
    name : str
    statistics : tuple of Statistic
        Mean and percentiles of the values that are there.
    overlap : float or None
        Mean over coefficients of the overlap of their 95 % intervals; 1 for equal ones, negative where they are apart.
        None without other columns. See `regression_of`.
    meeting : float or None
        Share of the coefficients whose intervals meet.
    n_coefficients : int
    spread : float
        Between the quartiles of the confidential values.
    """

    name: str
    statistics: tuple[Statistic, ...]
    overlap: float | None
    meeting: float | None
    n_coefficients: int
    spread: float = float("nan")

    @property
    def percentile_error(self) -> float:
        """Mean of the absolute relative errors of the percentiles that have one: those at the zeros apart."""
        errors = [abs(each.error) for each in self.statistics if each.name != "mean" and each.instead is None]
        return float(np.mean(errors)) if errors else float("nan")

    @property
    def percentile_distance(self) -> float:
        """Mean distance of the percentiles, in the confidential one between the quartiles; NaN where there is none."""
        away = [abs(each.synthetic - each.confidential) for each in self.statistics if each.name != "mean"]
        return float(np.mean(away)) / self.spread if away and self.spread > 0 else float("nan")


def mean_of_numbers(measures: Sequence[NumberMeasures], measure: str) -> float:
    """A measure's mean over the numbers that have it; NaN without any, or where nothing was drawn of one.

    A number whose percentiles all lie at the zeros has no relative error: the others' are told without it.
    """
    values = [(getattr(each, measure), bool(each.statistics)) for each in measures]
    numbers = [(math.nan if value is None else value, drawn) for value, drawn in values]
    told = [value for value, drawn in numbers if not (drawn and math.isnan(value))]
    return float(np.mean(told)) if told else math.nan


def number_measures(
    confidential: pd.DataFrame,
    synthetic: pd.DataFrame,
    public: tuple[Array, Array],
    columns: Sequence[EarlierVariable],
    percentiles: tuple[float, ...],
    seed: int,
    surveys: tuple[Survey, Survey] | None = None,
) -> tuple[NumberMeasures, ...]:
    """Percentiles and regressions of every sensitive number.

    Parameters
    ----------
    confidential, synthetic : DataFrame
        The sensitive columns.
    public : pair of arrays of shapes (n_records, n_columns) and (n_synthetic, n_columns)
        Designs of the public predictors, the first column of ones.
    columns : sequence of EarlierVariable
        How each sensitive variable enters a regression of another.
    percentiles : tuple of float, in (0, 100)
    surveys : pair of Survey, optional
        Of the records of both: what is compared is then of the population.
    """
    sides = [
        {each.name: _values(frame[each.name], each) for each in columns}
        for frame in (confidential, synthetic)
    ]
    measures = []
    for each in columns:
        if each.categories:
            continue
        confidential_fit, synthetic_fit = (
            regression_of(each.name, values, design, columns)
            for values, design in zip(sides, public, strict=True)
        )
        mine, theirs = confidential_fit[0], synthetic_fit[0]
        found: tuple[Statistic, ...] = ()
        if surveys is None:
            overlaps, spread = coefficient_overlaps(confidential_fit, synthetic_fit), _spread(mine)
            if len(theirs):
                found = statistics(mine, theirs[None, :], percentiles, seed)
        else:
            ours, other = (
                survey.within(~np.isnan(values[each.name]))
                for survey, values in zip(surveys, sides, strict=True)
            )
            overlaps = coefficient_overlaps(confidential_fit, synthetic_fit, (ours, other))
            spread = _spread(mine, ours.weights)
            if len(theirs):
                found = weighted_statistics((mine, ours), [(theirs, other)], percentiles)
        measures.append(
            NumberMeasures(
                each.name,
                found,
                float(overlaps.mean()) if overlaps.size else None,
                float((overlaps > 0).mean()) if overlaps.size else None,
                overlaps.size,
                spread,
            )
        )
    return tuple(measures)


def _spread(values: Array, weights: Array | None = None) -> float:
    """Between the quartiles; NaN without values."""
    if not len(values):
        return float("nan")
    low, high = (
        np.quantile(values, QUARTILES) if weights is None else weighted_quantiles(values, weights, QUARTILES)
    )
    return float(high - low)


def _values(column: pd.Series, each: EarlierVariable) -> Array:
    """Numbers or codes, missing as NaN, of shape (n_records,)."""
    if each.categories:
        column = column.map({category: code for code, category in enumerate(each.categories)})
    return column.to_numpy(dtype=float)


def regression_of(
    name: str, values: dict[str, Array], public: Array, columns: Sequence[EarlierVariable]
) -> tuple[Array, Array]:
    """Outcome and design of the regression of a number on all other columns, where the number is not missing.

    The number stands in its own unit; the others as predictors of a fit do: public columns centred and scaled,
    sensitive numbers as asinh, and a column of 0 and 1 for each category but the first, for zeros and for missing
    values.

    Parameters
    ----------
    values : dict of arrays of shape (n_records,)
        Numbers or codes of every sensitive variable, missing as NaN.
    public : array of shape (n_records, n_columns)
    """
    there = ~np.isnan(values[name])
    others = [each.columns(values[each.name]) for each in columns if each.name != name]
    return values[name][there], np.hstack([public, *others])[there]


def average_numbers(measures: Sequence[tuple[NumberMeasures, ...]]) -> tuple[NumberMeasures, ...]:
    """Means over data sets. An interval of the mean of quantile functions has the means of their ends."""
    return tuple(_mean(same) for same in zip(*measures, strict=True))


def _mean(same: tuple[NumberMeasures, ...]) -> NumberMeasures:
    first = same[0]
    if len(same) == 1:
        return first
    shown = [each.statistics for each in same if each.statistics]
    return replace(
        first,
        statistics=tuple(map(mean_of_sets, zip(*shown, strict=True))),
        overlap=None if first.overlap is None else float(np.mean([each.overlap for each in same])),
        meeting=None if first.meeting is None else float(np.mean([each.meeting for each in same])),
    )
