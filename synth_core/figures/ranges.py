"""Figures of sensitive ranges: lambda by value, and the range around one record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth_core.figures.palette import color
from synth_core.figures.parts import TEXT, Figure, Layout, area, axis, figure, scatter, shown, table
from synth_core.system.number_text import percent, significant

Array = NDArray[np.float64]
POINTS = 400


def _value_axis(values: Array, outcome: str) -> Layout:
    ordered = np.sort(values)
    skewed = ordered[0] > 0 and ordered[-1] > 20 * np.median(ordered)
    title = f"{shown(outcome)} (the table's unit)" + (", logarithmic" if skewed else "")
    return axis(title, **({"type": "log"} if skewed else {}))


def outside_figure(values: Array, outside: Array, outcome: str) -> Figure:
    """lambda_i, the probability that a synthetic value leaves the record's range, by value.

    Parameters
    ----------
    values, outside : arrays of shape (n_records,)
    """
    order = np.argsort(values, kind="stable")
    kept = order[np.unique(np.linspace(0, len(order) - 1, min(POINTS, len(order))).astype(int))]
    deciles = [order[round(q * (len(order) - 1))] for q in np.linspace(0, 1, 11)]
    rows = [[f"{10 * i} %", significant(values[k], 5), f"{outside[k]:.4f}"] for i, k in enumerate(deciles)]
    return figure(
        "outside",
        "Probability λ that a synthetic value leaves the record's range",
        "Near 1: a synthetic value rarely falls into the record's sensitive range, so its weight can stay "
        "high and its bound shrinks by 1 − λ.",
        [
            scatter(
                values[kept].tolist(),
                outside[kept].tolist(),
                "markers",
                "record %{customdata}<br>value %{x:,.4~r}<br>λ = %{y:.3f}",
                customdata=(kept + 1).tolist(),
                marker={"color": color("range_averaged"), "size": 4, "opacity": 0.7},
            )
        ],
        {"xaxis": _value_axis(values, outcome), "yaxis": axis("Probability λ", range=[-0.02, 1.04])},
        table(["Record at decile", "Value", "λ"], rows),
        f"λ from {outside.min():.2f} to {outside.max():.2f}, mean {outside.mean():.2f}",
    )


def interval_figure(values: Array, intervals: Array, record: int, outside: Array, outcome: str) -> Figure:
    """The distribution of all values with the sensitive range of one record.

    Parameters
    ----------
    intervals : array of shape (n_records, 2)
    record : int
        Counted from 1.
    """
    ordered = np.sort(values)
    ranks = np.unique(np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).astype(int))
    i = record - 1
    lower, upper = (float(np.clip(end, ordered[0], ordered[-1])) for end in intervals[i])
    share = float(np.mean((values >= intervals[i, 0]) & (values <= intervals[i, 1])))
    look = color("range_averaged")
    at = float(np.searchsorted(ordered, values[i], side="right") / len(ordered))
    curve = scatter(
        ordered[ranks].tolist(),
        ((ranks + 1) / len(ordered)).tolist(),
        hover="%{x:,.4~r}: %{y:.3f}",
        line={"color": TEXT, "width": 2},
    )
    mark = scatter(
        [float(values[i])],
        [at],
        "markers",
        f"record {record}<br>value %{{x:,.5~r}}",
        marker={"symbol": "diamond", "size": 11, "color": look},
    )
    rows = [
        ["Value", significant(values[i], 6)],
        ["Range from", significant(intervals[i, 0], 6)],
        ["Range to", significant(intervals[i, 1], 6)],
        ["Records inside", percent(share)],
        ["λ", f"{outside[i]:.4f}"],
    ]
    return figure(
        "interval",
        f"Sensitive range of record {record}",
        "ε bounds what is learned about the value within the shaded range; that it lies there is not "
        "protected.",
        [
            area([lower, lower, upper, upper], [0, 1, 1, 0]) | {"line": {"color": look, "width": 1.5}},
            curve,
            mark,
        ],
        {
            "xaxis": _value_axis(values, outcome),
            "yaxis": axis("Share of records at or below", range=[-0.02, 1.04]),
        },
        table(["What", "Number"], rows),
        f"range from {significant(lower)} to {significant(upper)} around {significant(values[i])}, "
        f"λ = {outside[i]:.2f}",
    )
