"""What is known of each record under a mechanism on whole records, for who looks at one of them. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ByRecord:
    """Weights and bounds of every record, of each fit and of all together.

    Attributes
    ----------
    names : tuple of str
        The columns that are fitted, in the order of synthesis.
    weights, bounds : arrays of shape (n_fits, n_records)
        NaN where a record has no value there, or the mechanism no posterior.
    joint : array of shape (n_records,)
        Delta_i over all combinations of the fits' draws, in nats.
    """

    names: tuple[str, ...]
    weights: Array
    bounds: Array
    joint: Array


def by_record(analysis: RecordsAnalysis, result: RecordsResult) -> ByRecord:
    """Weights and bounds of a result by record."""
    analyses = analysis.analyses(result.point.likelihood.anchors)
    weights, bounds = np.full((2, len(result.parts), analysis.table.rows), np.nan)
    for place, (part, each) in enumerate(zip(result.parts, analyses, strict=True)):
        if part.result.weights.size:
            weights[place, each.selection.complete] = part.result.weights
        if part.result.lipschitz_bounds.size:
            bounds[place, each.selection.complete] = part.result.lipschitz_bounds
    return ByRecord(tuple(each.part.name for each in result.parts), weights, bounds, result.lipschitz_bounds)
