"""What is known of each record under a mechanism on whole records, for who looks at one of them. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, R

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
    joint : array of shape (n_records,), or empty where the mechanism has no posterior
        Delta_i over all combinations of the fits' draws, in nats.
    """

    names: tuple[str, ...]
    weights: Array
    bounds: Array
    joint: Array


def by_record(analysis: AnyAnalysis[R], result: R) -> ByRecord:
    """Weights and bounds of a result by record."""
    analyses = analysis.analyses(result.point.likelihood.anchors)
    weights, bounds = np.full((2, len(analyses), analysis.n_records), np.nan)
    for place, (each, fit) in enumerate(zip(analyses, result.fits, strict=True)):
        if fit.weights.size:
            weights[place, each.selection.complete] = fit.weights
        if fit.lipschitz_bounds.size:
            bounds[place, each.selection.complete] = fit.lipschitz_bounds
    return ByRecord(
        tuple(each.settings.outcome for each in analyses), weights, bounds, result.lipschitz_bounds
    )
