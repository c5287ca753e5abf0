"""What the check of a model shows: predicted beside observed, and residuals."""

from __future__ import annotations

from synth_core.analysis.model_check import RECORDS_USED, ModelCheck
from synth_core.figures.palette import color
from synth_core.figures.parts import (
    TEXT,
    Figure,
    area,
    axis,
    distribution_axes,
    figure,
    scatter,
    shown,
    table,
)
from synth_core.system.number_text import points_at_most, signed, significant

LOOK = color("weighted")
MOST_NAMES = 15  # of categories that stand on an axis


def check_figures(check: ModelCheck, outcome: str, category: str | None) -> list[Figure]:
    """The figures in reading order; the last only with a category."""
    figures = [shares_figure(check, outcome), residuals_figure(check)]
    if not check.values:
        figures.insert(1, distribution_figure(check, outcome))
    return [*figures, groups_figure(check, category)] if category else figures


def shares_figure(check: ModelCheck, outcome: str) -> Figure:
    """Share of records by bin, or of each category: observed bars, predicted dots with bands."""
    s, values = check.shares, check.values
    single = all(a == b for a, b in check.bins)
    names = values or [significant(a) + (f" to {significant(b)}" if a < b else "") for a, b in check.bins]
    of = "Category" if values else "Value" if single else "Bin"
    place = list(range(len(names)))
    shares, predicted, lower, upper = (
        [100 * v for v in curve] for curve in (s.observed, s.predicted, s.lower, s.upper)
    )
    some = place[:: max(1, len(place) // (MOST_NAMES if values else 6))]
    worst = max(place, key=lambda i: abs(s.predicted[i] - s.observed[i]))
    observed = {
        "type": "bar",
        "x": place,
        "y": shares,
        "marker": {"color": "rgba(128,128,128,0.45)"},
        "name": "Observed",
        "textposition": "none",
        "text": [shown(name) for name in names],
        "hovertemplate": "%{text}<br>observed %{y:.2f} %<extra></extra>",
    }
    reach = {
        "array": [b - a for a, b in zip(predicted, upper, strict=True)],
        "arrayminus": [a - b for a, b in zip(predicted, lower, strict=True)],
    }
    dots = scatter(
        place,
        predicted,
        "markers",
        "%{text}<br>predicted %{y:.2f} %",
        name="Predicted",
        text=[shown(name) for name in names],
        marker={"color": LOOK, "size": 8},
        error_y={"type": "data", "symmetric": False, "color": LOOK, "thickness": 2, "width": 3} | reach,
    )
    ticks = [shown(values[i][:12]) if values else significant(check.bins[i][0]) for i in some]
    # Else the last name, written askew, is left out where it is longer than what is left of the axis.
    ends = {"tickvals": some, "ticktext": ticks, "showgrid": False, "ticklabeloverflow": "allow"}
    rows = [
        [name, f"{o:.2f}", f"{p:.2f}", f"{a:.2f} to {b:.2f}"]
        for name, o, p, a, b in zip(names, shares, predicted, lower, upper, strict=True)
    ]
    return figure(
        "shares",
        "Predicted and observed shares",
        "Bars are the data, dots the model with its 90 % band. A dot away from its bar is a misfit there.",
        [observed, dots],
        {
            "xaxis": axis(
                shown(outcome)
                if values or single
                else f"{shown(outcome)}, in bins of about equally many records; a frequent value is its own bin",
                **ends,
            ),
            "yaxis": axis("Share of records (%)", rangemode="tozero"),
            "bargap": 0.15,
        },
        table([of, "Observed %", "Predicted %", "90 % band"], rows),
        f"largest difference in the {of.lower()} {names[worst]}: observed {shares[worst]:.1f} %, "
        f"predicted {predicted[worst]:.1f} %",
    )


def distribution_figure(check: ModelCheck, outcome: str) -> Figure:
    """Distribution function of the data and of the posterior predictive."""
    d = check.distribution
    at = d.at
    shown = (
        (d.observed, "Data", {"color": TEXT, "width": 2.5}),
        (d.predicted, "Model", {"color": LOOK, "width": 2, "dash": "dash"}),
    )
    rows = [
        [significant(v, 5), f"{o:.4f}", f"{p:.4f}", f"{a:.4f} to {b:.4f}"]
        for v, o, p, a, b in zip(at, d.observed, d.predicted, d.lower, d.upper, strict=True)
    ]
    return figure(
        "distribution",
        "Distribution functions",
        f"The model's curve should cover the data's; the largest difference is "
        f"{points_at_most(check.difference)} points.",
        [
            area(at + at[::-1], d.upper + d.lower[::-1], showlegend=False),
            *(
                scatter(at, values, hover=f"{name}<br>%{{x:,.4~r}}: %{{y:.3f}}", name=name, line=line)
                for values, name, line in shown
            ),
        ],
        distribution_axes(at, outcome),
        table(["Value", "Data", "Model", "90 % band"], rows),
        f"largest difference {points_at_most(check.difference)} points",
    )


def residuals_figure(check: ModelCheck) -> Figure:
    """Histogram of Pr(X <= x_i), flat if the model fits."""
    shares, (low, high) = check.residuals, check.residual_limits
    n = len(shares)
    outside = sum(not low <= s <= high for s in shares)
    bars = {
        "type": "bar",
        "x": [(i + 0.5) / n for i in range(n)],
        "y": [100 * s for s in shares],
        "width": 0.9 / n,
        "marker": {"color": LOOK, "opacity": 0.7},
        "hovertemplate": "%{x:.3f}: %{y:.2f} %<extra></extra>",
    }
    return figure(
        "residuals",
        "Residuals: where each value lies in its own prediction",
        f"Flat within the grey band if the model fits; {outside} of {n} bars lie outside it "
        f"(about {0.05 * n:.0f} would by chance).",
        [area([0, 1, 1, 0], [100 * low] * 2 + [100 * high] * 2), bars],
        {
            "xaxis": axis(
                "Predicted probability of the categories up to the record's, the likeliest first"
                if check.no_order
                else "Predicted probability of a value at or below the record's",
                range=[0, 1],
            ),
            "yaxis": axis("Share of records (%)", rangemode="tozero"),
        },
        table(
            ["From", "To", "Share %"],
            [[f"{i / n:.2f}", f"{(i + 1) / n:.2f}", f"{100 * s:.2f}"] for i, s in enumerate(shares)],
        ),
        f"{outside} of {n} bars outside the 95 % band",
    )


def groups_figure(check: ModelCheck, category: str) -> Figure:
    """Mean normal residual by category: does the model fit each group?"""
    groups = check.groups
    wrong = "Above 0 it predicts too low, below too high."
    if check.no_order:
        wrong = "Above 0 what it holds for unlikely is met too often, below too rarely."
    reach = {
        "type": "data",
        "array": [2 * g.error for g in groups],
        "color": LOOK,
        "thickness": 2,
        "width": 4,
    }
    places = list(range(len(groups)))
    names = {"tickvals": places, "ticktext": [shown(g.label[:24]) for g in groups]}
    return figure(
        "groups",
        f"Mean residual by {category}",
        f"Near 0 with its bar touching 0: the model fits the category. {wrong} Of a category with more records "
        f"{RECORDS_USED} are looked at.",
        [
            scatter(
                [g.mean for g in groups],
                places,
                "markers",
                "%{text}<br>%{x:.3f}",
                text=[f"{shown(g.label)}, {g.n_records:,} records" for g in groups],
                marker={"color": LOOK, "size": 9},
                error_x=reach,
            )
        ],
        {
            "xaxis": axis("Mean normal residual (standard deviations)", zeroline=True),
            "yaxis": names
            | {"autorange": "reversed", "automargin": True, "showgrid": False, "zeroline": False},
        },
        table(
            [category, "Records", "Mean residual", "Standard error"],
            [[g.label, f"{g.n_records:,}", f"{g.mean:.3f}", f"{g.error:.3f}"] for g in groups],
        ),
        "; ".join(f"{g.label}: {signed(g.mean, 2)}" for g in groups[:8]),
    )
