"""The data sets as they leave: kept predictors, synthetic variables, rounded, shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.missing import by_column
from synth_core.data.table import outcome_column
from synth_core.models import family
from synth_core.release.plan.plan import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variable:
    """A synthetic variable as it is released.

    Attributes
    ----------
    values : array of shape (n_datasets, n_records)
        Numbers, or codes of `categories`; missing as NaN. In the order of the complete rows of the confidential table.
    whole : bool
        Whether they are whole numbers: of a model of counts.
    bounds : (float, float), or None
        As declared.
    """

    name: str
    values: Array
    categories: tuple[str, ...] | None = None
    whole: bool = False
    bounds: tuple[float, float] | None = None

    @property
    def step(self) -> bool:
        """Whether values differ by whole steps: counts and codes."""
        return self.whole or self.categories is not None

    def present(self, dataset: int) -> Array:
        """The values of a data set that are not missing."""
        values = self.values[dataset]
        return values[~np.isnan(values)]


@dataclass(frozen=True)
class Synthetic:
    """Synthetic variables as released, and the frames that hold them.

    Attributes
    ----------
    orders : array of shape (n_datasets, n_records)
        Row j of a frame is record orders[., j].
    frames, written : tuples of DataFrame, one a data set
        Values, and cells as the file of the confidential table writes its own: predictors as they came, whole numbers
        without a point, what is missing by its mark.
    moved : int
        Values beyond the declared bounds that were moved to them.
    """

    variables: tuple[Variable, ...]
    orders: NDArray[np.int64]
    frames: tuple[pd.DataFrame, ...]
    written: tuple[pd.DataFrame, ...]
    moved: int

    @property
    def n_records(self) -> int:
        return int(self.orders.shape[1])


class Kept(Protocol):
    """What is kept of the confidential table: see `source.Source`."""

    @property
    def kept(self) -> pd.DataFrame: ...

    @property
    def written(self) -> pd.DataFrame: ...


def synthetic_data(plan: Plan, source: Kept, drawn: dict[str, Array], entropy: int) -> Synthetic:
    """What is released of the drawn values. Everything here is post-processing, at no cost in ε.

    Parameters
    ----------
    source : Kept
        The predictors of the complete rows.
    drawn : dict
        Of each sensitive variable its values, of shape (n_datasets, n_records).
    entropy : int
        The release's secret: the order of the rows is drawn with it.
    """
    variables, moved = [], 0
    for name, settings in plan.outcomes.items():
        values, categories = drawn[name], settings.outcome_categories
        if categories is None and plan.decimals is not None:
            values = np.round(values, plan.decimals)
        if plan.clamp and settings.bounds is not None:
            inside = np.clip(values, *settings.bounds)
            moved, values = moved + int((inside < values).sum() + (inside > values).sum()), inside
        of_model = categories is None and plan.point.likelihood.samples
        whole = of_model and family(settings.model).discrete
        variables.append(Variable(name, values, categories, whole, settings.bounds))
    n_datasets, n = variables[0].values.shape
    rng = np.random.default_rng([entropy, 41])
    orders = np.stack([rng.permutation(n) if plan.shuffle else np.arange(n) for _ in range(n_datasets)])
    frames, written = [], []
    for dataset, order in enumerate(orders):
        frame = source.kept.iloc[order].reset_index(drop=True)
        as_written = source.written.iloc[order].reset_index(drop=True)
        for place, variable in enumerate(variables):
            column = _column(variable, dataset, order)
            frame.insert(place, variable.name, column)
            as_written.insert(place, variable.name, _cells(column, plan, variable))
        frames.append(frame)
        written.append(as_written)
    return Synthetic(tuple(variables), orders, tuple(frames), tuple(written), moved)


def _cells(column: Any, plan: Plan, variable: Variable) -> pd.Series:
    """A released variable as text: whole where it was rounded so, its first declared mark where it is missing."""
    series = pd.Series(column)
    if variable.categories is None:
        whole = variable.whole or (plan.decimals is not None and plan.decimals <= 0)
        series = series.map(lambda x: f"{x:.0f}" if whole else repr(float(x)), na_action="ignore").astype(
            object
        )
    marks = by_column(plan.missing, [c.name for c in plan.columns]).get(variable.name, [])
    return series.where(series.notna(), marks[0] if marks else None)


def _column(variable: Variable, dataset: int, order: NDArray[np.int64]) -> Any:
    column: Any = outcome_column(variable.values[dataset][order], variable.categories)
    if variable.whole:
        missing = np.isnan(column)
        return pd.array(column, dtype="Int64") if missing.any() else column.astype(np.int64)
    return column
