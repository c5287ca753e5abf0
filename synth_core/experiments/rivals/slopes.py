"""How steeply a number rises along other sensitive variables: whether a synthetic table flattens what depends on what.

As NIST's SDNist judges income by education: the regression of a number's tenth on the place of a category. Of
categories in no order a place would say nothing: each stands for the mean tenth of its confidential records.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.survey_estimates import weighted_quantiles
from synth_core.analysis.utility import Sides
from synth_core.data.earlier_variable import EarlierVariable

Array = NDArray[np.float64]
TENTHS = np.arange(1, 10) / 10
Slopes = dict[
    str, tuple[float, float]
]  # by "number by variable": of the confidential and of the synthetic table


def slopes(
    confidential: pd.DataFrame,
    synthetic: pd.DataFrame,
    columns: Sequence[EarlierVariable],
    ordered: Collection[str],
    weights: Sides | None = None,
) -> Slopes:
    """Slopes of each number on each other variable, in tenths of the confidential table on both sides.

    A category of two or of an order stands for its place among those declared, another one for the mean tenth of its
    records in the confidential table, whose slope is then 1; a number stands for its own tenth. Steepest first, as
    correlations of the confidential table; a record where one of the two is missing is left out.

    Parameters
    ----------
    ordered : collection of str
        The variables whose categories were declared in an order.
    weights : pair of arrays of shapes (n_records,) and (n_synthetic,), optional
        How much each record counts, by default once.
    """
    own = weights or (np.ones(len(confidential)), np.ones(len(synthetic)))
    cuts = {
        each.name: _tenths(confidential[each.name].to_numpy(dtype=float), None if weights is None else own[0])
        for each in columns
        if not each.categories and confidential[each.name].notna().any()
    }
    sides = [
        {
            each.name: _places(frame[each.name], each, cuts)
            for each in columns
            if each.categories or each.name in cuts
        }
        for frame in (confidential, synthetic)
    ]
    no_order = {each.name: len(each.categories) for each in columns if len(each.categories) > 2}
    no_order = {name: n for name, n in no_order.items() if name not in ordered}
    found: list[tuple[float, str, tuple[float, float]]] = []
    for number in cuts:
        for other in (name for name in sides[0] if name != number):
            places = [side[other] for side in sides]
            if other in no_order:
                means = _means(places[0], sides[0][number], own[0], no_order[other])
                places = [_looked_up(means, each) for each in places]
            (mine, strength), (theirs, _) = (
                _slope(x, side[number], w) for x, side, w in zip(places, sides, own, strict=True)
            )
            if math.isfinite(mine):
                found.append((-abs(strength), f"{number} by {other}", (mine, theirs)))
    return {name: pair for _, name, pair in sorted(found)}


def _tenths(values: Array, weights: Array | None) -> Array:
    """Where tenths of the values that are there begin."""
    there = ~np.isnan(values)
    if weights is None:
        return np.asarray(np.quantile(values[there], TENTHS))
    return weighted_quantiles(values[there], weights[there], TENTHS)


def _places(column: pd.Series, each: EarlierVariable, cuts: dict[str, Array]) -> Array:
    """Places of categories, or tenths of a number; missing as NaN."""
    if each.categories:
        return np.asarray(
            column.map({category: place for place, category in enumerate(each.categories)}), dtype=float
        )
    values = column.to_numpy(dtype=float)
    tenths = np.searchsorted(cuts[each.name], values, side="right").astype(float)
    return np.where(np.isnan(values), np.nan, tenths)


def _means(codes: Array, values: Array, weights: Array, n_categories: int) -> Array:
    """The mean value of the records of each category; NaN where none has one."""
    there = ~(np.isnan(codes) | np.isnan(values))
    of_rows, w = codes[there].astype(int), weights[there]
    total, counted = (np.bincount(of_rows, each, n_categories) for each in (w * values[there], w))
    return np.divide(total, counted, out=np.full(n_categories, np.nan), where=counted > 0)


def _looked_up(means: Array, codes: Array) -> Array:
    """The mean that each code stands for; missing as NaN."""
    return np.append(means, np.nan)[np.where(np.isnan(codes), len(means), codes).astype(int)]


def _slope(x: Array, y: Array, weights: Array) -> tuple[float, float]:
    """Of the regression of y on x, and the correlation; NaN where one of them does not vary."""
    there = ~(np.isnan(x) | np.isnan(y)) & (weights > 0)
    x, y, w = x[there], y[there], weights[there]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan
    (of_x, both), (_, of_y) = np.cov(x, y, aweights=w, ddof=0)
    return float(both / of_x), float(both / math.sqrt(of_x * of_y))
