"""Violins of a Monte Carlo study: one measure over the simulated databases, point by point."""

from __future__ import annotations

from dataclasses import replace

from synth_core.analysis.summary import FiveNumbers
from synth_core.figures.palette import PALETTE, color
from synth_core.figures.parts import (
    TEXT,
    Figure,
    axis,
    figure,
    names_axis,
    scatter,
    shown,
    statistic_label,
    table,
    violin,
)
from synth_core.jobs.study_task import StudyViolin
from synth_core.system.number_text import measured

MEASURES = {
    "lipschitz_bound": "Lipschitz bound Δ (nats)",
    "ecdf_max": "Largest difference of distribution functions (percentage points)",
    "ecdf_avg": "Average squared difference of distribution functions",
    "association": "Associations off by (Cramér's V)",
    "n_truncated": "Records truncated",
    "n_censored": "Records censored",
}


EACH = "ecdf_max of "  # before the name of a variable of whole records


def measure_label(measure: str) -> str:
    """A measure in words."""
    if measure.startswith(EACH):
        return f"Difference of {measure.removeprefix(EACH)} (percentage points)"
    return MEASURES.get(measure) or f"{statistic_label(measure)} of the synthetic values"


def _scaled(v: StudyViolin, scale: float) -> StudyViolin:
    """A violin of so many times its values."""
    density = replace(v.density, at=[scale * each for each in v.density.at])
    return replace(v, density=density, five=FiveNumbers(*(scale * each for each in v.five.in_order)))


def _looks(mechanisms: dict[str, str]) -> dict[str, str]:
    """The color of each label: that of its mechanism as on Compare, or, where one stands twice, by its place."""
    apart = len(set(mechanisms.values())) == len(mechanisms)
    return {
        label: TEXT if not mechanism else color(mechanism) if apart else PALETTE[place % len(PALETTE)]
        for place, (label, mechanism) in enumerate(mechanisms.items())
    }


def study_figure(violins: list[StudyViolin], measure: str) -> Figure:
    """All violins of one measure, cases side by side; a difference of distribution functions in percentage points."""
    if measure == "ecdf_max" or measure.startswith(EACH):
        violins = [_scaled(v, 100.0) for v in violins]
    cases = list(dict.fromkeys(v.case for v in violins))
    look = _looks({v.label: v.mechanism for v in violins})
    traces, names, rows = [], [], []
    for place, v in enumerate(violins):
        five = v.five
        words = f"{v.label}, {v.case}" if len(cases) > 1 else v.label
        hover = shown(f"{words}: median {five.median:.4g}, {five.minimum:.4g} to {five.maximum:.4g}")
        shade = look[v.label]
        traces.append(violin(place, v.density, "#888888" if shade == TEXT else shade, hover))
        middle, dot = [five.q25, five.median, five.q75], {"color": shade, "size": [1, 8, 1]}
        line = {"color": shade, "width": 2}
        traces.append(scatter([place] * 3, middle, "lines+markers", line=line, marker=dot))
        names.append(shown(words))
        rows.append([v.case, v.label, *map(measured, five.in_order)])
    return figure(
        f"study-{measure}",
        measure_label(measure),
        "Width shows how many simulated databases have a value; the dot is the median, the bar the middle half.",
        traces,
        {
            "yaxis": axis(measure_label(measure)),
            "xaxis": names_axis(names, upright=4) | {"range": [-0.7, len(violins) - 0.3]},
        },
        table(
            ["Case", "Mechanism", "Minimum", "First quartile", "Median", "Third quartile", "Maximum"], rows
        ),
        "; ".join(f"{row[1]}, {row[0]}: median {row[4]}" for row in rows[:8]),
    )
