"""A result thinned to what a screen can show: a few hundred points however many records.

Curves are evaluated exactly at the points kept, so thinning loses detail between points and
changes none of them; extremes are always kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import to_summary

Array = NDArray[np.float64]

CURVE_POINTS = 256
SCATTER_POINTS = 240
_DENSITY_BINS = 512


def density(values: Array, points: int = 96) -> dict[str, list[float]]:
    """A violin's outline: a Gaussian kernel estimate within the data's range, peak 1.

    Binned and smoothed by convolution: O(n), whatever the bandwidth.
    """
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return {"at": [low], "height": [1.0]}
    counts, edges = np.histogram(values, bins=_DENSITY_BINS, range=(low, high))
    spread = min(values.std(), float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34)
    bandwidth = 0.9 * (spread or values.std()) * len(values) ** -0.2
    width = max(bandwidth / (edges[1] - edges[0]), 1.5)
    reach = int(np.ceil(4 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    # Reflection at both ends: a violin must not lose mass where the data pile up at a bound.
    padded = np.pad(counts.astype(float), reach, mode="symmetric" if reach <= len(counts) else "edge")
    smooth = np.convolve(padded, kernel, mode="valid")
    at = np.linspace(low, high, points)
    height = np.interp(at, (edges[1:] + edges[:-1]) / 2, smooth)
    return {"at": at.tolist(), "height": (height / height.max()).tolist()}


def five_numbers(values: Array) -> dict[str, float]:
    """Minimum, quartiles, maximum."""
    names = ("min", "q25", "median", "q75", "max")
    return dict(zip(names, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist(), strict=True))


def ecdf_points(
    values: Array, points: int = CURVE_POINTS, weights: Array | None = None
) -> dict[str, list[float]]:
    """The empirical distribution function at evenly spaced ranks of a sample, by weights where there are any."""
    n, order = len(values), np.argsort(values, kind="stable")
    at = values[order][np.unique(np.linspace(0, n - 1, min(points, n)).astype(int))]
    return {"at": at.tolist(), "share": shares_upto(values, at, weights).tolist()}


def shares_upto(values: Array, at: Array, weights: Array | None = None) -> Array:
    """The share of a sample at or below each of some values, by weights where there are any."""
    order = np.argsort(values, kind="stable")
    counted = np.ones(len(values)) if weights is None else weights[order]
    upto = np.cumsum(counted)
    places = np.searchsorted(values[order], at, side="right")
    return np.asarray(np.append(0.0, upto)[places] / upto[-1])


def scatter_rows(bounds: Array, points: int = SCATTER_POINTS) -> NDArray[np.int64]:
    """Records that show weights against bounds: evenly by rank of the bound, the top ten in."""
    order = np.argsort(bounds, kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, min(points, len(order))).astype(int))
    return np.unique(np.concatenate([order[ranks], order[-10:]]))


def bounds_of(bounds: Array) -> dict[str, Any]:
    """By-record bounds as a figure shows them: their density, five numbers, and whose is the largest."""
    return {
        "density": density(bounds),
        "five": five_numbers(bounds),
        "largest_record": int(np.argmax(bounds)) + 1,
    }


def summarise(result: Result, outcome: Array, weights: Array | None = None) -> dict[str, Any]:
    """Plain numbers of one result, for a table and four figures. Confidential.

    Parameters
    ----------
    result : Result
    outcome : array of shape (n_records,)
        The confidential values.
    weights : array of shape (n_records,), optional
        Survey weights, by which distribution functions count.

    Returns
    -------
    dict
        "privacy" is None for the histogram, which has no bounds and no weights.
    """
    return to_summary(result.plain_numbers) | {
        "privacy": None if not result.lipschitz_bounds.size else _privacy(result),
        "ecdf": _ecdf(result, outcome, weights),
    }


def _privacy(result: Result) -> dict[str, Any]:
    rows = scatter_rows(result.lipschitz_bounds)
    steps = np.unique(np.geomspace(1, len(result.growth), 24).astype(int)) - 1
    return {
        "bounds": bounds_of(result.lipschitz_bounds),
        "weights": {
            "density": density(result.weights),
            "five": five_numbers(result.weights),
            "mean": float(result.weights.mean()),
            "zero": result.n_zero_weight,
        },
        "scatter": {
            "record": (rows + 1).tolist(),
            "weight": result.weights[rows].tolist(),
            "bound": result.lipschitz_bounds[rows].tolist(),
        },
        "range": None if not result.outside.size else {"outside": result.outside[rows].tolist()},
        "growth": {"draws": (steps + 1).tolist(), "bound": result.growth[steps].tolist()},
    }


def _ecdf(result: Result, outcome: Array, weights: Array | None) -> dict[str, Any]:
    synthetic, place = result.synthetic[0], result.ecdf_location
    return {
        "confidential": ecdf_points(outcome, weights=weights),
        "synthetic": ecdf_points(synthetic, weights=weights),
        "place": place,
        "at_place": [
            float(shares_upto(sample, np.array([place]), weights)[0]) for sample in (outcome, synthetic)
        ],
    }


def number_text(value: float, digits: int = 4) -> str:
    """A number with so many digits that count, and never as a power of ten below 1e12.

    Examples
    --------
    >>> number_text(17_391.3), number_text(0.00123456)
    ('17,390', '0.001235')
    """
    return f"{float(f'{value:.{digits}g}'):,.12g}"
