"""The charts of the internal report, as SVG: distribution functions, growth of the bound, weights."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from synth_core.analysis.result import Result
from synth_core.analysis.summary import density, ecdf_points
from synth_core.analysis.utility import ecdf_distance
from synth_core.release.output.dataset import Variable
from synth_core.release.report import charts


def ecdf_chart(variable: Variable, confidential: NDArray[np.float64]) -> Markup:
    """Distribution functions of a variable, confidential and synthetic."""
    known = np.sort(confidential[~np.isnan(confidential)])
    low, high = np.quantile(known, [0.005, 0.995])
    curves = []
    for name, sample in (("confidential", known), ("synthetic, data set 1", np.sort(variable.present(0)))):
        inside = sample[(sample >= low) & (sample <= high)]
        points = ecdf_points(inside if inside.size else sample)
        share = np.searchsorted(sample, points.at, side="right") / len(sample)
        curves.append((name, np.array(points.at), share))
    distance = ecdf_distance(known, variable.present(0)).ecdf_max
    of = f" to data set 1 of {len(variable.values)}" if len(variable.values) > 1 else ""
    some = np.isnan(confidential).any() or np.isnan(variable.values[0]).any()
    there = " with a value" if some else ""
    return Markup(
        charts.steps(
            curves,
            variable.name,
            "share at or below",
            f"Distribution functions of {variable.name}, confidential and synthetic, each record{there} once; the "
            f"largest distance{of} is {distance:.4f}.",
        )
    )


def growth_chart(result: Result) -> Markup | None:
    """The largest bound by how many draws were looked at; None without a posterior."""
    if not result.growth.size:
        return None
    steps = np.unique(np.geomspace(1, len(result.growth), 60).astype(int))
    return Markup(
        charts.lines(
            [("Δ from the first draws", steps.astype(float), result.growth[steps - 1])],
            "draws used",
            "nats",
            f"Δ grows from {result.growth[0]:.3g} with one draw to {result.growth[-1]:.4g} with all.",
        )
    )


def weights_chart(result: Result) -> Markup | None:
    """The density of the weights; None where all are the same."""
    if not result.weights.size or np.ptp(result.weights) == 0:
        return None
    shape = density(result.weights)
    return Markup(
        charts.lines(
            [("records", np.array(shape.at), np.array(shape.height))],
            "weight α",
            "density (peak 1)",
            f"Density of the weights; median {np.median(result.weights):.3f}.",
        )
    )
