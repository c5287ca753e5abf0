"""The data sets as they leave: kept columns, synthetic variables, rounded, shuffled, in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.selection import decided_in
from synth_core.analysis.settings import Settings
from synth_core.data.codebook import Entry
from synth_core.data.decided import Decided, multiples_within, possible
from synth_core.data.outcome import outcome_column
from synth_core.mechanisms.randomness import stream_of
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
    decimals : int or None
        That numbers are rounded to; below 0: tens, hundreds.
    """

    name: str
    values: Array
    categories: tuple[str, ...] | None = None
    whole: bool = False
    bounds: tuple[float, float] | None = None
    decimals: int | None = None

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
        Values, and cells as the file of the confidential table writes its own: kept columns as they came, whole
        numbers without a point, what is missing by its mark.
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

    @property
    def units(self) -> NDArray[np.int64] | None: ...


def synthetic_data(
    plan: Plan, source: Kept, drawn: dict[str, Array], entropy: int, first: int = 0
) -> Synthetic:
    """What is released of the drawn values. Everything here is post-processing, at no cost in ε.

    Parameters
    ----------
    source : Kept
        The columns of the complete rows that the plan keeps.
    drawn : dict
        Of each sensitive variable its values, of shape (n_datasets, n_records).
    entropy : int
        The release's secret: the order of the rows is drawn with it.
    first : int
        The number of the first of these data sets, from 0.
    """
    variables, moved = [], 0
    released: dict[str, tuple[Array, tuple[str, ...] | None]] = {}  # what rules may read of each data set
    for name, settings in plan.outcomes.items():
        values, categories = drawn[name].copy(), settings.outcome_categories
        decimals = plan.decimals_of(name) if categories is None else None
        decided = decided_in(source.kept, settings)  # what a rule says is released as it says
        free = np.ones(values.shape[1], dtype=bool) if decided is None else ~decided.rows
        if decimals is not None:
            values[:, free] = rounded(values[:, free], decimals, ends_of(settings))
        if categories is None and decided is not None and decided.limits:  # of amounts that were rounded, too
            step = 0 if decimals is None and family(settings.model).discrete else decimals
            values[:, free] = _within_rules(values, decided, released, step)[:, free]
        if plan.clamp and settings.bounds is not None:
            inside = np.clip(values[:, free], *settings.bounds)
            moved += int((inside != values[:, free])[~np.isnan(inside)].sum())
            values[:, free] = inside
        whole = categories is None and family(settings.model).discrete
        variables.append(Variable(name, values, categories, whole, settings.bounds, decimals))
        released[name] = values, categories
    n_datasets, n = variables[0].values.shape
    rng = stream_of(0, entropy, 41)
    every = [
        _order(n, source.units, rng) if plan.shuffle else np.arange(n) for _ in range(first + n_datasets)
    ]
    orders = np.stack(every[first:])
    names = [column.name for column in plan.columns]
    frames, written = [], []
    for dataset, order in enumerate(orders):
        frame = source.kept.iloc[order].reset_index(drop=True)
        as_written = source.written.iloc[order].reset_index(drop=True)
        columns = {each.name: column_of(each, dataset, order) for each in variables}
        texts = {
            each.name: cells_of(columns[each.name], each, plan.marks[each.name], plan.entry(each.name))
            for each in variables
        }
        if plan.unit is not None and source.units is not None:  # new identifiers: by their order in the file
            columns[plan.unit] = 1 + pd.factorize(source.units[order])[0]
            texts[plan.unit] = pd.Series(columns[plan.unit].astype(str), dtype=object)
        frames.append(frame.assign(**columns)[names])
        written.append(as_written.assign(**texts)[names])
    return Synthetic(tuple(variables), orders, tuple(frames), tuple(written), moved)


def _order(n: int, units: NDArray[np.int64] | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of the records; where there are units, these in a random order and their records together."""
    if units is None:
        return rng.permutation(n)
    place = rng.permutation(int(units.max()) + 1)
    return np.lexsort((rng.permutation(n), place[units]))


def _within_rules(
    values: Array,
    decided: Decided,
    released: dict[str, tuple[Array, tuple[str, ...] | None]],
    decimals: int | None,
) -> Array:
    """Amounts, those that rounding moved out of what rules leave at the next multiple within it."""
    found, every = values.copy(), np.arange(values.shape[1])
    for place, own in enumerate(found):
        sensitive = {name: (each[place], categories) for name, (each, categories) in released.items()}
        left = possible(decided.limits, sensitive, every[~np.isnan(own)], None)
        there = own[~np.isnan(own)]
        low, high = left.lower, left.upper
        if decimals is not None:
            low, high = multiples_within(low, high, decimals)
        near = np.where(low <= high, np.clip(there, low, high), np.clip(there, left.lower, left.upper))
        own[~np.isnan(own)] = np.where(left.holds(there), there, near)
    return found


def ends_of(settings: Settings) -> tuple[float, ...]:
    """Where a synthetic number may end: zero, the end of a logarithm, declared bounds and outer edges."""
    return (
        0.0,
        -settings.offset,
        *(settings.bounds or ()),
        *settings.bracket_edges[:1],
        *settings.bracket_edges[-1:],
    )


def rounded(values: Array, decimals: int, ends: tuple[float, ...]) -> Array:
    """Values rounded, none of them beyond an end that it was within, nor onto one that no value reached.

    A lognormal amount of 0.3 is released as 1 and not as 0, where all amounts are above 0: the next release of a series
    is anchored at this one, and its model knows no zeros.
    """
    near, step = np.round(values, decimals), 10.0**-decimals
    for end in ends:
        reached = bool((values == end).any())
        low = (values > end) & ((near < end) | (near == end) & (not reached))
        high = (values < end) & ((near > end) | (near == end) & (not reached))
        near = np.round(near + step * low - step * high, decimals)
    return near


def cells_of(column: Any, variable: Variable, marks: tuple[str, ...], entry: Entry | None) -> pd.Series:
    """A synthetic variable as text: whole where it was rounded so, its first declared mark where it is missing.

    Its decimal sign is that of the column's entry: a file has one, and kept columns leave as they were written.
    """
    series = pd.Series(column)
    if variable.categories is None:
        whole = variable.whole or (variable.decimals is not None and variable.decimals <= 0)
        sign = "." if entry is None or entry.kind != "number" else entry.decimal
        series = series.map(
            lambda x: f"{x:.0f}" if whole else repr(float(x)).replace(".", sign), na_action="ignore"
        ).astype(object)
    return series.where(series.notna(), marks[0] if marks else None)


def column_of(variable: Variable, dataset: int, order: NDArray[np.int64]) -> Any:
    """A synthetic variable of a data set, as integers where it has whole numbers only."""
    column: Any = outcome_column(variable.values[dataset][order], variable.categories)
    if variable.whole or (variable.decimals is not None and variable.decimals <= 0 and _fits(column)):
        missing = np.isnan(column)
        return pd.array(column, dtype="Int64") if missing.any() else column.astype(np.int64)
    return column


def _fits(column: Array) -> bool:
    """Whether whole numbers are such that an integer holds."""
    return bool((np.abs(column[~np.isnan(column)]) < 2.0**53).all())
