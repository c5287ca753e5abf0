"""The design matrix of predictors (formulaic), and a model's records from a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synth_core.data.decided import Decided
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.outcome import check_rows, outcome_values
from synth_core.data.predictors import check_numbers, predictor_values
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models.records import Records
from synth_core.system import limits

if TYPE_CHECKING:
    from formulaic import ModelSpec


@dataclass(frozen=True)
class Selection:
    """Complete rows of a table for one outcome and its predictors.

    Attributes
    ----------
    records : Records
        Of the rows that are fitted.
    complete : array of bool of shape (n_rows,)
        Which rows these are.
    dropped_by : dict
        Rows with a missing value, by column.
    transform : DesignTransform
    decided : Decided or None
        What rules decide of the outcome: those rows are not fitted.
    public_design : array of shape (n_used, n_columns)
        What the predictors alone give, of the rows that are fitted or decided.
    """

    records: Records
    complete: np.ndarray
    dropped_by: dict[str, int]
    transform: DesignTransform
    public_design: np.ndarray
    decided: Decided | None = None

    @property
    def dropped(self) -> int:
        return int((~self.used).sum())

    @property
    def used(self) -> np.ndarray:
        """Which rows are fitted or decided, of shape (n_rows,)."""
        return self.complete if self.decided is None else self.complete | self.decided.rows


def select(
    table: Table,
    outcome: str,
    predictors: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    transform: DesignTransform | None = None,
    categories: tuple[str, ...] | None = None,
    earlier: tuple[EarlierVariable, ...] = (),
    decided: Decided | None = None,
) -> Selection:
    """Choose the sensitive outcome and its non-sensitive predictors.

    Parameters
    ----------
    categorical : tuple of str
        Numeric predictors to be read as categories; text columns always are.
    transform : DesignTransform, optional
        Learnt on another table; None learns one here.
    categories : tuple of str, optional
        Declared categories of the outcome, which becomes codes 0, 1, ...; None reads a number.
    earlier : tuple of EarlierVariable
        Sensitive variables that the outcome is conditional on beside its predictors.
    decided : Decided, optional
        What rules decide of the outcome: these rows are not fitted.

    Returns
    -------
    Selection
        Records with a design of intercept, standardised numeric columns and treatment-coded
        categories, each column centred and scaled by the predictors' own mean and deviation.

    Raises
    ------
    InputError
        If a column is missing, constant, collinear, or has too many categories or one that cannot be
        shown, or too few complete rows remain.
    """
    if outcome in predictors:
        raise InputError(f"'{outcome}' is the sensitive variable and cannot be a predictor too.")
    if len(set(predictors)) != len(predictors):
        raise InputError("A predictor stands more than once.")
    values = outcome_values(table, outcome, categories)
    columns = {name: predictor_values(table, name, name in categorical) for name in predictors}
    used = ~np.isnan(values)
    if decided is not None:
        used |= decided.rows
    dropped_by = {outcome: int((~used).sum())}
    for name, series in columns.items():
        missing = series.isna().to_numpy()
        dropped_by[name] = int(missing.sum())
        used &= ~missing
    complete = used if decided is None else used & ~decided.rows
    by_rules = outcome if (used & ~complete).any() else ""
    check_rows(int(complete.sum()), int((~complete).sum()), dropped_by, by_rules)
    values = values[complete]
    if categories is None:  # which of the declared categories occur is not said
        check_numbers(columns, complete, values, outcome)
    columns = {name: series[used] for name, series in columns.items()}
    if transform is None:
        transform, public = _learn(columns, int(used.sum()))
    else:
        public = transform.apply(columns, int(used.sum()))
    design = public if decided is None else public[complete[used]]
    names, steps = transform.names, transform.steps
    for each in earlier:
        design = np.hstack([design, each.columns(each.values(table)[complete])])
        names += each.column_names
        steps = np.append(steps, np.ones(len(each.column_names)))
    if design.shape[1] > limits.MAX_DESIGN_COLUMNS:
        raise InputError(
            f"Predictors and earlier variables give {design.shape[1]} design columns; at most "
            f"{limits.MAX_DESIGN_COLUMNS} can be used."
        )
    if decided is not None:
        decided = replace(decided, rows=decided.rows & used)
    records = Records(values, design, names, steps, table.rows_of_file[complete])
    return Selection(records, complete, dropped_by, transform, public, decided)


@dataclass(frozen=True)
class DesignTransform:
    """How predictors become a design, learnt on one table and applicable to another."""

    names: tuple[str, ...]
    levels: dict[str, tuple[Any, ...]]  # of the categorical predictors, in coding order
    spec: ModelSpec | None
    center: np.ndarray
    scale: np.ndarray
    predictors: tuple[str, ...] = ()

    def apply(self, columns: dict[str, pd.Series], n: int) -> np.ndarray:
        """The design of shape (n, n_columns); raises InputError for an unknown category."""
        if self.spec is None:
            return np.ones((n, 1))
        for name, series in columns.items():
            if isinstance(series.dtype, pd.CategoricalDtype) != (name in self.levels):
                raise InputError(f"Predictor '{name}' is a number in one table and a category in the other.")
        for name, known in self.levels.items():
            new = [v for v in columns[name].unique() if v not in known]
            if new:
                said = "1 category" if len(new) == 1 else f"{len(new):,} categories"
                raise InputError(f"Predictor '{name}' has {said} that the reference table does not have.")
        design = np.array(self.spec.get_model_matrix(_safe_frame(columns, self.levels)), dtype=float)
        design[:, 1:] = (design[:, 1:] - self.center) / self.scale
        return design

    @property
    def steps(self) -> np.ndarray:
        """The step of each column, as in `Records`: from the first category to another, two deviations of a number."""
        of_level = [
            name in self.levels
            for name in self.predictors
            for _ in range(len(self.levels[name]) - 1 if name in self.levels else 1)
        ]
        return np.append(2.0, np.where(of_level, 1.0 / self.scale, 2.0))

    def specimen(self) -> np.ndarray:
        """The design of a few made-up records that have every category."""
        columns = _specimen(self.predictors, self.levels)
        return self.apply(columns, len(next(iter(columns.values()), ())) or 2)

    @staticmethod
    def from_parts(
        predictors: tuple[str, ...],
        levels: dict[str, tuple[Any, ...]],
        names: tuple[str, ...],
        center: np.ndarray,
        scale: np.ndarray,
    ) -> DesignTransform:
        """A transform stored as plain values: a table of every category gives the same coding again.

        Raises
        ------
        InputError
            If the values do not belong together.
        """
        if not predictors:
            return DesignTransform(("(intercept)",), {}, None, np.empty(0), np.empty(0))
        wide = [name for name, known in levels.items() if len(known) > limits.MAX_LEVELS]
        if wide or len(names) > limits.MAX_DESIGN_COLUMNS:  # before the work: it grows with their square
            raise InputError(
                f"The stored design has more than {limits.MAX_LEVELS} categories of '{wide[0]}'."
                if wide
                else f"The stored design has {len(names):,} columns; at most {limits.MAX_DESIGN_COLUMNS} can be used."
            )
        frame = _safe_frame(_specimen(predictors, levels), levels)
        spec = _model_matrix(frame).model_spec
        if not len(spec.column_names) == len(names) == len(center) + 1 == len(scale) + 1:
            raise InputError("The stored design does not fit its own predictors.")
        return DesignTransform(names, levels, spec, center, scale, predictors)


def _specimen(predictors: tuple[str, ...], levels: dict[str, tuple[Any, ...]]) -> dict[str, pd.Series]:
    """Made-up columns in which every category stands."""
    n = 2 + max((len(known) for known in levels.values()), default=0)
    return {
        name: pd.Series(pd.Categorical([levels[name][i % len(levels[name])] for i in range(n)]))
        if name in levels
        else pd.Series(np.arange(n, dtype=float))
        for name in predictors
    }


def _safe_frame(columns: dict[str, pd.Series], levels: dict[str, tuple[Any, ...]]) -> pd.DataFrame:
    """Safe names inside, so that a column may be called anything."""
    found = {}
    for i, (name, series) in enumerate(columns.items()):
        plain = series.reset_index(drop=True)
        found[f"p{i}"] = pd.Categorical(plain, categories=list(levels[name])) if name in levels else plain
    return pd.DataFrame(found)


def _model_matrix(frame: pd.DataFrame) -> Any:
    """Intercept and all columns. formulaic is imported here: a server that shows stored results needs none."""
    from formulaic import model_matrix

    return model_matrix("1 + " + " + ".join(frame.columns), frame)


def _learn(columns: dict[str, pd.Series], n: int) -> tuple[DesignTransform, np.ndarray]:
    """The transform of these columns, and its design."""
    if not columns:
        empty = DesignTransform(("(intercept)",), {}, None, np.empty(0), np.empty(0))
        return empty, empty.apply(columns, n)
    for name, series in columns.items():
        if series.nunique() < 2:
            raise InputError(f"Predictor '{name}' has one value only in the complete rows; leave it out.")
    levels = {
        name: tuple(series.cat.remove_unused_categories().cat.categories)
        for name, series in columns.items()
        if isinstance(series.dtype, pd.CategoricalDtype)
    }
    frame = _safe_frame(columns, levels)
    matrix = _model_matrix(frame)
    inside = dict(zip(frame.columns, columns, strict=True))
    names = ["(intercept)"]
    for term in list(matrix.columns)[1:]:
        safe = term.split("[")[0]
        level = term[len(safe) :].removeprefix("[T.").removesuffix("]")
        names.append(f"{inside[safe]}: {level}" if level else inside[safe])
    design = np.array(matrix, dtype=float)
    if design.shape[1] > limits.MAX_DESIGN_COLUMNS:
        raise InputError(
            f"The predictors give {design.shape[1]} design columns; at most "
            f"{limits.MAX_DESIGN_COLUMNS} can be used."
        )
    center, scale = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    design[:, 1:] = (design[:, 1:] - center) / scale
    _refuse_collinear(design, names)
    return DesignTransform(tuple(names), levels, matrix.model_spec, center, scale, tuple(columns)), design


def _refuse_collinear(design: np.ndarray, names: list[str]) -> None:
    """Name the first column that the ones before it already give."""
    if design.shape[0] <= design.shape[1]:
        raise InputError(
            f"{design.shape[0]} complete rows are too few for "
            f"{design.shape[1]} design columns; use fewer predictors."
        )
    # Column j is redundant when its pivot in the QR factor vanishes.
    pivots = np.abs(np.diag(np.linalg.qr(design, mode="r")))
    redundant = np.flatnonzero(pivots < 1e-8 * np.sqrt(design.shape[0]))
    if redundant.size:
        raise InputError(
            f"Predictor '{names[redundant[0]].split(': ')[0]}' is a linear "
            f"combination of the others (collinear); leave it out."
        )
