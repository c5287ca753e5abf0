"""What Compare shows of whole records: a results table with a row for each variable, and four figures."""

from __future__ import annotations

from typing import Any

from synth_core.analysis.anchored import clamped_warning
from synth_core.analysis.wording.headings import RECORD_FIGURES
from synth_core.figures.compare import (
    cell,
    epsilon_text,
    has_not_converged,
    mark_best,
    missing_rows,
    row_head,
)
from synth_core.figures.palette import color
from synth_core.figures.parts import (
    Figure,
    Summary,
    axis,
    figure,
    known,
    legend_above,
    opacity,
    scatter,
    shown,
    table,
)
from synth_core.figures.privacy import bounds_figure

PAIRS = 12  # that are shown, the worst first
MAPS = 4  # mechanisms whose cells are shown side by side
DIVERGING = [[0.0, "#2563eb"], [0.5, "rgba(128,128,128,0.08)"], [1.0, "#d97706"]]


def record_results(
    summaries: list[Summary], labels: dict[str, str], missing: dict[str, str]
) -> list[dict[str, Any]]:
    """One row a mechanism, with a row for each of its variables beneath."""
    rows = []
    for s in summaries:
        measures = s["measures"]
        worst = max(s["parts"], key=lambda part: part["distance"])
        rows.append(
            row_head(s, labels)
            | {
                "guarantee": s["guarantee"],
                "sentence": s["sentence"],
                "verdict": None,
                "hints": _hints(s),
                "parts": [_part(part) for part in s["parts"]],
                "cells": {
                    "epsilon": cell(epsilon_text(s), s["epsilon"]),
                    "sample": cell(f"{100 * measures['sample_share']:.1f} %", -measures["sample_share"]),
                    "gap": cell(f"{100 * worst['distance']:.1f} points ({worst['name']})", worst["distance"]),
                    "associations": cell(f"{measures['association']:.3f}", measures["association"]),
                    "pmse": cell(f"{measures['pmse_ratio']:.1f}", measures["pmse_ratio"]),
                    "k_marginal": cell(f"{measures['k_marginal']:.0f}", -measures["k_marginal"]),
                    "delta": cell(f"{s['lipschitz_bound']:.2f}", s["lipschitz_bound"]),
                },
            }
        )
    mark_best([row for row, s in zip(rows, summaries, strict=True) if not s["problems"]])
    return rows + missing_rows(missing, labels)


def _hints(s: Summary) -> list[str]:
    """Why the numbers of a mechanism should be doubted, in words."""
    hints = [has_not_converged(s["problems"])] if s["problems"] else []
    for part in s["parts"]:
        warning = clamped_warning(part["n_censored"], part["n_records"]) if part["anchor"] else ""
        if warning:
            hints.append(f"{part['name']}: {warning}.")
    return hints


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": part["name"],
        "cells": {
            "epsilon": f"{part['epsilon']:.2f}",
            "gap": f"{100 * part['distance']:.1f} points",
            "delta": f"{part['lipschitz_bound']:.2f}",
        },
    }


def record_figures(summaries: list[Summary], labels: dict[str, str], pair: tuple[str, str]) -> list[Figure]:
    """The four figures, in reading order.

    Parameters
    ----------
    pair : (str, str)
        The columns whose cells are shown; of an unknown pair, those that are furthest off.
    """
    return [
        bounds_figure([s | {"privacy": {"bounds": s["bounds"]}} for s in summaries], labels, inspected=False),
        variables_figure(summaries, labels),
        associations_figure(summaries, labels),
        pair_figure(summaries, labels, pair),
    ]


def variables_figure(summaries: list[Summary], labels: dict[str, str]) -> Figure:
    """A figure of how far the distribution of each variable is off: bars side by side, one a mechanism."""
    names = [part["name"] for part in summaries[0]["parts"]]
    traces, rows = [], []
    for s in summaries:
        points = {part["name"]: 100 * part["distance"] for part in s["parts"]}
        label = labels[s["mechanism"]]
        traces.append(
            {
                "type": "bar",
                "x": [shown(name) for name in names],
                "y": [points.get(name) for name in names],
                "marker": {"color": color(s["mechanism"])},
                "opacity": opacity(s),
                "hovertemplate": f"{label}, %{{x}}: %{{y:.2f}} points<extra></extra>",
                **known(label, "", s["mechanism"]),
            }
        )
        rows += [[name, label, f"{points[name]:.2f}"] for name in names if name in points]
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
            f"{labels[s['mechanism']]}: at most {max(100 * p['distance'] for p in s['parts']):.1f} points"
            for s in summaries
        ),
    )


