"""Figures of privacy: by-record Lipschitz bounds, and the weights that bring them down."""

from __future__ import annotations

from typing import Any

from synth_core.figures.palette import color, transparent
from synth_core.figures.parts import (
    FAINT_OTHER,
    Figure,
    Other,
    Summary,
    axis,
    figure,
    known,
    legend_layout,
    names_axis,
    opacity,
    scatter,
    table,
    violin,
    worded,
)

_EMPTY = "No posterior in this selection: noise on counts has neither bounds nor weights by record."


def _of_posteriors(
    key: str, traces: list[Any], layout: dict[str, Any], rows: dict[str, Any], alt: str, more: str = ""
) -> Figure:
    """A figure of what posteriors have; where no mechanism samples one, it says so in the place of empty axes."""
    _, title, reading = worded(key)
    if alt:
        return figure(key, title, f"{reading}{more}", traces, layout, rows, alt)
    hidden = {name: {"visible": False} for name in ("xaxis", "yaxis")}
    return figure(key, title, _EMPTY, [], hidden, rows, _EMPTY)


def _violins(
    summaries: list[Summary], labels: dict[str, str], other: Other | None, what: str, hover: dict[str, str]
) -> list[dict[str, Any]]:
    """A violin a mechanism, of "bounds" or "weights"; what is beside in outline, in the same place."""
    traces = []
    for i, s in enumerate(summaries):
        name = s["mechanism"]
        look, now = color(name), "" if other is None else other.now
        named = known(labels[name], now, name)
        before = None if other is None else other.summaries.get(name)
        density = s["privacy"][what]["density"]
        traces.append(violin(i, density, look, hover[name], opacity=opacity(s), **named))
        if other is not None and before is not None and before["privacy"] is not None:
            traces.append(
                violin(
                    i,
                    before["privacy"][what]["density"],
                    look,
                    f"{labels[name]}, {other.name}",
                    fillcolor=transparent(look, 0.08),
                    line={"color": look, "width": 1.2, "dash": "dot"},
                    opacity=FAINT_OTHER * opacity(before),
                    **known(labels[name], other.name, name),
                )
            )
    return traces


def _of_epsilon(shown: list[Summary], labels: dict[str, str]) -> str:
    """How ε follows from Δ, and of which mechanisms it does not."""
    set_apart = [
        labels[s["mechanism"]]
        for s in shown
        if abs(s["epsilon"] - 2 * s["lipschitz_bound"]) > 0.01 * s["epsilon"]
    ]
    if not set_apart:
        return " ε = 2Δ."
    of = "" if len(set_apart) == len(shown) else f"ε = 2Δ, but of {', '.join(set_apart)}: "
    return f" {of}ε is what was set, and pays for more than this fit or is not used up by it."


def bounds_figure(
    summaries: list[Summary], labels: dict[str, str], other: Other | None = None, inspected: bool = True
) -> Figure:
    """By-record Lipschitz bounds: a violin a mechanism, its maximum marked.

    Parameters
    ----------
    inspected : bool
        Whether a click on the maximum leads to its record.
    """
    click = " (click to inspect)" if inspected else ""
    shown = [s for s in summaries if s["privacy"] is not None]
    hover = {
        s[
            "mechanism"
        ]: f"{labels[s['mechanism']]}: median {s['privacy']['bounds']['five']['median']:.2f} nats"
        for s in shown
    }
    traces = _violins(shown, labels, other, "bounds", hover)
    rows = []
    tops = [s["lipschitz_bound"] for s in shown]
    for i, s in enumerate(shown):
        name, bounds = s["mechanism"], s["privacy"]["bounds"]
        five, delta = bounds["five"], s["lipschitz_bound"]
        look = color(name)
        traces.append(
            scatter(
                [i],
                [delta],
                "markers+text",
                f"{labels[name]}: largest bound Δ = {delta:.4f} nats<br>record %{{customdata}}{click}",
                text=[f"Δ = {delta:.2f}" if len(shown) < 5 else f"{delta:.2f}"],
                textposition="top center",
                customdata=[bounds["largest_record"]],
                marker={"symbol": "diamond", "size": 9, "color": look},
                cliponaxis=False,
                opacity=opacity(s),
                **known(labels[name], "", name, legend=False),
            )
        )
        before = None if other is None else other.summaries.get(name)
        if other is not None and before is not None and before["lipschitz_bound"] is not None:
            tops.append(before["lipschitz_bound"])
            traces.append(
                scatter(
                    [i],
                    [before["lipschitz_bound"]],
                    "markers",
                    f"{labels[name]}, {other.name}: Δ = {before['lipschitz_bound']:.4f} nats",
                    marker={"symbol": "diamond-open", "size": 9, "color": look},
                    opacity=FAINT_OTHER,
                    **known(labels[name], other.name, name, legend=False),
                )
            )
        rows.append([labels[name], *(f"{five[k]:.4f}" for k in five)])
    top = max(tops, default=1.0)
    layout = {
        "xaxis": names_axis([labels[s["mechanism"]] for s in shown]),
        "yaxis": axis("Lipschitz bound Δᵢ (nats)", range=[0, top * 1.14], rangemode="tozero"),
    } | legend_layout(shown, other)
    alt = "; ".join(f"{labels[s['mechanism']]}: largest bound {s['lipschitz_bound']:.2f} nats" for s in shown)
    return _of_posteriors(
        "bounds",
        traces,
        layout,
        table(["Mechanism", "Minimum", "25 %", "Median", "75 %", "Maximum Δ"], rows),
        alt,
        _of_epsilon(shown, labels),
    )


def weights_figure(summaries: list[Summary], labels: dict[str, str], other: Other | None = None) -> Figure:
    """Privacy weights: violins, and weights against bounds (Reweight Fig. 2)."""
    shown = [s for s in summaries if s["privacy"] is not None]
    hover = {
        s["mechanism"]: f"{labels[s['mechanism']]}: mean weight {s['privacy']['weights']['mean']:.3f}"
        for s in shown
    }
    traces = _violins(shown, labels, other, "weights", hover)
    rows = []
    for s in shown:
        name, weights, some = s["mechanism"], s["privacy"]["weights"], s["privacy"]["scatter"]
        look = color(name)
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
                opacity=opacity(s),
                **known(labels[name], "", name, legend=False),
            )
        )
        before = None if other is None else other.summaries.get(name)
        if other is not None and before is not None and before["privacy"] is not None:
            some = before["privacy"]["scatter"]
            traces.append(
                scatter(
                    some["weight"][:: 2 * step],
                    some["bound"][:: 2 * step],
                    "markers",
                    f"{labels[name]}, {other.name}<br>weight %{{x:.3f}}<br>bound %{{y:.3f}}",
                    xaxis="x2",
                    yaxis="y2",
                    marker={"color": look, "size": 4, "symbol": "circle-open"},
                    opacity=FAINT_OTHER,
                    **known(labels[name], other.name, name, legend=False),
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
    } | legend_layout(shown, other)
    alt = "; ".join(
        f"{labels[s['mechanism']]}: mean weight {s['privacy']['weights']['mean']:.2f}" for s in shown
    )
    return _of_posteriors(
        "weights",
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
        alt,
    )
