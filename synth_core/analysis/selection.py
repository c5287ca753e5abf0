"""The records of a table that settings choose."""

from __future__ import annotations

import numpy as np

from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.settings import Settings
from synth_core.data.design import DesignTransform, Selection, select
from synth_core.data.rules import Decided, check_conditions, decided, read_rules
from synth_core.data.table import Table


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


def decided_by(table: Table, settings: Settings) -> Decided | None:
    """What the rules of the settings decide of their outcome, or of whether it is missing; None where they do not.

    Raises
    ------
    InputError
        If a condition is not on predictors alone, or two rules contradict each other.
    """
    s, rules = settings, read_rules(settings.rules)
    of_missing = {missing_name(rule.column): rule.column for rule in rules}
    column = of_missing.get(s.outcome, s.outcome)
    mine = [rule for rule in rules if rule.column == column]
    if not mine:
        return None
    check_conditions(mine, s.predictors)
    for rule in mine:
        for condition in rule.conditions:
            table.column(condition.column)
    if column == s.outcome:
        return decided(table.frame, mine, column, s.outcome_categories)
    rows = [(rule.holds(table.frame), rule.value is None) for rule in mine]
    values = np.full(table.rows, np.nan)
    for here, missing in rows:
        values[here] = PRESENCE.index("yes" if missing else "no")
    return Decided(~np.isnan(values), values)
