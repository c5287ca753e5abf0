"""The risk-utility map: epsilon against error, bands, a frontier for each guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence

from synth_core.analysis.measures import (
    at_zeros,
    drawn_scale,
    is_relative,
    measure_label,
    measure_unit,
    value_text,
)
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.analysis.wording.guarantee_sentences import in_which_sets
from synth_core.experiments.explore.point import PointSummary
from synth_core.experiments.explore.wording import (
    FRONTIER_RULE,
    at_zeros_of,
    band_text,
    finite,
    frontier_points,
    guarantee_label,
    knobs_text,
    promise_text,
)
from synth_core.experiments.rivals.bands import RivalBand
from synth_core.figures.palette import color, transparent
from synth_core.figures.parts import TEXT, Figure, Layout, Trace, axis, figure, scatter, table
from synth_core.figures.rivals import READING, rival_rows, rival_traces, rivals_alt, shown_bands
from synth_core.mechanisms.catalogue import find_mechanism, guarantees
from synth_core.system.number_text import ceiling

STRICT = "square"
SYMBOLS = {  # of guarantees that are not strict; the legend says which
    "none": "x",
    "averaged": "triangle-up",
    "truncated": "triangle-down",
    "data_derived": "diamond",
    "weights_seen": "diamond-tall",
    "settings_seen": "diamond-wide",
}
LINES = ("solid", "dash", "dot", "dashdot")
HEIGHT = 440  # of the map with its legends: its axis is in sight on a window of 900 pixels
LEAST = 300  # of the map inside its axes, however many names the legends have
WIDE = 8.0  # largest over smallest beyond which an axis is logarithmic
PICK = "pick:"  # marks what a click on a point sends


def _symbol(point: PointSummary) -> str:
    """The marker of a point's guarantee."""
    return STRICT if guarantees()[point.guarantee].strict else SYMBOLS.get(point.guarantee, "circle")