def associations_figure(summaries: list[Summary], labels: dict[str, str]) -> Figure:
    """The pairs of columns whose association is furthest off: a dot a mechanism."""
    off = [{tuple(p["names"]): p["association"] for p in s["pairs"]} for s in summaries]
    pairs = sorted(
        off[0], key=lambda pair: max((each.get(pair, 0.0) for each in off), default=0.0), reverse=True
    )[:PAIRS]
    pairs.reverse()  # plotly counts from below
    names = [f"{shown(a)} and {shown(b)}" for a, b in pairs]
    traces, rows = [], []
    for s, differences in zip(summaries, off, strict=True):
        label = labels[s["mechanism"]]
        traces.append(
            scatter(
                [differences.get(pair) for pair in pairs],
                list(range(len(pairs))),
                "markers",
                [
                    f"{label}<br>{name}: off by {differences.get(p, 0.0):.3f}"
                    for p, name in zip(pairs, names, strict=True)
                ],
                marker={"color": color(s["mechanism"]), "size": 9},
                opacity=opacity(s),
                **known(label, "", s["mechanism"]),
            )
        )
        listed = [pair for pair in reversed(pairs) if pair in differences]
        rows += [[f"{a} and {b}", label, f"{differences[a, b]:.4f}"] for a, b in listed]
    word = RECORD_FIGURES["associations"]
    return figure(
        "associations",
        word.plain,
        word.about,
        traces,
        {
            "xaxis": axis("Association (Cramér's V) off by", rangemode="tozero"),
            "yaxis": axis("", tickvals=list(range(len(pairs))), ticktext=names),
            **legend_above(),
        },
        table(["Pair", "Mechanism", "Association off by"], rows),
        f"furthest off: {names[-1]}" if names else "no pairs",
    )


def pair_figure(summaries: list[Summary], labels: dict[str, str], pair: tuple[str, str]) -> Figure:
    """Cells of two columns, a map a mechanism: synthetic minus confidential share of the records."""
    word = RECORD_FIGURES["pair"]
    usable = [p for p in summaries[0]["pairs"] if p["confidential"] is not None]
    chosen = next((p for p in usable if tuple(p["names"]) == pair), None) or max(
        usable, key=lambda p: p["association"], default=None
    )
    if chosen is None:
        return figure("pair", word.plain, "Every pair has too many cells.", [], {}, table([], []), "no cells")
    names = tuple(chosen["names"])
    maps = [(s, next((p for p in s["pairs"] if tuple(p["names"]) == names), None)) for s in summaries]
    maps = [(s, p) for s, p in maps if p is not None and p["labels"] == chosen["labels"]][:MAPS]
    off = [
        [
            [100 * (b - a) for a, b in zip(mine, theirs, strict=True)]
            for mine, theirs in zip(p["confidential"], p["synthetic"], strict=True)
        ]
        for _, p in maps
        if p is not None
    ]
    reach = max([abs(v) for one in off for line in one for v in line] + [0.1])
    down, across = ([shown(v) for v in each] for each in chosen["labels"])
    layout: dict[str, Any] = {"annotations": []}
    traces, rows = [], []
    width = 1 / len(maps)
    for i, ((s, _), z) in enumerate(zip(maps, off, strict=True)):
        number = "" if i == 0 else str(i + 1)
        label = labels[s["mechanism"]]
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
                "colorbar": {"title": {"text": "points"}, "thickness": 10, "len": 0.9},
                "xgap": 1,
                "ygap": 1,
                "hovertemplate": f"{label}<br>{shown(names[0])} %{{y}}, {shown(names[1])} %{{x}}: %{{z:+.2f}} points"
                "<extra></extra>",
                "meta": s["mechanism"],
            }
        )
        layout[f"xaxis{number}"] = axis(
            shown(names[1]), domain=[i * width + 0.01, (i + 1) * width - 0.01], type="category", tickangle=-35
        )
        layout["annotations"].append(
            {
                "text": label,
                "x": (i + 0.5) * width,
                "y": 1.0,
                "xref": "paper",
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
        rows += [
            [a, b, label, f"{z[k][m]:+.2f}"]
            for k, a in enumerate(chosen["labels"][0])
            for m, b in enumerate(chosen["labels"][1])
        ]
    layout["yaxis"] = axis(shown(names[0]), type="category")
    return figure(
        "pair",
        f"{word.plain}: {names[0]} and {names[1]}",
        word.about,
        traces,
        layout | {"margin": {"l": 56, "r": 14, "t": 26, "b": 40}},
        table([names[0], names[1], "Mechanism", "Synthetic minus confidential (points)"], rows),
        f"largest difference {reach:.1f} points",
    )
