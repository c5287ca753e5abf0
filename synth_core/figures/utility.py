"""Figures of utility: distribution functions, mean and percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from synth_core.analysis.subgroups import GroupAccuracy, in_no_group
from synth_core.analysis.summary import EcdfPoints, ResultSummary
from synth_core.analysis.utility import Statistic, distinct, statistic_words
from synth_core.analysis.wording.headings import CATEGORY_FIGURES
from synth_core.figures.categories import of_categories
from synth_core.figures.palette import color, dash
from synth_core.figures.parts import (
    FAINT_OTHER,
    TEXT,
    Figure,
    Other,
    Trace,
    area,
    axis,
    distribution_axes,
    figure,
    known,
    legend_layout,
    opacity,
    scatter,
    shown,
    statistic_label,
    table,
    worded,
)
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import measured, of_the_first, over_data_sets, points, signed

# Points drawn; and how much farther than all others the extremes must lie to be left out.
MANY, FAR = 100, 3.0
AXES = {
    "%": "Synthetic − confidential (% of confidential)",
    "points": "Synthetic − confidential (percentage points)",
}
OFF_SCALE = 150.0  # percent; larger errors are drawn at the edge, as triangles


def errors_axis(units: Iterable[str]) -> str:
    """The name of an axis of errors in these units."""
    return AXES.get(" ".join(set(units)), "Synthetic − confidential (% of confidential, or points)")


def _curve(s: ResultSummary, curve: EcdfPoints, label: str, when: str, **more: Any) -> Trace:
    """The distribution function of the synthetic values of a mechanism."""
    name = s.mechanism
    named = known(label, when, name)
    line = {"color": color(name), "width": 1.8, "dash": dash(name), "shape": "hv"}
    return scatter(
        curve.at,
        curve.share,
        hover=f"{named['name']}<br>%{{x:,.4~r}}: %{{y:.3f}}",
        line=line | more.pop("line", {}),
        **named | more,
    )


def ecdf_figure(
    summaries: list[ResultSummary], labels: dict[str, str], outcome: str, other: Other | None = None
) -> Figure:
    """Confidential and synthetic distribution functions, the largest differences marked."""
    curves = [(s, s.ecdf) for s in summaries if s.ecdf is not None]
    confidential = curves[0][1].confidential
    traces: list[Trace] = []
    rows = []
    if other is not None:  # behind all others
        for before in other.summaries.values():
            if before.ecdf is None:
                continue
            label = labels.get(before.mechanism) or find_mechanism(before.mechanism).label
            behind = {"dash": "dot", "width": 1.5}
            traces.append(
                _curve(before, before.ecdf.synthetic, label, other.name, line=behind, opacity=FAINT_OTHER)
            )
    for s, ecdf in curves:
        name, place = s.mechanism, ecdf.place
        look = color(name)
        solid = {} if other is None else {"dash": "solid"}
        traces.append(
            _curve(
                s,
                ecdf.synthetic,
                labels[name],
                "" if other is None else other.now,
                line=solid,
                opacity=opacity(s),
            )
        )
        traces.append(
            scatter(
                [place, place],
                list(ecdf.at_place),
                "lines+markers",
                f"{labels[name]}: largest difference {points(ecdf.at_place[1] - ecdf.at_place[0])} at %{{x:,.4~r}}",
                line={"color": look, "width": 3},
                marker={"size": 6, "color": look},
                opacity=opacity(s),
                **known(labels[name], "", name, legend=False),
            )
        )
        rows.append([labels[name], points(s.numbers.ecdf_max), f"{s.numbers.ecdf_avg:.6f}", measured(place)])
    traces.append(  # on top, and first in the legend
        scatter(
            confidential.at,
            confidential.share,
            hover="Confidential<br>%{x:,.4~r}: %{y:.3f}",
            name="Confidential",
            legendrank=1,
            line={"color": TEXT, "width": 2.5, "shape": "hv"},
        )
    )
    at = confidential.at
    first, last, layout = at[0], at[-1], distribution_axes(at, outcome)
    layout |= legend_layout(len(summaries), other)
    if layout["xaxis"].get("type") == "log":
        layout["xaxis"]["range"] = [math.log10(first) - 0.05, math.log10(last) + 0.05]
    else:  # the confidential range: one synthetic outlier must not turn every curve into a wall, nor a few others
        if len(at) > MANY and last - first > FAR * (at[-2] - at[1]) > 0:
            first, last = at[1], at[-2]
            layout["xaxis"]["title"]["text"] += "; a few values lie outside"
        pad = 0.04 * (last - first)
        layout["xaxis"]["range"] = [first - pad, last + pad]
    key, title, reading = worded("ecdf")
    sets = [s.numbers.n_datasets for s in summaries]
    mean = over_data_sets(max(sets))
    return figure(
        key,
        title,
        reading + of_the_first(sets),
        traces,
        layout,
        table(
            [
                "Mechanism",
                f"Largest difference{mean}",
                f"Average squared difference{mean}",
                f"Where ({outcome}){', in the first' if mean else ''}",
            ],
            rows,
        ),
        "; ".join(
            f"{labels[s.mechanism]}: largest difference {points(s.numbers.ecdf_max)}"
            f"{over_data_sets(s.numbers.n_datasets)}"
            for s in summaries
        ),
    )


@dataclass(frozen=True)
class Words:
    """What a figure of errors says: its key, title, reading, what a row is, and the name of a row."""

    key: str
    title: str
    reading: str
    row: str
    name: Callable[[Statistic], str]


def quantiles_figure(
    summaries: list[ResultSummary], labels: dict[str, str], other: Other | None = None
) -> Figure:
    """Mean and percentiles: synthetic minus confidential, in percent, with 95 % intervals."""
    key, title, reading = worded("quantiles")
    if of_categories(summaries[0]):
        title, reading = CATEGORY_FIGURES[key].plain, CATEGORY_FIGURES[key].about
    if any(each.instead for each in summaries[0].numbers.statistics):
        reading += " Where a percentile is at the zeros, the share at or below 0 takes its place."
    words = Words(
        key, title, f"{reading} Triangles lie beyond {OFF_SCALE:.0f} %.", "Statistic", statistic_title
    )
    return errors_figure(words, [_Errors.of(s) for s in summaries], labels, other)


def subgroups_figure(
    groups: list[tuple[ResultSummary, list[GroupAccuracy]]],
    labels: dict[str, str],
    predictor: str,
    measure: str,
) -> Figure:
    """One statistic within groups of a predictor, of each mechanism."""
    sizes = {each.statistic.name: each.n_records for each in groups[0][1]}
    words = Words(
        "subgroups",
        f"Accuracy: {statistic_words(measure)} by {predictor}",
        "Dots near 0 are accurate within a group too; the grey band is the confidential data's own 95 % sampling "
        "interval, wide where a group is small.",
        "Group",
        lambda each: f"{each.name} ({sizes[each.name]:,})" + (", points" if each.instead else ""),
    )
    errors = [_Errors(s.mechanism, tuple(each.statistic for each in mine), opacity(s)) for s, mine in groups]
    made = errors_figure(words, errors, labels, None)
    missing = in_no_group([each.n_records for each in groups[0][1]], groups[0][0].numbers.n_records)
    return made | {
        "height": max(240, 60 + 42 * len(sizes)),
        "reading": f"{made['reading']} {missing}".rstrip(),
    }


def percent_off(statistic: Statistic, value: float) -> float | None:
    """How far a synthetic value is off, in percent or points as of `Statistic.error_at`; None where it is infinite."""
    base = statistic.compared.confidential
    if statistic.instead is not None:
        return 100 * (value - base)
    return 100 * (value - base) / abs(base) if base else None


def statistic_title(statistic: Statistic) -> str:
    """A statistic as a heading; with its unit where that is not percent."""
    return statistic_label(statistic.compared.name) + (" (points)" if statistic.instead else "")


@dataclass(frozen=True)
class _Errors:
    """The statistics of a mechanism that a figure of errors draws, and how faint it is drawn."""

    mechanism: str
    statistics: tuple[Statistic, ...]
    opacity: float

    @classmethod
    def of(cls, s: ResultSummary) -> Self:
        return cls(s.mechanism, distinct(s.numbers.statistics), opacity(s))


def errors_figure(
    words: Words, shown_errors: list[_Errors], labels: dict[str, str], other: Other | None
) -> Figure:
    """Synthetic minus confidential, in percent or points, with 95 % intervals: a row a statistic."""
    units = {s.unit for s in shown_errors[0].statistics}
    names = [words.name(s) for s in shown_errors[0].statistics]
    traces: list[Trace] = []
    rows = []
    count = len(shown_errors)

    band_x: list[float | None] = []
    band_y: list[float | None] = []
    for i, stat in enumerate(shown_errors[0].statistics):
        low, high = (percent_off(stat, v) for v in stat.compared.confidential_interval)
        if low is not None and high is not None:
            band_x += [low, high, high, low, low, None]
            band_y += [i - 0.42, i - 0.42, i + 0.42, i + 0.42, i - 0.42, None]
    traces.append(area(band_x, band_y, name="Confidential, 95 % interval"))
    marks = []
    for j, s in enumerate(shown_errors):
        name, look = s.mechanism, color(s.mechanism)
        x, y, minus, plus, hover, symbols = [], [], [], [], [], []
        aside = 0.7 * ((j + 1) / (count + 1) - 0.5)  # each mechanism beside the others
        for i, stat in enumerate(s.statistics):
            both = stat.compared
            middle = percent_off(stat, both.synthetic)
            low, high = (percent_off(stat, v) for v in both.synthetic_interval)
            unit = stat.unit
            if middle is not None and low is not None and high is not None:
                off = abs(middle) > OFF_SCALE
                x.append(max(-OFF_SCALE, min(OFF_SCALE, middle)))
                symbols.append(("triangle-right" if middle > 0 else "triangle-left") if off else "circle")
                y.append(i + aside)
                minus.append(0.0 if off else min(max(middle - low, 0.0), OFF_SCALE))
                plus.append(0.0 if off else min(max(high - middle, 0.0), OFF_SCALE))
                hover.append(
                    f"{labels[name]}, {shown(words.name(stat))}<br>synthetic "
                    f"{measured(both.synthetic)}, confidential {measured(both.confidential)}<br>"
                    f"{signed(middle, 2)} {unit}"
                )
            rows.append(
                [
                    words.name(stat),
                    labels[name],
                    measured(both.confidential),
                    measured(both.synthetic),
                    "–".join(measured(v) for v in both.synthetic_interval),
                    "" if middle is None else f"{signed(middle, 2)} {unit}",
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
                opacity=s.opacity,
                **known(labels[name], "" if other is None else other.now, name),
            )
        )
        marks.append(traces[-1])
        before = None if other is None else other.summaries.get(name)
        if other is not None and before is not None:
            places = {s.name: i + aside for i, s in enumerate(shown_errors[0].statistics)}
            traces.append(_before(before, labels[name], other.name, places))
    layout = {
        "xaxis": axis(
            errors_axis(units),
            zeroline=True,
            ticksuffix=" %" if units == {"%"} else "",
        ),
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [shown(name) for name in names],
            "showgrid": False,
            "range": [len(names) - 0.45, -0.55],
            "zeroline": False,
            "automargin": True,
        },
    } | legend_layout(len(shown_errors), other)
    usable = [t for t, s in zip(marks, shown_errors, strict=True) if s.opacity == 1]
    if usable and len(usable) < len(shown_errors):  # what is not for use does not set the scale
        lowest, highest = _reach(usable)
        layout["xaxis"]["range"] = [1.1 * min(lowest, 0.0), 1.1 * max(highest, 0.0)]
    return figure(
        words.key,
        words.title,
        words.reading,
        traces,
        layout,
        table([words.row, "Mechanism", "Confidential", "Synthetic", "95 % interval", "Difference"], rows),
        "; ".join(f"{labels[s.mechanism]}: largest error {_largest(s.statistics)}" for s in shown_errors),
    )


def _largest(statistics: Sequence[Statistic]) -> str:
    """The largest error of each unit."""
    largest: dict[str, float] = {}
    for each in statistics:
        unit = each.unit
        largest[unit] = max(largest.get(unit, 0.0), 100 * abs(each.error))
    return " and ".join(f"{error:.1f} {unit}" for unit, error in largest.items())


def _before(before: ResultSummary, label: str, when: str, places: dict[str, float]) -> Trace:
    """The errors of a mechanism under the choices that are seen beside: hollow, without intervals."""
    name = before.mechanism
    errors = [
        (places[s.name], off, s.unit)
        for s in before.numbers.statistics
        if s.name in places and (off := percent_off(s, s.compared.synthetic)) is not None
    ]
    return scatter(
        [max(-OFF_SCALE, min(OFF_SCALE, off)) for _, off, _ in errors],
        [place for place, _, _ in errors],
        "markers",
        text=[f"{label}, {when}: {signed(off, 2)} {unit}" for _, off, unit in errors],
        hoverinfo="text",
        marker={"color": color(name), "size": 8, "symbol": "circle-open"},
        opacity=FAINT_OTHER,
        **known(label, when, name),
    )


def _reach(traces: list[Trace]) -> tuple[float, float]:
    """The ends of the intervals of these traces."""
    ends = [
        (x - minus, x + plus)
        for t in traces
        for x, minus, plus in zip(t["x"], t["error_x"]["arrayminus"], t["error_x"]["array"], strict=True)
    ]
    return min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=0.0)