def nice(value: float, up: bool) -> float:
    """The nearest of 1, 1.5, 2, 3, 5, 7 times a power of ten, outwards: axes then move rarely."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
    if up:
        return next((s for s in steps if s * power >= value * 0.999), 10.0) * power
    return next((s for s in reversed(steps) if s * power <= value * 1.001), 1.0) * power


def _span(values: list[float], cap: float = math.inf) -> tuple[Layout, float]:
    """An axis range that holds the values, and its upper end; logarithmic where they are wide."""
    positive = [v for v in values if v > 0]
    if not positive:
        return {"range": [0, 1]}, 1.0
    high = nice(min(max(positive), cap) * 1.06, up=True)
    low = min(positive)
    if high > WIDE * low:
        low = nice(max(low, high / 1e4) * 0.95, up=False)
        powers = [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
        ticks = [s * p for p in powers for s in (1, 2, 5) if low * 0.999 <= s * p <= high * 1.001]
        return {"type": "log", "range": [math.log10(low), math.log10(high)], "tickvals": ticks}, high
    return {"type": "linear", "range": [0, high]}, high


def _ends(axis_range: Layout) -> tuple[float, float]:
    """The ends of an axis, in its unit."""
    low, high = axis_range["range"]
    return (10.0**low, 10.0**high) if axis_range.get("type") == "log" else (low, high)


def _hover(point: PointSummary, measure: str) -> str:
    lines = [
        f"<b>{find_mechanism(point.mechanism).label}</b>",
        f"ε = {epsilon_number(point.epsilon)} ({promise_text(point)})",
        knobs_text(point.knobs),
        f"{measure_label(measure)}: {band_text(point, measure)}",
    ]
    if point.problems:
        lines.append("has not converged: not for use")
    return "<br>".join(lines)


def _trace(name: str, points: list[PointSummary], measure: str, top: float, picked: str | None) -> Trace:
    percent = drawn_scale(measure)
    look = color(name)
    bands = [[percent * v for v in p.bands[measure]] for p in points]
    middle = [min(b[1], top) for b in bands]  # off the scale: drawn at the edge
    label = find_mechanism(name).label
    if points[0].guarantee == "none":  # it has no frontier whose entry could name its shape
        label += f" ({guarantee_label(points[0])})"
    return scatter(
        [p.epsilon for p in points],
        middle,
        "markers",
        [_hover(p, measure) for p in points],
        name=label,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(b[2] - m, 0.0) for b, m in zip(bands, middle, strict=True)],
            "arrayminus": [max(m - b[0], 0.0) for b, m in zip(bands, middle, strict=True)],
            "color": transparent(look, 0.6),
            "thickness": 1.5,
            "width": 3,
        },
        customdata=[PICK + p.id for p in points],
        marker={
            "symbol": [_symbol(p) + ("-open" if p.problems else "") for p in points],
            "size": [15 if p.id == picked else 10 for p in points],
            "color": look,
            "opacity": 1,
            "line": {"color": TEXT, "width": [2.5 if p.id == picked else 0.5 for p in points]},
        },
        cliponaxis=False,
    )


def _legends(n_frontiers: int, n_mechanisms: int, n_rivals: int) -> tuple[Layout, int]:
    """Legends one over the other, with room for all: rivals, guarantees, mechanisms; and the height of the figure."""
    row, bottom, gap = 23, 50, 8
    lower, upper = math.ceil(n_mechanisms / 3), math.ceil(n_frontiers / 3)
    highest = math.ceil(n_rivals / 2)  # their names are longer
    top = gap + row * (lower + upper + highest) + 8
    inside = max(LEAST, HEIGHT - top - bottom)
    look = {"orientation": "h", "x": 0, "xanchor": "left", "yanchor": "bottom"}
    look |= {"itemsizing": "constant", "bgcolor": "rgba(0,0,0,0)"}
    return {
        "showlegend": True,
        "legend": look | {"y": 1 + gap / inside},
        "legend2": look | {"y": 1 + (gap + row * lower) / inside},
        "legend3": look | {"y": 1 + (gap + row * (lower + upper)) / inside, "tracegroupgap": 0},
        "margin": {"l": 64, "r": 18, "t": top, "b": bottom},
    }, top + inside + bottom


def map_figure(
    points: list[PointSummary],
    measure: str,
    at_most: float | None = None,
    answers: tuple[PointSummary, ...] = (),
    picked: str | None = None,
    rivals: Sequence[RivalBand] = (),
) -> Figure:
    """Every finished point, with its band; frontiers; the target as a line, answers ringed; rivals as lines.

    Parameters
    ----------
    points : list of PointSummary
        Each with the id that a click sends back.
    at_most : float, optional
        The target of the measure.
    answers : tuple of PointSummary
        Points that inverse tuning found.
    rivals : sequence of RivalBand
        Other synthesizers, which are on no frontier and cannot be picked.
    """
    percent = drawn_scale(measure)
    drawn = [p for p in points if all(finite(v) for v in p.bands[measure]) and p.epsilon > 0]
    sound = [p for p in drawn if not p.problems] or drawn
    others = shown_bands(rivals, measure)
    spent = [band.epsilon for band in others if band.epsilon is not None]
    x_axis, _ = _span([p.epsilon for p in [*drawn, *answers]] + spent)
    targets = [] if at_most is None else [percent * at_most]
    medians = [percent * p.bands[measure][1] for p in [*sound, *answers]]
    bars = [percent * p.bands[measure][2] for p in [*sound, *answers]]
    longest = 2 * max(medians, default=0.0)  # one long bar must not press all others down
    y_axis, top = _span(
        medians
        + [min(bar, longest) for bar in bars]
        + [percent * band.mean[measure] for band in others]
        + targets,
        cap=percent * (1.5 if is_relative(measure) else 1.0),
    )
    traces: list[Trace] = []
    best = frontier_points(drawn, measure)
    for i, (name, kept) in enumerate(sorted(best.items())):
        traces.append(
            scatter(
                [p.epsilon for p in kept],
                [percent * p.bands[measure][1] for p in kept],
                "lines+markers",  # the legend then shows which shape is which guarantee
                name=f"{name}: frontier",
                line={"color": TEXT, "width": 2, "dash": LINES[i % len(LINES)], "shape": "hv"},
                marker={"symbol": _symbol(kept[0]), "size": 8, "color": TEXT},
                opacity=0.8,
                legend="legend2",
            )
        )
    theirs = rival_traces(others, measure, _ends(x_axis), _ends(y_axis))
    traces = [each for each in theirs if "fill" in each] + traces + [e for e in theirs if "fill" not in e]
    order = list(dict.fromkeys(p.mechanism for p in drawn))
    for name in order:
        mine = [p for p in drawn if p.mechanism == name]
        mine.sort(key=lambda p: (bool(p.problems), p.epsilon))  # the legend has the shape of the first
        traces.append(_trace(name, mine, measure, top, picked))
    if answers:
        looks = [color(p.mechanism) for p in answers]
        traces.append(
            scatter(
                [p.epsilon for p in answers],
                [min(percent * p.bands[measure][1], top) for p in answers],
                "markers",
                ["Found by Find the settings<br>" + _hover(p, measure) for p in answers],
                name="Found by Find the settings",
                customdata=[PICK + p.id for p in answers],
                marker={"symbol": "star", "size": 17, "color": looks, "line": {"color": TEXT, "width": 1.5}},
            )
        )
    unit = f" ({measure_unit(measure)})" if measure_unit(measure) else ""
    logs = [", log scale" if a.get("type") == "log" else "" for a in (x_axis, y_axis)]
    name = measure_label(measure).replace("the distribution functions", "distributions")
    sets = in_which_sets(map(find_mechanism, order)) if order else "of one data set"
    legends, height = _legends(
        len(best), len(order) + bool(answers) + len(targets), len({band.who for band in others})
    )
    for target in targets:  # named in the legend: a label at the line lay under the dots
        line = {"color": TEXT, "width": 1.5, "dash": "dot"}
        goal = f"target {value_text(measure, target / percent)}"
        traces.append(scatter(list(_ends(x_axis)), [target, target], name=goal, line=line))
    layout: Layout = {
        "xaxis": axis(f"Privacy loss ε {sets}{logs[0]} (smaller is more private)", **x_axis),
        "yaxis": axis(f"{name}{unit}{logs[1]}", **y_axis),
        **legends,
        "hoverlabel": {"align": "left"},
    }
    for side in ("xaxis", "yaxis"):
        layout[side]["title"]["font"] = {"size": 14}
    on_frontier = {p.id for kept in best.values() for p in kept}
    rows = [
        [
            find_mechanism(p.mechanism).label,
            knobs_text(p.knobs),
            ceiling(p.epsilon, 3),
            guarantee_label(p),
            band_text(p, measure),
            "yes" if p.id in on_frontier else "",
            "no" if p.problems else "yes",
        ]
        for p in sorted(drawn, key=lambda p: (order.index(p.mechanism), p.epsilon))
    ] + rival_rows(others, measure)
    bar = (
        f"A bar holds 90 % of {drawn[0].n_predictive} synthetic data sets: of one exact fit, or of several where "
        "a release draws noise or a pilot. "
        if drawn
        else ""
    )
    said = {
        name: ", ".join(
            f"ε {epsilon_number(p.epsilon)} error {value_text(measure, p.bands[measure][1])}" for p in kept
        )
        for name, kept in best.items()
    }
    told = [f"{name}: {points}" for name, points in said.items()] + rivals_alt(others, measure)
    made = figure(
        "map",
        "Risk and utility: where the frontier lies",
        " ".join(
            filter(
                None,
                (
                    f"Lower left is better. {bar}Squares are strict, other shapes other guarantees; {FRONTIER_RULE}.",
                    at_zeros_of(drawn[0], measure) if drawn else at_zeros(measure),
                    READING if others else "",
                ),
            )
        ),
        traces,
        layout,
        table(["Mechanism", "Settings", "ε", "Guarantee", "Error", "Frontier", "Converged"], rows),
        "; ".join(told) or "No points yet.",
    )
    return made | {"height": height}
