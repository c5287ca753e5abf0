"""Sensitive values beyond their declared bounds are brought to them, each by a rule that reads its own record alone.

What a far value does to a fit, to its convergence and so to a refusal, is then bounded by what was declared in advance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synth_core.data.table import Table, numeric_outcome
from synth_core.models import family
from synth_core.release.plan.plan import Plan

INSIDE = 1e-6  # of the width, for families that take no value on a bound


def within_bounds(plan: Plan, table: Table) -> tuple[Table, int]:
    """The table as it is fitted, and how many of its values were moved. Confidential, both."""
    frame, moved = table.frame, 0
    for name, settings in plan.outcomes.items():
        if settings.bounds is None or settings.outcome_categories is not None:
            continue
        (lower, upper), values = settings.bounds, numeric_outcome(table, name)
        inside = INSIDE * (upper - lower) if family(settings.model).needs_bounds else 0.0
        brought = np.clip(values, lower + inside, upper - inside)
        changed = int((np.isfinite(values) & (brought != values)).sum())
        if changed:
            frame, moved = frame.assign(**{name: brought}), moved + changed
    return (replace(table, frame=frame), moved) if moved else (table, 0)
