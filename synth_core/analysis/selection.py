"""The records of a table that settings choose."""

from __future__ import annotations

from synth_core.analysis.settings import Settings
from synth_core.data.design import DesignTransform, Selection, select
from synth_core.data.table import Table


def selected(table: Table, settings: Settings, transform: DesignTransform | None = None) -> Selection:
    """Outcome and design of the complete rows; raises InputError as `data.design.select` does.

    Parameters
    ----------
    transform : DesignTransform, optional
        Of the predictors, learnt on another table.
    """
    s = settings
    return select(table, s.outcome, s.predictors, s.categorical, transform, s.outcome_categories, s.earlier)
