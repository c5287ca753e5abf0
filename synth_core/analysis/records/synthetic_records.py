"""Synthetic whole records given a draw of every part's parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.drawing import Drawing, balanced_values, synthetic_values
from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.records.blocks import Part
from synth_core.data.rules import Decided
from synth_core.models.base import Draws, Model, Records

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
    for part, model, draw, rng, decided in parts:
        there = np.ones(len(public), dtype=bool)
        if not part.of_missing and part.block.missing is not None:
            absent = columns.get(missing_name(part.name))  # none where a rule says it of every record
            there = there if absent is None else absent == PRESENCE.index("no")
        columns[part.name] = np.full(len(public), np.nan)
        if decided is not None:
            columns[part.name][decided.rows] = decided.values[decided.rows]
            there &= ~decided.rows
        if not there.any():
            continue
        earlier = [each.columns(columns[each.name][there]) for each in part.settings.earlier]
        # No family reads the outcome to predict; these are values that it takes.
        records = Records(
            np.resize(model.records.outcome, int(there.sum())),
            np.hstack([public[there], *earlier]),
            model.records.design_names,
        )
        of_these = type(model)(records, model.options)
        columns[part.name][there] = synthetic_values(of_these, draw, rng, drawing)
    return columns
