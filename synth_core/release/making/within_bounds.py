"""Sensitive values beyond a declared range are brought to it, each by a rule that reads its own record alone.

The range is of declared bounds; where there are none, of the guess that an anchor starts from. What a far value does
to a fit, to its convergence and so to a refusal, is then bounded by what was declared in advance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.selection import decided_in
from synth_core.analysis.settings import Settings
from synth_core.data.outcome import numeric_outcome
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import family
from synth_core.models.base import FAR
from synth_core.release.plan.plan import Plan

Array = NDArray[np.float64]

INSIDE = 1e-6  # of the width, for families that take no value on a bound


def declared_range(plan: Plan, settings: Settings) -> tuple[float, float] | None:
    """The range that is declared of a sensitive number, in advance of the table; None where nothing says one."""
    if settings.outcome_categories is not None or settings.bounds is not None:
        return None if settings.outcome_categories is not None else settings.bounds
    if settings.guess is None or settings.bracket_edges or not plan.point.likelihood.anchors:
        return None
    return family(settings.model).guess_range(settings.options, *settings.guess)


def _require_same_unit(name: str, settings: Settings, values: Array, brought: Array) -> None:
    """Refuse a guess of another unit, by which most values would become one; raises InputError."""
    far = np.isfinite(values) & (values != brought)
    if settings.bounds is None and far.sum() > np.isfinite(values).sum() / 2:
        raise InputError(
            f"More than half of the values of '{name}' lie farther from its guessed typical value than {FAR:g} of the "
            "guessed spreads: the guess is of another unit. Make another plan."
        )


def within_bounds(plan: Plan, table: Table) -> tuple[Table, NDArray[np.int64]]:
    """The table as it is fitted, and how many values of each row were moved. Confidential, both."""
    frame, moved = table.frame, np.zeros(table.rows, dtype=np.int64)
    for name, settings in plan.outcomes.items():
        declared = declared_range(plan, settings)
        if declared is None:
            continue
        (lower, upper), values = declared, numeric_outcome(table, name)
        inside = INSIDE * (upper - lower) if family(settings.model).needs_bounds else 0.0
        brought = np.clip(values, lower + inside, upper - inside)
        if family(settings.model).has_zeros(settings.options):
            brought[values == 0] = 0.0
        if (decided := decided_in(table.frame, settings)) is not None:  # public, and fitted by no term
            brought[decided.rows] = values[decided.rows]
        _require_same_unit(name, settings, values, brought)
        there = np.isfinite(values)
        if (there & (brought != values)).any():
            frame = frame.assign(**{name: brought})
        # A value on a bound is there already, whatever a family needs.
        moved += there & (brought != values) & (values != np.clip(values, lower, upper))
    return (table if frame is table.frame else replace(table, frame=frame)), moved
