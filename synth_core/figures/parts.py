"""Pieces that the figures share: axes, violins, tables, and the frame of a figure.

Figures are plotly figures in plain dictionaries. Colours that depend on the theme are left
to the browser: "@text" marks the text colour, "@faint" a band behind the data. Every figure
says in one sentence how to read it, carries the table behind it and is tagged.
"""

from __future__ import annotations

from html import escape
from typing import Any

from synth_core.analysis.utility import statistic_words
from synth_core.figures.palette import transparent

Summary = dict[str, Any]
Figure = dict[str, Any]

INTERNAL = "internal"
TEXT, FAINT = "@text", "@faint"


def statistic_label(name: str) -> str:
    """A statistic's key in words, as a heading."""
    words = statistic_words(name)
    return words[0].upper() + words[1:]


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title, "standoff": 6}, "zeroline": False, "automargin": True} | more


def distribution_axes(at: list[float], outcome: str) -> dict[str, Any]:
    """The layout of distribution functions, evaluated at ascending values; a long right tail is logarithmic."""
    layout: dict[str, Any] = {
        "xaxis": axis(f"{escape(outcome)} (the table's unit)"),
        "yaxis": axis("Share of records at or below", range=[-0.02, 1.03]),
        "showlegend": True,
        "legend": {"x": 0.98, "xanchor": "right", "y": 0.06, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
    }
    if at[0] > 0 and at[-1] > 20 * at[len(at) // 2]:
        layout["xaxis"]["type"] = "log"
        layout["xaxis"]["title"]["text"] += ", logarithmic"
        layout["legend"] |= {"x": 0.02, "xanchor": "left", "y": 0.98, "yanchor": "top"}
    return layout


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


def scatter(
    x: list[Any], y: list[Any], mode: str = "lines", hover: str | list[str] | None = None, **more: Any
) -> dict[str, Any]:
    """A trace of lines or markers; `hover` is what the pointer shows, one for all or one a point."""
    end = "<extra></extra>"
    shown: dict[str, Any] = {"hoverinfo": "skip"}
    if hover is not None:
        shown = {"hovertemplate": hover + end if isinstance(hover, str) else [each + end for each in hover]}
    return {"type": "scatter", "mode": mode, "x": x, "y": y} | shown | more


def area(x: list[Any], y: list[Any], **more: Any) -> dict[str, Any]:
    """A filled outline behind the data, without a line or a hover."""
    return scatter(x, y, fill="toself", fillcolor=FAINT, line={"width": 0, "color": FAINT}, **more)


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
    return scatter(
        right + left[::-1],
        at + at[::-1],
        fill="toself",
        fillcolor=transparent(color, 0.35),
        hoveron="fills",
        text=hover,
        hoverinfo="text",
        line={"color": color, "width": 1.5},
        **axes,
    )


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
