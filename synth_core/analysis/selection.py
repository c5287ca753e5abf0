"""The records of a table that settings choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.settings import Settings
from synth_core.data.decided import Decided, decided, decided_missing
from synth_core.data.design import DesignTransform, Selection, select
from synth_core.data.presence import missing_name, of_presence
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
    part = "within which range" if settings.outcome_categories is None else "among which categories"
    name = settings.outcome
    said = {
        Tells.EXACTLY: f"tells '{name}' exactly or nearly, as a copy on another scale, a rounded or a finer one does",
        Tells.RANGE: f"tells {part} each value of '{name}' lies",
    }
    told = [(f"predictor '{each}'", "a predictor", what) for each, what in selection.told_by.items()]
    for each, column, values in kept_beside(table, selection, settings):
        multiple = settings.outcome_categories is None and is_multiple(column, values)
        what = Tells.EXACTLY if multiple else tells(column, values, settings.outcome_categories is not None)
        if what is not Tells.LITTLE:
            told.append((f"column '{each}'", "a public column", what))
    return [f"{column} {said[what]}, and {kind} is released as it is" for column, kind, what in told]


def kept_beside(
    table: Table, selection: Selection, settings: Settings
) -> Iterator[tuple[str, pd.Series, NDArray[np.float64]]]:
    """Each public column that is kept and no predictor, and the outcome beside it, in selected rows."""
    if of_presence(settings.outcome, settings.outcome_categories):
        return
    rows = selection.records.rows
    places = np.flatnonzero(selection.complete) if rows is None else np.searchsorted(table.rows_of_file, rows)
    for name in dict.fromkeys((*table.public_columns, *settings.public_columns)):
        if name not in (*settings.predictors, settings.outcome):
            yield name, table.frame[name].iloc[places], selection.records.outcome


def refuse_copies(table: Table, selection: Selection, settings: Settings, kept: Sequence[str]) -> None:
    """Refuse a column that is kept and is a copy or a multiple of a sensitive number, as a predictor is refused."""
    for name, column, values in kept_beside(table, selection, settings):
        if name in kept and settings.outcome_categories is None and is_multiple(column, values):
            raise InputError(
                f"Column '{name}' tells '{settings.outcome}' exactly, as a copy or a multiple of it does, and the plan "
                "keeps it as it is: say on the page Data, or in the codebook, that it is not used, and plan again."
            )


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
