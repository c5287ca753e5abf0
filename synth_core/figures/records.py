"""The figures of whole records: all variables together, each by itself, and pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.wording.headings import RECORD_FIGURES
from synth_core.figures.palette import color
from synth_core.figures.parts import (
    FAINT_OTHER,
    Figure,
    Layout,
    Other,
    Trace,
    axis,
    beside_once,
    figure,
    known,
    legend_above,
    opacity,
    saying_whose,
    scatter,
    shown,
    table,
)
from synth_core.figures.privacy import bounds_figure
from synth_core.system.number_text import of_the_first, over_data_sets, points_at_most, signed

PAIRS = 6  # that are shown, the worst first
MAPS = 4  # mechanisms whose cells are shown side by side
MANY_LABELS = 16  # of all maps, below which they stand further apart
MANY_MAPS = 3  # whose names have little room
ACROSS, DOWN = 24, 10  # names of categories that stand below all maps together, and beside them
LONGEST_NAME = 18  # of a category on an axis, in characters
DIVERGING = [[0.0, "#2563eb"], [0.5, "rgba(128,128,128,0.08)"], [1.0, "#d97706"]]


def record_figures(
    summaries: list[ResultSummary], labels: dict[str, str], pair: tuple[str, str], other: Other | None = None
) -> list[Figure]:
    """The four figures, in reading order; with what is seen beside the present choices, if anything is.

    Parameters
    ----------
    pair : (str, str)
        The columns whose cells are shown; of an unknown pair, those that are furthest off.
    """
    made = [
        bounds_figure(summaries, labels, other),
        variables_figure(summaries, labels, other),
        associations_figure(summaries, labels, other),
        pair_figure(summaries, labels, pair, other),
    ]
    made = [each for each in made if each["traces"] or each["key"] != "bounds"]  # noisy counts have none
    made = saying_whose(made, summaries[0], other)
    return made if other is None else [each | {"traces": beside_once(each["traces"], other)} for each in made]


@dataclass(frozen=True)
class _Seen:
    """One mechanism under one choice: `when` names the choice where there are two."""

    summary: ResultSummary
    label: str
    when: str
    faint: bool

    @property
    def words(self) -> str:
        return f"{self.label}, {self.when}" if self.when else self.label

    @property
    def look(self) -> Trace:
        """What a trace has of it."""
        name = self.summary.mechanism
        pale = FAINT_OTHER if self.faint else 1.0
        return {"opacity": pale * opacity(self.summary), **known(self.label, self.when, name)}


def _seen(summaries: list[ResultSummary], labels: dict[str, str], other: Other | None) -> list[_Seen]:
    """Each mechanism as it is now, and beside it as it was under the other choice."""
    seen = []
    for s in summaries:
        label, before = labels[s.mechanism], None if other is None else other.summaries.get(s.mechanism)
        seen.append(_Seen(s, label, "" if other is None else other.now, False))
        if other is not None and before is not None:
            seen.append(_Seen(before, label, other.name, True))
    return seen


def variables_figure(
    summaries: list[ResultSummary], labels: dict[str, str], other: Other | None = None
) -> Figure:
    """A figure of how far the distribution of each variable is off: bars side by side, one a mechanism."""
    names = [part.name for part in summaries[0].numbers.variables]
    traces, rows = [], []
    for each in _seen(summaries, labels, other):
        points = {part.name: 100 * part.ecdf_max for part in each.summary.numbers.variables}
        traces.append(
            {
                "type": "bar",
                "x": [shown(name) for name in names],
                "y": [points.get(name) for name in names],
                "marker": {"color": color(each.summary.mechanism)},
                "hovertemplate": f"{each.words}, %{{x}}: %{{y:.2f}} points<extra></extra>",
                **each.look,
            }
        )
        rows += [[name, each.words, f"{points[name]:.2f}"] for name in names if name in points]
    word = RECORD_FIGURES["variables"]
    return figure(
        "variables",
        word.plain,
        word.about,
        traces,
        {
            "xaxis": axis("Sensitive variable, in the order of synthesis"),
            "yaxis": axis("Off by (percentage points)", rangemode="tozero"),
            "barmode": "group",
            **legend_above(),
        },
        table(["Variable", "Mechanism", "Off by (points)"], rows),
        "; ".join(
            f"{labels[s.mechanism]}: at most {points_at_most(s.numbers.ecdf_max)} points"
            f"{over_data_sets(s.numbers.n_datasets)}"
            for s in summaries
        ),
    )


def _worst_first(summaries: list[ResultSummary]) -> list[tuple[str, str]]:
    """The pairs of columns, by how far their association is off in the mechanism that keeps it worst."""
    off = [{p.names: p.association for p in s.pairs} for s in summaries]
    return sorted(off[0], key=lambda pair: max(each.get(pair, 0.0) for each in off), reverse=True)


def associations_figure(
    summaries: list[ResultSummary], labels: dict[str, str], other: Other | None = None
) -> Figure:
    """The pairs of columns whose association is furthest off: a dot a mechanism, a ring where it is beside."""
    pairs = _worst_first(summaries)[:PAIRS]
    pairs.reverse()  # plotly counts from below
    names = [f"{shown(a)} and {shown(b)}" for a, b in pairs]
    traces, rows = [], []
    for each in _seen(summaries, labels, other):
        differences = {p.names: p.association for p in each.summary.pairs}
        symbol = "circle-open" if each.faint else "circle"
        traces.append(
            scatter(
                [differences.get(pair) for pair in pairs],
                list(range(len(pairs))),
                "markers",
                [
                    f"{each.words}<br>{name}: off by {differences.get(p, 0.0):.3f}"
                    for p, name in zip(pairs, names, strict=True)
                ],
                marker={"color": color(each.summary.mechanism), "size": 9, "symbol": symbol},
                **each.look,
            )
        )
        listed = [pair for pair in reversed(pairs) if pair in differences]
        rows += [[f"{a} and {b}", each.words, f"{differences[a, b]:.4f}"] for a, b in listed]
    word = RECORD_FIGURES["associations"]
    return figure(
        "associations",
        word.plain,
        word.about + of_the_first(s.numbers.n_datasets for s in summaries),
        traces,
        {
            "xaxis": axis("Association (Cramér's V) off by", rangemode="tozero"),
            "yaxis": axis(
                "", tickvals=list(range(len(pairs))), ticktext=names, range=[-0.6, len(pairs) - 0.4]
            ),
            **legend_above(),
        },
        table(["Pair", "Mechanism", "Association off by"], rows),
        f"furthest off: {names[-1]}" if names else "no pairs",
    )


def _names_in_short(names: Sequence[str], most: int) -> Layout:
    """Names of categories on an axis: long ones cut off, since they would take from its maps, and whole where one
    points; of more than `most` some, the last among them, which may be what is missing."""
    step = -(-len(names) // most)
    if step == 1 and all(len(name) <= LONGEST_NAME for name in names):
        return {}
    last = len(names) - 1
    named = [names[i] for i in range(0, len(names), step) if i + step <= last] + [names[last]]
    cut = [f"{name[: LONGEST_NAME - 1].rstrip()}…" if len(name) > LONGEST_NAME else name for name in named]
    return {
        "tickmode": "array",
        "tickvals": [shown(name) for name in named],
        "ticktext": [shown(name) for name in cut],
    }


def pair_figure(
    summaries: list[ResultSummary], labels: dict[str, str], pair: tuple[str, str], other: Other | None = None
) -> Figure:
    """Cells of two columns, a map a mechanism: synthetic minus confidential share of the records.

    What is beside has no maps: twice as many could not be read. The title says which choice is shown.
    """
    word = RECORD_FIGURES["pair"]
    usable = {p.names: p for p in summaries[0].pairs if p.confidential}
    worst = (usable[names] for names in _worst_first(summaries) if names in usable)
    chosen = usable.get(pair) or next(worst, None)
    if chosen is None:
        return figure("pair", word.plain, "Every pair has too many cells.", [], {}, table([], []), "no cells")
    names = chosen.names
    maps = [
        (each, p)
        for each in _seen(summaries, labels, None)
        for p in each.summary.pairs
        if p.names == names and p.labels == chosen.labels
    ][:MAPS]
    rows_used, columns_used = (sorted({k for _, p in maps for k in p.used[side]}) for side in (0, 1))
    maps = [(each, p.only(rows_used, columns_used)) for each, p in maps]
    off = [
        [
            [100 * (b - a) for a, b in zip(mine, theirs, strict=True)]
            for mine, theirs in zip(p.confidential, p.synthetic, strict=True)
        ]
        for _, p in maps
    ]
    reach = max([abs(v) for one in off for line in one for v in line] + [0.1])
    labels_used = maps[0][1].labels
    down, across = ([shown(v) for v in each] for each in labels_used)
    layout: Layout = {"annotations": []}
    traces, rows = [], []
    width = 1 / len(maps)
    for i, ((each, _), z) in enumerate(zip(maps, off, strict=True)):
        number, label = "" if i == 0 else str(i + 1), each.words
        traces.append(
            {
                "type": "heatmap",
                "z": z,
                "x": across,
                "y": down,
                "xaxis": f"x{number}",
                "yaxis": "y",
                "zmin": -reach,
                "zmax": reach,
                "colorscale": DIVERGING,
                "showscale": i == len(maps) - 1,
                "colorbar": {
                    "title": {"text": "points"},
                    "thickness": 10,
                    "lenmode": "pixels",  # room for three numbers, however few rows there are
                    "len": 90,
                    "tickvals": [-reach, 0, reach],
                    "tickformat": ".2g",
                },
                "xgap": 1,
                "ygap": 1,
                "hovertemplate": f"{label}<br>{shown(names[0])} %{{y}}, {shown(names[1])} %{{x}}: %{{z:+.2f}} points"
                "<extra></extra>",
                "meta": each.summary.mechanism,
            }
        )
        layout[f"xaxis{number}"] = axis(
            shown(names[1]),
            domain=[i * width + 0.01, (i + 1) * width - 0.01],
            type="category",
            **_names_in_short(labels_used[1], max(2, ACROSS // len(maps))),
            **(
                {"tickangle": -55, "tickfont": {"size": 9}}
                if len(maps) * len(across) > MANY_LABELS
                else {"tickangle": -35}
            ),
        )
        layout["annotations"].append(
            {
                "text": label if len(maps) < MANY_MAPS else label.replace(" ", "<br>"),
                **({} if len(maps) < MANY_MAPS else {"font": {"size": 10}}),
                "x": (i + 0.5) * width,
                "y": 1.0,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",  # else a name in an outer third begins or ends at the middle of its map
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
        rows += [
            [a, b, label, signed(z[k][m], 2)]
            for k, a in enumerate(labels_used[0])
            for m, b in enumerate(labels_used[1])
        ]
    layout["yaxis"] = axis(shown(names[0]), type="category", **_names_in_short(labels_used[0], DOWN))
    return figure(
        "pair",
        f"{word.plain}: {names[0]} and {names[1]}" + ("" if other is None else f", {other.now}"),
        word.about + of_the_first(s.numbers.n_datasets for s in summaries),
        traces,
        layout | {"margin": {"l": 56, "r": 14, "t": 34, "b": 40}},
        table([names[0], names[1], "Mechanism", "Synthetic minus confidential (points)"], rows),
        f"largest difference {reach:.1f} points",
    )
