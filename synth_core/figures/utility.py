"""Figures of utility: distribution functions, mean and percentiles."""

from __future__ import annotations

import math
from typing import Any

from synth_core.figures.palette import color, dash
from synth_core.figures.parts import (
    TEXT,
    Figure,
    Summary,
    area,
    axis,
    distribution_axes,
    figure,
    scatter,
    statistic_label,
    table,
)

# Points drawn; and how much farther than all others the extremes must lie to be left out.
MANY, FAR = 100, 3.0
OFF_SCALE = 150.0  # percent; larger errors are drawn at the edge, as triangles


def ecdf_figure(summaries: list[Summary], labels: dict[str, str], outcome: str) -> Figure:
    """Confidential and synthetic distribution functions, the largest differences marked."""
    confidential = summaries[0]["ecdf"]["confidential"]
    traces = [
        scatter(
            confidential["at"],
            confidential["share"],
            hover="Confidential<br>%{x:.4g}: %{y:.3f}",
            name="Confidential",
            line={"color": TEXT, "width": 2.5, "shape": "hv"},
        )
    ]
    rows = []
    for s in summaries:
        name, curve, place = s["mechanism"], s["ecdf"]["synthetic"], s["ecdf"]["place"]
        look = color(name)
        traces.append(
            scatter(
                curve["at"],
                curve["share"],
                hover=f"{labels[name]}<br>%{{x:.4g}}: %{{y:.3f}}",
                name=labels[name],
                line={"color": look, "width": 1.8, "dash": dash(name), "shape": "hv"},
            )
        )
        traces.append(
            scatter(
                [place, place],
                s["ecdf"]["at_place"],
                "lines+markers",
                f"{labels[name]}: largest difference {s['ecdf_max']:.4f} at %{{x:.4g}}",
                showlegend=False,
                line={"color": look, "width": 3},
                marker={"size": 6, "color": look},
            )
        )
        rows.append([labels[name], f"{s['ecdf_max']:.4f}", f"{s['ecdf_avg']:.6f}", f"{place:.5g}"])
    at = confidential["at"]
    first, last, layout = at[0], at[-1], distribution_axes(at, outcome)
    layout["showlegend"] = len(summaries) <= 5  # beyond, the table's colours say which is which
    if layout["xaxis"].get("type") == "log":
        layout["xaxis"]["range"] = [math.log10(first) - 0.05, math.log10(last) + 0.05]
    else:  # the confidential range: one synthetic outlier must not turn every curve into a wall, nor a few others
        if len(at) > MANY and last - first > FAR * (at[-2] - at[1]) > 0:
            first, last = at[1], at[-2]
            layout["xaxis"]["title"]["text"] += "; a few values lie outside"
        pad = 0.04 * (last - first)
        layout["xaxis"]["range"] = [first - pad, last + pad]
    return figure(
        "ecdf",
        "Utility: distribution functions",
        "Curves that coincide mean the same distribution; the thick bar marks the largest difference.",
        traces,
        layout,
        table(["Mechanism", "Largest difference", "Average squared difference", f"Where ({outcome})"], rows),
        "; ".join(f"{labels[s['mechanism']]}: largest difference {s['ecdf_max']:.3f}" for s in summaries),
    )


def quantiles_figure(summaries: list[Summary], labels: dict[str, str]) -> Figure:
    """Mean and percentiles: synthetic minus confidential, in percent, with 95 % intervals."""
    names = [s["name"] for s in summaries[0]["statistics"]]
    traces: list[dict[str, Any]] = []
    rows = []
    count = len(summaries)

    def percent(value: float, base: float) -> float | None:
        return 100 * (value - base) / abs(base) if base else None

    band_x: list[float | None] = []
    band_y: list[float | None] = []
    for i, stat in enumerate(summaries[0]["statistics"]):
        base = stat["confidential"]
        low, high = (percent(v, base) for v in stat["confidential_interval"])
        if low is not None and high is not None:
            band_x += [low, high, high, low, low, None]
            band_y += [i - 0.42, i - 0.42, i + 0.42, i + 0.42, i - 0.42, None]
    traces.append(area(band_x, band_y))
    for j, s in enumerate(summaries):
        name, look = s["mechanism"], color(s["mechanism"])
        x, y, minus, plus, hover, symbols = [], [], [], [], [], []
        for i, stat in enumerate(s["statistics"]):
            base = stat["confidential"]
            middle = percent(stat["synthetic"], base)
            low, high = (percent(v, base) for v in stat["synthetic_interval"])
            if middle is not None and low is not None and high is not None:
                off = abs(middle) > OFF_SCALE
                x.append(max(-OFF_SCALE, min(OFF_SCALE, middle)))
                symbols.append(("triangle-right" if middle > 0 else "triangle-left") if off else "circle")
                y.append(i + 0.5 * ((j + 1) / (count + 1) - 0.5) * 1.4)
                minus.append(0.0 if off else min(max(middle - low, 0.0), OFF_SCALE))
                plus.append(0.0 if off else min(max(high - middle, 0.0), OFF_SCALE))
                hover.append(
                    f"{labels[name]}, {statistic_label(stat['name'])}<br>synthetic "
                    f"{stat['synthetic']:.5g}, confidential {base:.5g}<br>"
                    f"{middle:+.2f} %"
                )
            rows.append(
                [
                    statistic_label(stat["name"]),
                    labels[name],
                    f"{base:.6g}",
                    f"{stat['synthetic']:.6g}",
                    "–".join(f"{v:.5g}" for v in stat["synthetic_interval"]),
                    "" if middle is None else f"{middle:+.2f} %",
                ]
            )
        reach = {"type": "data", "array": plus, "arrayminus": minus}
        traces.append(
            scatter(
                x,
                y,
                "markers",
                text=hover,
                hoverinfo="text",
                marker={"color": look, "size": 8 if count <= 5 else 6, "symbol": symbols},
                error_x=reach | {"color": look, "thickness": 2, "width": 4},
            )
        )
    layout = {
        "xaxis": axis("Synthetic − confidential (% of confidential)", zeroline=True, ticksuffix=" %"),
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [statistic_label(n) for n in names],
            "showgrid": False,
            "range": [len(names) - 0.45, -0.55],
            "zeroline": False,
            "automargin": True,
        },
    }
    return figure(
        "quantiles",
        "Utility: mean and percentiles",
        "Dots near 0 with short bars are accurate; the grey band is the confidential data's own "
        f"95 % sampling interval. Triangles lie beyond {OFF_SCALE:.0f} %.",
        traces,
        layout,
        table(["Statistic", "Mechanism", "Confidential", "Synthetic", "95 % interval", "Difference"], rows),
        "; ".join(
            f"{labels[s['mechanism']]}: largest error "
            f"{max(abs(t['relative_error']) for t in s['statistics']):.1%}"
            for s in summaries
        ),
    )
