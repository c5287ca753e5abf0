"""Synthetic whole records given a draw of every part's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.drawing import Drawing, balanced_values, possible_values, synthetic_values
from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.records.blocks import Part
from synth_core.data.decided import Decided, must_be_missing, must_be_present, possible
from synth_core.models.base import Draws, Model
from synth_core.models.records import Records

Array = NDArray[np.float64]


Drawn = tuple[Part, Model, Draws, np.random.Generator, Decided | None]


def draw_records(parts: Sequence[Drawn], public: Array, drawing: Drawing) -> dict[str, Array]:
    """Values of every part, missing as NaN.

    Parameters
    ----------
    parts : sequence of (part, its model of any records, one draw of its parameters, random numbers, what rules decide)
        In their order.
    public : array of shape (n_records, n_columns)
        The design that the predictors alone make.
    drawing : str
        See `analysis.drawing`.

    Returns
    -------
    dict of arrays of shape (n_records,)
        By part.
    """
    if drawing != "balanced":
        return _drawn_once(parts, public, drawing)
    models = [model for _, model, *_ in parts]
    return balanced_values(lambda how: _drawn_once(parts, public, how), models, public, parts[0][3])


def _drawn_once(parts: Sequence[Drawn], public: Array, drawing: Drawing) -> dict[str, Array]:
    """One synthetic value after the other; arguments as of `draw_records`."""
    columns: dict[str, Array] = {}
    drawn: dict[str, tuple[Array, tuple[str, ...] | None]] = {}  # the sensitive values that rules may read
    for part, model, draw, rng, decided in parts:
        there, limits = np.ones(len(public), dtype=bool), () if decided is None else decided.limits
        if not part.of_missing and part.block.missing is not None:
            absent = columns.get(missing_name(part.name))  # none where a rule says it of every record
            there = there if absent is None else absent == PRESENCE.index("no")
        columns[part.name] = np.full(len(public), np.nan)
        if decided is not None:
            columns[part.name][decided.rows] = decided.values[decided.rows]
            there &= ~decided.rows
        if not part.of_missing:
            drawn[part.name] = columns[part.name], part.settings.outcome_categories
            there &= ~must_be_missing(limits, drawn, len(public))
        if not there.any():
            continue
        before = {each.name: columns[each.name][there] for each in part.settings.earlier}
        of_these = at_records(part, model, public[there], before)
        values = synthetic_values(of_these, draw, rng, drawing)
        if part.of_missing and limits:
            values[must_be_missing(limits, drawn, len(public))[there]] = PRESENCE.index("yes")
            values[must_be_present(limits, drawn, len(public))[there]] = PRESENCE.index("no")
        elif limits:
            left = possible(limits, drawn, np.flatnonzero(there), part.settings.outcome_categories)
            values = possible_values(of_these, draw, rng, values, left)
        columns[part.name][there] = values
    return columns


def at_records(part: Part, model: Model, public: Array, columns: Mapping[str, Array]) -> Model:
    """The model of a part at any records.

    Parameters
    ----------
    public : array of shape (n_records, n_columns)
        The design that the predictors alone make.
    columns : mapping of arrays of shape (n_records,)
        Values of the parts before, by part.
    """
    earlier = [each.columns(columns[each.name]) for each in part.settings.earlier]
    # No family reads the outcome to predict; these are values that it takes.
    outcome = np.resize(model.records.outcome, len(public))
    return type(model)(
        Records(outcome, np.hstack([public, *earlier]), model.records.design_names), model.options
    )
