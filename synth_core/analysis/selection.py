"""The records of a table that settings choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.presence import missing_name, of_presence
from synth_core.analysis.settings import Settings
from synth_core.data.decided import Decided, decided, decided_missing
from synth_core.data.design import DesignTransform, Selection, select
from synth_core.data.rules import Rule, read_rules
from synth_core.data.table import Table
from synth_core.data.telling import Tells, is_multiple, tells
from synth_core.errors import InputError


def selected(table: Table, settings: Settings, transform: DesignTransform | None = None) -> Selection:
    """Outcome and design of the complete rows; raises InputError as `data.design.select` does.

    Parameters
    ----------
    transform : DesignTransform, optional
        Of the predictors, learnt on another table.
    """
    s = settings
    return select(
        table,
        s.outcome,
        s.predictors,
        s.categorical,
        transform,
        s.outcome_categories,
        s.earlier,
        decided_by(table, s),
    )


def telling_words(table: Table, selection: Selection, settings: Settings) -> list[str]:
    """Which public columns tell a sensitive value, or narrow it down, a sentence each without its end."""
    categorical, outcome = settings.outcome_categories is not None, settings.outcome
    part = "among which categories" if categorical else "within which range"
    said = {
        Tells.EXACTLY: f"tells '{outcome}' exactly or nearly, as a copy on another scale, a rounded or a finer one "
        "does",
        Tells.RANGE: f"tells {part} each value of '{outcome}' lies",
    }
    names = (*settings.predictors, *table.public_columns, *settings.public_columns)
    found = []
    for name, column, values in beside_outcome(table, selection, settings, names):
        what = tells(column, values, categorical)
        if what is not Tells.LITTLE:
            word, kind = ("predictor",) * 2 if name in settings.predictors else ("column", "public column")
            found.append(f"{word} '{name}' {said[what]}, and a {kind} is released as it is")
    return found


def refuse_copies(table: Table, selection: Selection, settings: Settings, kept: Iterable[str]) -> None:
    """Refuse a column that is kept and is a copy or a multiple of a sensitive number, as a predictor is refused.

    Parameters
    ----------
    table : Table
        As it was read: the selection may be of values that were moved within declared bounds.
    """
    if settings.outcome_categories is None:
        for name, column, values in beside_outcome(table, selection, settings, kept):
            if is_multiple(column, values):
                raise InputError(
                    f"Column '{name}' tells '{settings.outcome}' exactly, as a copy or a multiple of it does, and the "
                    "plan keeps it as it is: say on the page Data, or in the codebook, that it is not used, and plan "
                    "again."
                )


def beside_outcome(
    table: Table, selection: Selection, settings: Settings, names: Iterable[str]
) -> Iterator[tuple[str, pd.Series, NDArray[np.float64]]]:
    """Each of these columns beside the sensitive values, in the rows of the table that are selected.

    None beside whether a value is missing, which a public column often decides.
    """
    outcome, rows = settings.outcome, selection.records.rows
    if of_presence(outcome, settings.outcome_categories):
        return
    places = np.flatnonzero(selection.complete) if rows is None else np.searchsorted(table.rows_of_file, rows)
    values = selection.records.outcome
    if settings.outcome_categories is None:
        read = table.frame[outcome].iloc[places]
        values = pd.to_numeric(read, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    for name in dict.fromkeys(names):
        if name != outcome:
            yield name, table.frame[name].iloc[places], values


def decided_by(table: Table, settings: Settings) -> Decided | None:
    """What the rules of the settings decide of their outcome, or of whether it is missing; None where they do not.

    Raises
    ------
    InputError
        If a column is not there, or two rules contradict each other.
    """
    for rule in _rules_of(settings):
        for condition in rule.conditions:
            table.column(condition.column)
    return decided_in(table.frame, settings)


def decided_in(frame: pd.DataFrame, settings: Settings) -> Decided | None:
    """As `decided_by`, of the rows of a frame that has the columns of the conditions."""
    mine = _rules_of(settings)
    if not mine:
        return None
    if mine[0].column == settings.outcome:
        return decided(frame, mine, settings.outcome_categories, settings.predictors)
    return decided_missing(frame, mine, settings.predictors)


def _rules_of(settings: Settings) -> list[Rule]:
    """The rules of the outcome, or of the variable whose missing values it is."""
    outcome = settings.outcome
    return [r for r in read_rules(settings.rules) if outcome in (r.column, missing_name(r.column))]
