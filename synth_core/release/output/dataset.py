"""The data sets as they leave: kept predictors, synthetic outcome, rounded, shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.data.table import outcome_column
from synth_core.mechanisms.catalogue import HISTOGRAM
from synth_core.release.plan.plan import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Synthetic:
    """Synthetic outcomes as released, and the frames that hold them.

    Attributes
    ----------
    values : array of shape (n_datasets, n_records)
        In the order of the complete rows of the confidential table.
    orders : array of shape (n_datasets, n_records)
        Row j of a frame is record orders[., j].
    frames : tuple of DataFrame, one a data set
    moved : int
        Values beyond the declared bounds that were moved to them.
    """

    values: Array
    orders: NDArray[np.int64]
    frames: tuple[pd.DataFrame, ...]
    moved: int


def whole_outcome(plan: Plan, analysis: Analysis) -> bool:
    """Whether released outcomes are whole numbers: of a model of counts."""
    return analysis.model.discrete and plan.point.scheme != HISTOGRAM


def synthetic_data(plan: Plan, analysis: Analysis, drawn: Array, entropy: int) -> Synthetic:
    """What is released of the drawn values. Everything here is post-processing, at no cost in ε.

    Parameters
    ----------
    drawn : array of shape (n_datasets, n_records)
    entropy : int
        The release's secret: the order of the rows is drawn with it.
    """
    s, selection = plan.settings, analysis.selection
    values, moved = drawn, 0
    if plan.decimals is not None:
        values = np.round(values, plan.decimals)
    if plan.clamp and s.bounds is not None:
        inside = np.clip(values, *s.bounds)
        moved, values = int((inside != values).sum()), inside
    kept = analysis.table.frame.loc[selection.complete, list(s.predictors)].reset_index(drop=True)
    n = values.shape[1]
    rng = np.random.default_rng([entropy, 41])
    orders = np.stack([rng.permutation(n) if plan.shuffle else np.arange(n) for _ in values])
    frames = []
    for each, order in zip(values, orders, strict=True):
        frame = kept.iloc[order].reset_index(drop=True)
        column: Any = outcome_column(each[order], s.outcome_categories)
        if s.outcome_categories is None and whole_outcome(plan, analysis):
            column = column.astype(np.int64)
        frame.insert(0, s.outcome, column)
        frames.append(frame)
    return Synthetic(values, orders, tuple(frames), moved)
