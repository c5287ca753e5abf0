"""What the anchor of a later block is simulated on: earlier sensitive variables drawn from their anchors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.records.blocks import Part
from synth_core.analysis.selection import decided_by
from synth_core.data.outcome import outcome_column, outcome_values
from synth_core.data.table import Table


def surrogate_table(
    table: Table, parts: Sequence[Part], analyses: Sequence[Analysis], rng: Callable[..., np.random.Generator]
) -> Table:
    """The table with every sensitive variable before the last part drawn anew from its anchor.

    c and the prior of an anchored block come from a table that is simulated from its anchor. With the confidential
    values of earlier blocks in its design they would read records without paying for it. Anchors are public or were
    paid for, so what is drawn from them is free.

    Parameters
    ----------
    parts : sequence of Part
        All up to the one that needs the table, which stands last.
    analyses : sequence of Analysis
        Of the parts before it.
    """
    frame = table.frame.copy()
    for place, (part, analysis) in enumerate(zip(parts[:-1], analyses, strict=True)):
        source = analysis.fits.surrogate or analysis.fits
        drawn = np.full(len(frame), np.nan)
        drawn[source.selection.complete] = analysis.anchored.anchor.simulate(source, rng(62, place))
        if (decided := source.selection.decided) is not None:
            drawn[decided.rows] = decided.values[decided.rows]
        frame[part.name] = outcome_column(drawn, part.settings.outcome_categories)
    last = parts[-1]
    if not last.of_missing:
        # Any values that the family takes: no simulation reads them, but which are missing is drawn.
        categories = last.settings.outcome_categories
        values = outcome_values(table, last.name, categories)
        decided = decided_by(table, last.settings)
        fitted = ~np.isnan(values) if decided is None else ~(np.isnan(values) | decided.rows)
        values = np.resize(values[fitted], len(frame))
        if last.block.missing is not None:
            values[(frame[missing_name(last.name)] == PRESENCE[1]).to_numpy()] = np.nan
        frame[last.name] = outcome_column(values, categories)
    return Table("simulated from the anchors", frame, table.confidential)
