"""Figures of privacy: by-record Lipschitz bounds, and the weights that bring them down."""

from __future__ import annotations

from typing import Any

from synth_core.figures.palette import color
from synth_core.figures.parts import Figure, Summary, axis, figure, names_axis, scatter, table, violin

_EMPTY = "No posterior in this selection: the histogram has neither bounds nor weights."


def bounds_figure(summaries: list[Summary], labels: dict[str, str]) -> Figure:
    """By-record Lipschitz bounds: a violin a mechanism, its maximum marked."""
    shown = [s for s in summaries if s["privacy"] is not None]
    traces: list[dict[str, Any]] = []
    rows = []
    for i, s in enumerate(shown):
        name, bounds = s["mechanism"], s["privacy"]["bounds"]
        five, delta = bounds["five"], s["lipschitz_bound"]
        look = color(name)
        traces.append(violin(i, bounds["density"], look, f"{labels[name]}: median {five['median']:.2f} nats"))
        traces.append(
            scatter(
                [i],
                [delta],
                "markers+text",
                f"{labels[name]}: largest bound Δ = {delta:.4f} nats<br>record %{{customdata}} (click to inspect)",
                text=[f"Δ = {delta:.2f}" if len(shown) < 5 else f"{delta:.2f}"],
                textposition="top center",
                customdata=[bounds["largest_record"]],
                marker={"symbol": "diamond", "size": 9, "color": look},
                cliponaxis=False,
            )
        )
        rows.append([labels[name], *(f"{five[k]:.4f}" for k in five)])
    top = max((s["lipschitz_bound"] for s in shown), default=1.0)
    layout = {
        "xaxis": names_axis([labels[s["mechanism"]] for s in shown]),
        "yaxis": axis("Lipschitz bound Δᵢ (nats)", range=[0, top * 1.14], rangemode="tozero"),
    }
    alt = "; ".join(f"{labels[s['mechanism']]}: largest bound {s['lipschitz_bound']:.2f} nats" for s in shown)
    return figure(
        "bounds",
        "Privacy: by-record Lipschitz bounds",
        "Width shows how many records have a bound; the diamond, the largest, sets ε = 2Δ. "
        "Lower is more private.",
        traces,
        layout,
        table(["Mechanism", "Minimum", "25 %", "Median", "75 %", "Maximum Δ"], rows),
        alt or _EMPTY,
    )


def weights_figure(summaries: list[Summary], labels: dict[str, str]) -> Figure:
    """Privacy weights: violins, and weights against bounds (Reweight Fig. 2)."""
    shown = [s for s in summaries if s["privacy"] is not None]
    traces: list[dict[str, Any]] = []
    rows = []
    for i, s in enumerate(shown):
        name, weights, some = s["mechanism"], s["privacy"]["weights"], s["privacy"]["scatter"]
        look = color(name)
        traces.append(
            violin(i, weights["density"], look, f"{labels[name]}: mean weight {weights['mean']:.3f}")
        )
        step = max(1, len(shown) // 3)  # the browser draws a few hundred points in all
        traces.append(
            scatter(
                some["weight"][::step],
                some["bound"][::step],
                "markers",
                f"{labels[name]}<br>record %{{customdata}} (click to inspect)<br>weight %{{x:.3f}}<br>bound %{{y:.3f}}",
                xaxis="x2",
                yaxis="y2",
                customdata=some["record"][::step],
                marker={"color": look, "size": 4, "opacity": 0.65},
            )
        )
        five = weights["five"]
        rows.append(
            [
                labels[name],
                f"{weights['mean']:.4f}",
                *(f"{five[k]:.4f}" for k in five),
                f"{weights['zero']:,}",
                f"{s['n_truncated']:,}",
                f"{s['n_censored']:,}",
            ]
        )
    layout = {
        "xaxis": names_axis([labels[s["mechanism"]] for s in shown], upright=2)
        | {"domain": [0, 0.5 if len(shown) > 4 else 0.4]},
        "yaxis": axis("Privacy weight α", range=[-0.03, 1.06]),
        "xaxis2": axis(
            "Privacy weight α", domain=[0.64 if len(shown) > 4 else 0.56, 1], anchor="y2", range=[-0.03, 1.06]
        ),
        "yaxis2": axis("Bound Δᵢ (nats)", anchor="x2", rangemode="tozero"),
    }
    alt = "; ".join(
        f"{labels[s['mechanism']]}: mean weight {s['privacy']['weights']['mean']:.2f}" for s in shown
    )
    return figure(
        "weights",
        "Mechanism: privacy weights",
        "A weight of 1 keeps a record's full say, 0 removes it. Right: weights that could rise "
        "without a larger Δ lie low.",
        traces,
        layout,
        table(
            [
                "Mechanism",
                "Mean",
                "Minimum",
                "25 %",
                "Median",
                "75 %",
                "Maximum",
                "Weight 0",
                "Truncated",
                "Censored",
            ],
            rows,
        ),
        alt or _EMPTY,
    )
