"""Figures of privacy: by-record Lipschitz bounds, and the weights that bring them down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synth_core.analysis.summary import Density, ResultSummary
from synth_core.figures.palette import color, transparent
from synth_core.figures.parts import (
    FAINT_OTHER,
    Figure,
    Grid,
    Layout,
    Other,
    Trace,
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
from synth_core.system.number_text import ceiling

_EMPTY = "No posterior in this selection: noise on counts has neither bounds nor weights by record."


def _of_posteriors(
    key: str, traces: list[Any], layout: Layout, rows: Grid, alt: str, more: str = ""
) -> Figure:
    """A figure of what posteriors have; where no mechanism samples one, it says so in the place of empty axes."""
    _, title, reading = worded(key)
    if alt:
        return figure(key, title, f"{reading}{more}", traces, layout, rows, alt)
    hidden = {name: {"visible": False} for name in ("xaxis", "yaxis")}
    return figure(key, title, _EMPTY, [], hidden, rows, _EMPTY)


@dataclass(frozen=True)
class _Violin:
    """What a violin shows of a mechanism: its density and what the pointer says, and the density of what is beside."""

    summary: ResultSummary
    density: Density
    hover: str
    before: ResultSummary | None
    density_before: Density | None


def _violins(seen: list[_Violin], labels: dict[str, str], other: Other | None) -> list[Trace]:
    """A violin a mechanism; what is beside in outline, in the same place."""
    traces = []
    for i, each in enumerate(seen):
        name = each.summary.mechanism
        look, now = color(name), "" if other is None else other.now
        named = known(labels[name], now, name)
        traces.append(violin(i, each.density, look, each.hover, opacity=opacity(each.summary), **named))
        if other is not None and each.before is not None and each.density_before is not None:
            traces.append(
                violin(
                    i,
                    each.density_before,
                    look,
                    f"{labels[name]}, {other.name}",
                    fillcolor=transparent(look, 0.08),
                    line={"color": look, "width": 1.2, "dash": "dot"},
                    opacity=FAINT_OTHER * opacity(each.before),
                    **known(labels[name], other.name, name),
                )
            )
    return traces


def _before(other: Other | None, mechanism: str) -> ResultSummary | None:
    """What is beside a mechanism, if anything is."""
    return None if other is None else other.summaries.get(mechanism)


def _of_epsilon(shown: list[ResultSummary], labels: dict[str, str]) -> str:
    """How ε follows from Δ, and of which mechanisms it does not."""
    set_apart = [
        labels[s.mechanism]
        for s in shown
        if abs(s.numbers.epsilon - 2 * (s.numbers.lipschitz_bound or 0.0)) > 0.01 * s.numbers.epsilon
    ]
    if not set_apart:
        return " ε = 2Δ."
    where = "" if len(set_apart) == len(shown) else f"ε = 2Δ, but for {', '.join(set_apart)} "
    return f" {where}ε is what was set: it pays for more than this fit, or the fit does not use all of it."


def _without_bounds(summaries: list[ResultSummary], labels: dict[str, str]) -> str:
    """Which mechanisms the figure has no shape of, and why: they read noisy counts alone."""
    names = ", ".join(labels[s.mechanism] for s in summaries if s.privacy is None)
    return f" Not of {names}: what reads noisy counts has no such bounds." if names else ""


def bounds_figure(
    summaries: list[ResultSummary], labels: dict[str, str], other: Other | None = None, inspected: bool = True
) -> Figure:
    """By-record Lipschitz bounds: a violin a mechanism, its maximum marked.

    Parameters
    ----------
    inspected : bool
        Whether a click on the maximum leads to its record.
    """
    click = " (click to inspect)" if inspected else ""
    bounded = [(s, s.privacy.bounds) for s in summaries if s.privacy is not None]
    shown = [s for s, _ in bounded]
    seen = []
    for s, bounds in bounded:
        before = _before(other, s.mechanism)
        curves = None if before is None else before.privacy
        median = f"{labels[s.mechanism]}: median {bounds.five.median:.2f} nats"
        seen.append(
            _Violin(s, bounds.density, median, before, None if curves is None else curves.bounds.density)
        )
    traces = _violins(seen, labels, other)
    rows = []
    tops = [bounds.five.maximum for _, bounds in bounded]
    for i, (s, bounds) in enumerate(bounded):
        name, delta = s.mechanism, bounds.five.maximum
        look = color(name)
        traces.append(
            scatter(
                [i],
                [delta],
                "markers+text",
                f"{labels[name]}: largest bound Δ = {ceiling(delta, 4)} nats<br>record %{{customdata}}{click}",
                text=["Δ = " * (len(shown) < 5) + ceiling(delta, 2)],  # as the table of results has it
                textposition="top center",
                customdata=[bounds.largest_record],
                marker={"symbol": "diamond", "size": 9, "color": look},
                cliponaxis=False,
                opacity=opacity(s),
                **known(labels[name], "", name, legend=False),
            )
        )
        before = _before(other, name)
        was = None if before is None else before.numbers.lipschitz_bound
        if other is not None and was is not None:
            tops.append(was)
            traces.append(
                scatter(
                    [i],
                    [was],
                    "markers",
                    f"{labels[name]}, {other.name}: Δ = {ceiling(was, 4)} nats",
                    marker={"symbol": "diamond-open", "size": 9, "color": look},
                    opacity=FAINT_OTHER,
                    **known(labels[name], other.name, name, legend=False),
                )
            )
        *others, most = bounds.five.in_order
        rows.append([labels[name], *(f"{value:.4f}" for value in others), ceiling(most, 4)])
    top = max(tops, default=1.0)
    layout = {
        "xaxis": names_axis([labels[s.mechanism] for s in shown]),
        "yaxis": axis("Lipschitz bound Δᵢ (nats)", range=[0, top * 1.14], rangemode="tozero"),
    } | legend_layout(len(shown), other)
    alt = "; ".join(
        f"{labels[s.mechanism]}: largest bound {ceiling(top, 2)} nats"
        for s, top in zip(shown, tops, strict=False)
    )
    return _of_posteriors(
        "bounds",
        traces,
        layout,
        table(["Mechanism", "Minimum", "25 %", "Median", "75 %", "Maximum Δ"], rows),
        alt,
        _of_epsilon(shown, labels) + _without_bounds(summaries, labels),
    )


def weights_figure(
    summaries: list[ResultSummary], labels: dict[str, str], other: Other | None = None
) -> Figure:
    """Privacy weights: violins, and weights against bounds (Reweight Fig. 2)."""
    weighted = [
        (s, s.privacy.weights, s.privacy.scatter)
        for s in summaries
        if s.privacy is not None and s.privacy.weights is not None and s.privacy.scatter is not None
    ]
    shown = [s for s, _, _ in weighted]
    seen = []
    for s, weights, _ in weighted:
        before = _before(other, s.mechanism)
        curves = None if before is None or before.privacy is None else before.privacy.weights
        mean = f"{labels[s.mechanism]}: mean weight {weights.mean:.3f}"
        seen.append(_Violin(s, weights.density, mean, before, None if curves is None else curves.density))
    traces = _violins(seen, labels, other)
    rows = []
    for s, weights, some in weighted:
        name = s.mechanism
        look = color(name)
        step = max(1, len(shown) // 3)  # the browser draws a few hundred points in all
        traces.append(
            scatter(
                some.weight[::step],
                some.bound[::step],
                "markers",
                f"{labels[name]}<br>record %{{customdata}} (click to inspect)<br>weight %{{x:.3f}}<br>bound %{{y:.3f}}",
                xaxis="x2",
                yaxis="y2",
                customdata=some.record[::step],
                marker={"color": look, "size": 4, "opacity": 0.65},
                opacity=opacity(s),
                **known(labels[name], "", name, legend=False),
            )
        )
        before = _before(other, name)
        was = None if before is None or before.privacy is None else before.privacy.scatter
        if other is not None and was is not None:
            traces.append(
                scatter(
                    was.weight[:: 2 * step],
                    was.bound[:: 2 * step],
                    "markers",
                    f"{labels[name]}, {other.name}<br>weight %{{x:.3f}}<br>bound %{{y:.3f}}",
                    xaxis="x2",
                    yaxis="y2",
                    marker={"color": look, "size": 4, "symbol": "circle-open"},
                    opacity=FAINT_OTHER,
                    **known(labels[name], other.name, name, legend=False),
                )
            )
        rows.append(
            [
                labels[name],
                f"{weights.mean:.4f}",
                *(f"{value:.4f}" for value in weights.five.in_order),
                f"{weights.zero:,}",
                f"{s.numbers.n_truncated:,}",
                f"{s.numbers.n_censored:,}",
            ]
        )
    layout = {
        "xaxis": names_axis([labels[s.mechanism] for s in shown], upright=2)
        | {"domain": [0, 0.5 if len(shown) > 4 else 0.4]},
        "yaxis": axis("Privacy weight α", range=[-0.03, 1.06]),
        "xaxis2": axis(
            "Privacy weight α", domain=[0.64 if len(shown) > 4 else 0.56, 1], anchor="y2", range=[-0.03, 1.06]
        ),
        "yaxis2": axis("Bound Δᵢ (nats)", anchor="x2", rangemode="tozero"),
    } | legend_layout(len(shown), other)
    alt = "; ".join(f"{labels[s.mechanism]}: mean weight {weights.mean:.2f}" for s, weights, _ in weighted)
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
