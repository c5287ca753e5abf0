"""Pieces that the figures share: axes, violins, tables, and the frame of a figure.

Figures are plotly figures in plain dictionaries. Colours that depend on the theme are left
to the browser: "@text" marks the text colour, "@faint" a band behind the data. Every figure
says in one sentence how to read it, carries the table behind it and is tagged.
"""

from __future__ import annotations

from typing import Any

from synth_core.figures.palette import transparent

Summary = dict[str, Any]
Figure = dict[str, Any]

INTERNAL = "internal"
TEXT, FAINT = "@text", "@faint"
STATISTIC_LABELS = {"mean": "Mean", "median": "Median"}


def statistic_label(name: str) -> str:
    """A statistic's key in words."""
    return STATISTIC_LABELS.get(name) or f"{name.removeprefix('q')}th percentile"


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 6}, "zeroline": False, "automargin": True} | more


def figure(
    key: str,
    title: str,
    reading: str,
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
    table: dict[str, Any],
    alt: str,
) -> Figure:
    base = {
        "margin": {"l": 56, "r": 14, "t": 8, "b": 40},
        "showlegend": False,
        "uirevision": key,
        "hovermode": "closest",
    }
    return {
        "key": key,
        "title": title,
        "reading": reading,
        "tag": INTERNAL,
        "traces": traces,
        "layout": base | layout,
        "table": table,
        "alt": alt,
    }


def violin(
    position: float,
    density: dict[str, list[float]],
    color: str,
    hover: str,
    half_width: float = 0.38,
    **axes: str,
) -> dict[str, Any]:
    at, height = density["at"], density["height"]
    if len(at) == 1:  # one value only: a bar
        at, height = [at[0], at[0]], [1.0, 1.0]
    right = [position + half_width * h for h in height]
    left = [position - half_width * h for h in height]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": right + left[::-1],
        "y": at + at[::-1],
        "fill": "toself",
        "fillcolor": transparent(color, 0.35),
        "hoveron": "fills",
        "text": hover,
        "hoverinfo": "text",
        "line": {"color": color, "width": 1.5},
    } | axes


def table(columns: list[str], rows: list[list[Any]]) -> dict[str, Any]:
    return {"columns": columns, "rows": rows}


def names_axis(names: list[str], upright: int = 3) -> dict[str, Any]:
    """A horizontal axis with one mechanism a place; more names than `upright` are slanted."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": names,
        "range": [-0.6, len(names) - 0.4],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "tickangle": 0 if len(names) <= upright else -35,
    }
