"""Regressions on a confidential and on a synthetic table: how far the intervals of their coefficients overlap.

All functions know NumPy only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.survey_estimates import linearised_error
from synth_core.analysis.utility import Z95
from synth_core.data.survey_weights import Survey

Array = NDArray[np.float64]


def interval_overlap(
    confidential: Array, synthetic: Array, design: Array, survey: Survey | None = None
) -> float | None:
    """Mean overlap of 95 % intervals of a linear regression of x on z (Karr et al. 2006).

    For each coefficient: the mean of the shares of the two intervals that lie in their
    intersection, 1 for equal intervals, negative when they are apart. None without predictors.

    Parameters
    ----------
    confidential, synthetic : arrays of shape (n_records,)
    design : array of shape (n_records, n_columns), the first column of ones.
    survey : Survey, optional
        Of the records of both: the regressions are then those of the population.
    """
    if design.shape[1] < 2:
        return None
    overlaps = coefficient_overlaps((confidential, design), (synthetic, design), (survey, survey))
    return float(np.mean(overlaps)) if overlaps.size else None


def coefficient_overlaps(
    confidential: tuple[Array, Array],
    synthetic: tuple[Array, Array],
    surveys: tuple[Survey | None, Survey | None] = (None, None),
) -> Array:
    """The overlap of the intervals of each coefficient but the first; the two tables may differ in the predictors too.

    Parameters
    ----------
    confidential, synthetic : pair of arrays of shapes (n_records,) and (n_records, n_columns)
        Outcome and design, the first column of ones.
    surveys : pair of Survey, optional
        Of the records of each.

    Returns
    -------
    array of shape (n_coefficients,)
        Those that the confidential table has: a column that others give has none. 0 where the synthetic table has no
        such coefficient.
    """
    mine, theirs = (_own_columns(design) for _, design in (confidential, synthetic))
    low_c, high_c = coefficient_intervals(*confidential, mine, surveys[0])
    low_s, high_s = coefficient_intervals(*synthetic, mine & theirs, surveys[1])
    shared = np.minimum(high_c, high_s) - np.maximum(low_c, low_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        overlap = 0.5 * (shared / (high_c - low_c) + shared / (high_s - low_s))
    overlap[np.isnan(low_s)] = 0.0
    return overlap[mine][1:]


def _own_columns(design: Array) -> NDArray[np.bool_]:
    """Columns that those before them do not give."""
    if not len(design):
        return np.zeros(design.shape[1], dtype=bool)
    pivots = np.zeros(design.shape[1])
    pivots[: min(design.shape)] = np.abs(np.diag(np.linalg.qr(design, mode="r")))
    return pivots > 1e-8 * np.sqrt(len(design))


def coefficient_intervals(
    values: Array, design: Array, columns: NDArray[np.bool_], survey: Survey | None = None
) -> tuple[Array, Array]:
    """Ends of the 95 % intervals of a least squares fit, NaN for columns that are left out.

    With survey weights w least squares are weighted, and the variance is (X'WX)^-1 (sum of u u') (X'WX)^-1 with the
    scores u = w e x of records or units, by linearisation (Binder 1983); without, that of independent equal errors.
    """
    n, k = len(values), int(columns.sum())
    low, high = np.full((2, design.shape[1]), np.nan)
    if n <= k:
        return low, high
    root = np.ones(n) if survey is None else np.sqrt(survey.weights / survey.weights.mean())
    q, r = np.linalg.qr(design[:, columns] * root[:, None])
    scaled = values * root
    projected = q.T @ scaled
    estimate = np.linalg.solve(r, projected)
    inverse = np.linalg.inv(r)
    if survey is None:
        residual = max(float(values @ values - projected @ projected), 0.0)
        error = np.sqrt(residual / (n - k)) * np.sqrt((inverse**2).sum(axis=1))
    else:
        influence = (scaled - q @ projected)[:, None] * (q @ inverse.T)  # (X'WX)^-1 u of each record
        error = linearised_error(influence, survey)
    low[columns], high[columns] = estimate - Z95 * error, estimate + Z95 * error
    return low, high
