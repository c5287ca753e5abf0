"""What the Model check page shows: predicted beside observed, and residuals."""

from __future__ import annotations

import itertools
from html import escape
from typing import Any

from synth_core.figures.palette import color
from synth_core.figures.parts import FAINT, TEXT, Figure, axis, figure, table

LOOK = color("weighted")
Check = dict[str, Any]


def check_figures(check: Check, outcome: str, category: str | None) -> list[Figure]:
    """The figures in reading order; the last only with a category."""
    found = [
        shares_figure(check, outcome),
        distribution_figure(check, outcome),
        residuals_figure(check),
    ]
    return [*found, groups_figure(check, category)] if category else found


def shares_figure(check: Check, outcome: str) -> Figure:
    """Share of records by bin: observed bars, predicted dots with bands."""
    s, edges = check["shares"], check["edges"]
    names = [f"{a:.4g} to {b:.4g}" for a, b in itertools.pairwise(edges)]
    place = list(range(len(names)))
    percent = {k: [100 * v for v in s[k]] for k in ("observed", "predicted", "lower", "upper")}
    some = place[:: max(1, len(place) // 6)]
    worst = max(place, key=lambda i: abs(s["predicted"][i] - s["observed"][i]))
    return figure(
        "shares",
        "Predicted and observed shares",
        "Bars are the data, dots the model with its 90 % band. A dot away from its bar is a misfit there.",
        [
            {"type": "bar", "x": place, "y": percent["observed"], "marker": {"color": "rgba(128,128,128,0.45)"},
             "name": "Observed", "textposition": "none", "text": names,
             "hovertemplate": "%{text}<br>observed %{y:.2f} %<extra></extra>"},
            {"type": "scatter", "mode": "markers", "x": place, "y": percent["predicted"], "name": "Predicted",
             "marker": {"color": LOOK, "size": 8}, "text": names,
             "hovertemplate": "%{text}<br>predicted %{y:.2f} %<extra></extra>",
             "error_y": {"type": "data", "symmetric": False, "color": LOOK, "thickness": 2, "width": 3,
                         "array": [b - a for a, b in zip(percent["predicted"], percent["upper"], strict=True)],
                         "arrayminus": [a - b for a, b in zip(percent["predicted"], percent["lower"], strict=True)]}},
        ],
        {"xaxis": axis(f"{escape(outcome)}, in bins of equally many records", tickvals=some,
                       ticktext=[f"{edges[i]:.4g}" for i in some], showgrid=False),
         "yaxis": axis("Share of records (%)", rangemode="tozero"), "bargap": 0.15},
        table(["Bin", "Observed %", "Predicted %", "90 % band"],
              [[names[i], f"{percent['observed'][i]:.2f}", f"{percent['predicted'][i]:.2f}",
                f"{percent['lower'][i]:.2f} to {percent['upper'][i]:.2f}"] for i in place]),
        f"largest difference in the bin {names[worst]}: observed {s['observed'][worst]:.1%}, "
        f"predicted {s['predicted'][worst]:.1%}",
    )  # fmt: skip


def distribution_figure(check: Check, outcome: str) -> Figure:
    """Distribution function of the data and of the posterior predictive."""
    d = check["distribution"]
    gap = max(abs(a - b) for a, b in zip(d["predicted"], d["observed"], strict=True))
    at = d["at"]
    layout: dict[str, Any] = {
        "xaxis": axis(f"{escape(outcome)} (the table's unit)"),
        "yaxis": axis("Share of records at or below", range=[-0.02, 1.03]),
        "showlegend": True,
        "legend": {"x": 0.98, "xanchor": "right", "y": 0.06, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
    }
    if at[0] > 0 and at[-1] > 20 * at[len(at) // 2]:
        layout["xaxis"] |= {"type": "log"}
        layout["xaxis"]["title"]["text"] += ", logarithmic"
        layout["legend"] |= {"x": 0.02, "xanchor": "left", "y": 0.98, "yanchor": "top"}
    return figure(
        "distribution",
        "Distribution functions",
        f"The model's curve should cover the data's; the largest difference is {gap:.3f}.",
        [
            {"type": "scatter", "mode": "lines", "x": at + at[::-1], "y": d["upper"] + d["lower"][::-1],
             "fill": "toself", "fillcolor": FAINT, "line": {"width": 0, "color": FAINT}, "hoverinfo": "skip",
             "showlegend": False},
            {"type": "scatter", "mode": "lines", "x": at, "y": d["observed"], "name": "Data",
             "line": {"color": TEXT, "width": 2.5}, "hovertemplate": "Data<br>%{x:.4g}: %{y:.3f}<extra></extra>"},
            {"type": "scatter", "mode": "lines", "x": at, "y": d["predicted"], "name": "Model",
             "line": {"color": LOOK, "width": 2, "dash": "dash"},
             "hovertemplate": "Model<br>%{x:.4g}: %{y:.3f}<extra></extra>"},
        ],
        layout,
        table(["Value", "Data", "Model", "90 % band"],
              [[f"{v:.5g}", f"{o:.4f}", f"{p:.4f}", f"{a:.4f} to {b:.4f}"] for v, o, p, a, b in
               zip(at, d["observed"], d["predicted"], d["lower"], d["upper"], strict=True)]),
        f"largest difference {gap:.3f}",
    )  # fmt: skip


def residuals_figure(check: Check) -> Figure:
    """Histogram of Pr(X <= x_i), flat if the model fits."""
    shares, (low, high) = check["residuals"], check["residual_limits"]
    n = len(shares)
    outside = sum(not low <= s <= high for s in shares)
    return figure(
        "residuals",
        "Residuals: where each value lies in its own prediction",
        f"Flat within the grey band if the model fits; {outside} of {n} bars lie outside it "
        f"(about {0.05 * n:.0f} would by chance).",
        [
            {"type": "scatter", "mode": "lines", "x": [0, 1, 1, 0], "y": [100 * low] * 2 + [100 * high] * 2,
             "fill": "toself", "fillcolor": FAINT, "line": {"width": 0, "color": FAINT}, "hoverinfo": "skip"},
            {"type": "bar", "x": [(i + 0.5) / n for i in range(n)], "y": [100 * s for s in shares],
             "width": 0.9 / n, "marker": {"color": LOOK, "opacity": 0.7},
             "hovertemplate": "%{x:.3f}: %{y:.2f} %<extra></extra>"},
        ],
        {"xaxis": axis("Predicted probability of a value at or below the record's", range=[0, 1]),
         "yaxis": axis("Share of records (%)", rangemode="tozero")},
        table(["From", "To", "Share %"],
              [[f"{i / n:.2f}", f"{(i + 1) / n:.2f}", f"{100 * s:.2f}"] for i, s in enumerate(shares)]),
        f"{outside} of {n} bars outside the 95 % band",
    )  # fmt: skip


def groups_figure(check: Check, category: str) -> Figure:
    """Mean normal residual by category: does the model fit each group?"""
    groups = check["groups"]
    return figure(
        "groups",
        f"Mean residual by {escape(category)}",
        "Near 0 with its bar touching 0: the model fits the category. Above 0 it predicts too low, below too high.",
        [
            {"type": "scatter", "mode": "markers", "x": [g["mean"] for g in groups],
             "y": list(range(len(groups))), "marker": {"color": LOOK, "size": 9},
             "text": [f"{escape(g['label'])}, {g['n']:,} records" for g in groups],
             "hovertemplate": "%{text}<br>%{x:.3f}<extra></extra>",
             "error_x": {"type": "data", "array": [2 * g["error"] for g in groups], "color": LOOK,
                         "thickness": 2, "width": 4}},
        ],
        {"xaxis": axis("Mean normal residual (standard deviations)", zeroline=True),
         "yaxis": {"tickvals": list(range(len(groups))), "ticktext": [escape(g["label"])[:24] for g in groups],
                   "autorange": "reversed", "automargin": True, "showgrid": False, "zeroline": False}},
        table([category, "Records", "Mean residual", "Standard error"],
              [[g["label"], f"{g['n']:,}", f"{g['mean']:.3f}", f"{g['error']:.3f}"] for g in groups]),
        "; ".join(f"{g['label']}: {g['mean']:+.2f}" for g in groups[:8]),
    )  # fmt: skip
