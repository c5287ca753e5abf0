"""The columns that a plan expects, and in which ways another table differs from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.settings import Settings
from synth_core.data.categories import NO_CATEGORY
from synth_core.data.outcome import numeric_outcome
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import family
from synth_core.release.bounded_text import printable
from synth_core.release.plan.column_schema import ColumnSchema
from synth_core.release.plan.plan import Plan
from synth_core.system import limits
from synth_core.system.number_text import those_that

COARSEST = -3  # decimals: a table of thousands


MOST_OUTSIDE = 0.5  # of the values of a column, beyond its declared bounds


def schema_of(
    table: Table,
    complete: NDArray[np.bool_],
    levels: Mapping[str, tuple[Any, ...]],
    outcomes: Mapping[str, Settings],
    predictors: tuple[str, ...],
    decimals: int | None = None,
    unit: str | None = None,
) -> tuple[ColumnSchema, ...]:
    """Names, kinds and categories of the columns that a plan uses and keeps.

    In the order of the table where a codebook was declared of it, else the sensitive variables first.

    Parameters
    ----------
    complete : array of bool of shape (n_rows,)
        The rows that are used.
    levels : mapping
        Of the categorical predictors.
    outcomes : mapping
        The sensitive variables and their settings.
    decimals : int, optional
        That all synthetic numbers are rounded to; None: those that the table has.
    unit : str, optional
        Column of units of several records, which are kept together under new identifiers.
    """
    declared = {
        name: s.outcome_categories for name, s in outcomes.items() if s.outcome_categories is not None
    }
    known = dict(levels) | declared
    weight = next(iter(outcomes.values())).weight
    weights = [] if weight is None or weight in predictors else [weight]
    public = [name for name in table.public_columns if name not in (*outcomes, *predictors, *weights)]
    used, columns = [*outcomes, *predictors, *weights, *public], []
    if table.declared_codebook.columns:
        used.sort(key=list(table.frame.columns).index)
    for name in public:
        table.check_kept(name)
    new = (
        ColumnSchema(name=unit, role="unit", kind="number", whole=True) if unit and unit not in used else None
    )
    for name in used:
        number = name not in known and (name not in public or _numeric(table.frame[name]))
        rounded = name in outcomes and number and not family(outcomes[name].model).discrete
        columns.append(
            ColumnSchema(
                name=name,
                role="outcome"
                if name in outcomes
                else "public"
                if name in public
                else "weight"
                if name in weights
                else "predictor",
                kind="number" if number else "category",
                whole=number and _whole(table.frame[name][complete]),
                levels=tuple(v.item() if isinstance(v, np.generic) else v for v in known.get(name, ())),
                decimals=None
                if not rounded
                else decimals_among(table.frame[name][complete])
                if decimals is None
                else decimals,
            )
        )
    return (*columns, new) if new is not None else tuple(columns)


def _numeric(series: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)


def decimals_among(series: pd.Series) -> int | None:
    """The fewest decimals that hold every number of a column, below 0 for tens and hundreds; None if there are many.

    Examples
    --------
    >>> decimals_among(pd.Series([1.5, 2.25])), decimals_among(pd.Series([7.0, 12.0]))
    (2, 0)
    >>> decimals_among(pd.Series([1200.0, 30500.0])), decimals_among(pd.Series([1 / 3]))
    (-2, None)
    """
    values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    values = values[np.isfinite(values) & (values != 0)]
    if not values.size:
        return None
    steps = range(COARSEST, limits.DECIMALS[1] + 1)
    return next((each for each in steps if np.array_equal(np.round(values, each), values)), None)


def _whole(series: pd.Series) -> bool:
    values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    values = values[np.isfinite(values)]
    return bool(values.size) and bool((values % 1 == 0).all())


def differences(plan: Plan, table: Table) -> list[str]:
    """How a table differs from what the plan expects; empty if it fits. Names columns, never values."""
    differences = []
    for column in plan.columns:
        name = printable(column.name)
        if column.name not in table.frame.columns:
            near = [c for c in table.frame.columns if c.strip().lower() == column.name.strip().lower()]
            hint = f" (there is a column '{printable(near[0])}')" if near else ""
            differences.append(f"column '{name}' is missing{hint}")
            continue
        found = _beyond_declared(plan, column, table) or _differences(plan, column, table)
        differences += [f"column '{name}' {text}" for text in found]
    return differences


def _beyond_declared(plan: Plan, column: ColumnSchema, table: Table) -> list[str]:
    """How a column that is kept as it is breaks what the codebook declares."""
    if column.role in ("outcome", "unit") or plan.codebook is None:
        return []
    broken = table.beyond_declared(column.name, plan.codebook.get(column.name))
    if broken is None:
        return []
    cells, rule = broken
    return [f"has {those_that(int(cells.sum()), 'cell')} {rule} (first in row {int(np.argmax(cells)) + 1:,})"]


def _differences(plan: Plan, column: ColumnSchema, table: Table) -> list[str]:
    if column.role in ("public", "unit"):  # copied, or only told apart
        return []
    series, kind = table.frame[column.name], table.column(column.name).kind
    if kind == "empty":
        return ["has no values"]
    if column.kind == "category" and column.role == "outcome":
        other = table.category_places(column.name, tuple(map(str, column.levels))) == NO_CATEGORY
        if not other.any():
            return []
        first = int(np.argmax(other)) + 1
        return [f"has {int(other.sum()):,} values that are no declared category (first in row {first:,})"]
    if column.kind == "category":
        values = series.astype("object")
        unknown = values.notna() & ~values.isin(list(column.levels))
        if unknown.any():
            count, first = series[unknown].nunique(), int(np.argmax(unknown.to_numpy())) + 1
            return [f"has {count:,} categories that the plan does not know (first in row {first:,})"]
        return []
    if kind in ("text", "date") or pd.api.types.is_bool_dtype(series):
        if column.role == "outcome" and kind == "text":
            try:
                numbers = numeric_outcome(table, column.name)
            except InputError:
                return ["holds something else than numbers"]
            return _number_differences(plan, column, numbers)
        return [f"holds {'dates' if kind == 'date' else 'categories'} where the plan has numbers"]
    return _number_differences(plan, column, series.to_numpy(dtype=float, na_value=np.nan))


def _number_differences(plan: Plan, column: ColumnSchema, values: np.ndarray) -> list[str]:
    differences, present = [], values[np.isfinite(values)]
    # Of a sensitive column one value would decide: what its model does not take is refused by the model.
    if column.whole and column.role != "outcome" and (present % 1 != 0).any():
        first = int(np.argmax(np.isfinite(values) & (values % 1 != 0))) + 1
        differences.append(f"has decimals where the plan has whole numbers (first in row {first:,})")
    bounds = plan.outcomes[column.name].bounds if column.role == "outcome" else None
    if bounds is not None:
        lower, upper = bounds
        outside = (values < lower) | (values > upper)
        if (
            outside.sum() > MOST_OUTSIDE * present.size
        ):  # another unit; a few values are brought to the bounds
            differences.append(
                f"has {int(outside.sum()):,} values beyond the declared bounds (first in row "
                f"{int(np.argmax(outside)) + 1:,})"
            )
    return differences


def check_schema(plan: Plan, table: Table) -> None:
    """Refuse a table whose columns have drifted away from the plan; raises InputError naming them."""
    unlike = differences(plan, table)
    if unlike:
        shown = "; ".join(unlike[:12]) + (f"; and {len(unlike) - 12} more" if len(unlike) > 12 else "")
        raise InputError(
            f"The table does not fit the plan: {shown}. Correct the table, or make another plan."
        )
