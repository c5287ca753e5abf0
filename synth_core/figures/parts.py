"""Pieces that the figures share: axes, violins, tables, and the frame of a figure.

Figures are plotly figures in plain dictionaries. Colours that depend on the theme are left
to the browser: "@text" marks the text colour, "@faint" a band behind the data. Every figure
says in one sentence how to read it, carries the table behind it and is tagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from synth_core.analysis.summary import Density, ResultSummary
from synth_core.analysis.utility import statistic_words
from synth_core.analysis.wording.headings import FIGURES
from synth_core.figures.palette import transparent
from synth_core.system.characters import isolated, sentence

Figure = dict[str, Any]  # with its title, reading and table
Trace = dict[str, Any]  # of a plotly figure
Layout = dict[str, Any]  # of a plotly figure, or a part of it
Grid = dict[str, list[Any]]  # a table: "columns" and "rows"

OF_PRIVACY = ("bounds", "weights")  # figures that compare no values
MANY_MECHANISMS = 6  # beyond them, a legend instead of names on an axis
FAINT_TRACE = 0.3  # opacity of what has not converged, or is older than the choices
FAINT_OTHER = 0.5  # and of what is seen beside


@dataclass(frozen=True)
class Other:
    """What is seen beside the present choices.

    Attributes
    ----------
    name, now : str
        Of that choice, and of the present one, as the legend says them.
    summaries : dict
        Its summaries by mechanism.
    """

    name: str
    now: str
    summaries: Mapping[str, ResultSummary]


def opacity(summary: ResultSummary) -> float:
    """Faint where the numbers are not for use, or of older choices."""
    return FAINT_TRACE if summary.numbers.problems or summary.old else 1.0


def known(label: str, when: str, mechanism: str, legend: bool = True) -> Trace:
    """What names a trace: in the legend, and for the browser that lifts a mechanism out (`meta`)."""
    return {"name": f"{label}, {when}" if when else label, "meta": mechanism, "showlegend": legend}


def legend_layout(n_mechanisms: int, other: Other | None) -> Layout:
    """A legend beside the panel where there are many mechanisms, or two choices of each."""
    if n_mechanisms <= MANY_MECHANISMS and other is None:
        return {}
    legend = {"x": 1.01, "xanchor": "left", "y": 1, "yanchor": "top", "tracegroupgap": 0}
    return {"showlegend": True, "legend": legend | {"font": {"size": 12}, "bgcolor": "rgba(0,0,0,0)"}}


def beside_once(traces: list[Trace], other: Other) -> list[Trace]:
    """Traces whose comparison has one line of the legend: a line for each mechanism twice had no room."""
    now = {t["meta"] for t in traces if t.get("showlegend") and t.get("name", "").endswith(f", {other.now}")}

    def said(t: Trace) -> bool:
        return bool(t.get("showlegend")) and t["name"].endswith(f", {other.name}") and t.get("meta") in now

    if not any(map(said, traces)):
        return traces
    line = {"color": TEXT, "width": 1.5, "dash": "dot"}
    entry = scatter([None], [None], "lines", name=f"{other.name}, paler", showlegend=True, line=line)
    return [t | {"showlegend": False} if said(t) else t for t in traces] + [entry | {"opacity": FAINT_OTHER}]


def legend_above() -> Layout:
    """A legend in one line above the panel."""
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
    return {"showlegend": True, "legend": legend}


INTERNAL = "internal"
TEXT, FAINT = "@text", "@faint"


def shown(text: str) -> str:
    """A name from a table for plotly's texts, which read some HTML; headings and tables take it as it is."""
    return escape(isolated(text))


def statistic_label(name: str) -> str:
    """A statistic's key in words, as a heading."""
    words = statistic_words(name)
    return sentence(words)


def axis(title: str, **more: Any) -> Layout:
    return {"title": {"text": title, "standoff": 6}, "zeroline": False, "automargin": True} | more


def distribution_axes(at: list[float], outcome: str) -> Layout:
    """The layout of distribution functions, evaluated at ascending values; a long right tail is logarithmic."""
    layout: Layout = {
        "xaxis": axis(f"{shown(outcome)} (the table's unit)"),
        "yaxis": axis("Share of records at or below", range=[-0.02, 1.03]),
        "showlegend": True,
        "legend": {"x": 0.98, "xanchor": "right", "y": 0.06, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
    }
    if at[0] > 0 and at[-1] > 20 * at[len(at) // 2]:
        layout["xaxis"]["type"] = "log"
        layout["xaxis"]["title"]["text"] += ", logarithmic"
        layout["legend"] |= {"x": 0.02, "xanchor": "left", "y": 0.98, "yanchor": "top"}
    return layout


def worded(key: str) -> tuple[str, str, str]:
    """Key, title and reading of a figure, from the list of words."""
    return key, FIGURES[key].plain, FIGURES[key].about


def figure(
    key: str,
    title: str,
    reading: str,
    traces: list[Trace],
    layout: Layout,
    table: Grid,
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


def saying_whose(figures: list[Figure], summary: ResultSummary, other: Other | None = None) -> list[Figure]:
    """Figures of accuracy that say whether it is of the sample or of the population; those of privacy as they are.

    What is seen beside may be of the other one.
    """
    words = _whose(summary)
    beside = "" if other is None else next(map(_whose, other.summaries.values()), "")
    if other is not None and beside != words:
        words = " ".join(
            f"{name}: {said}" for name, said in ((other.now, words), (other.name, beside)) if said
        )
    return [
        each | {"reading": f"{each['reading']} {words}"} if words and each["key"] not in OF_PRIVACY else each
        for each in figures
    ]


def saying_unit(figures: list[Figure], unit: str | None) -> list[Figure]:
    """Figures of which that of the bounds says whose they are, where a unit has several records."""
    words = f" A record has the bound of its whole unit, '{unit}'."
    return [
        each | {"reading": each["reading"] + words} if unit is not None and each["key"] == "bounds" else each
        for each in figures
    ]


def _whose(summary: ResultSummary) -> str:
    return summary.numbers.whose_accuracy


def scatter(
    x: list[Any], y: list[Any], mode: str = "lines", hover: str | list[str] | None = None, **more: Any
) -> Trace:
    """A trace of lines or markers; `hover` is what the pointer shows, one for all or one a point."""
    end = "<extra></extra>"
    shown: Trace = {"hoverinfo": "skip"}
    if hover is not None:
        shown = {"hovertemplate": hover + end if isinstance(hover, str) else [each + end for each in hover]}
    return {"type": "scatter", "mode": mode, "x": x, "y": y} | shown | more


def area(x: list[Any], y: list[Any], **more: Any) -> Trace:
    """A filled outline behind the data, without a line or a hover."""
    return scatter(x, y, fill="toself", fillcolor=FAINT, line={"width": 0, "color": FAINT}, **more)


def violin(
    position: float,
    density: Density,
    color: str,
    hover: str,
    half_width: float = 0.38,
    **more: Any,
) -> Trace:
    """An outline of a density; `more` is of the trace: axes, a name, an opacity."""
    at, height = density.at, density.height
    if len(at) == 1:  # one value only: a bar
        at, height = [at[0], at[0]], [1.0, 1.0]
    right = [position + half_width * h for h in height]
    left = [position - half_width * h for h in height]
    look: Trace = {
        "fillcolor": transparent(color, 0.35),
        "line": {"color": color, "width": 1.5},
        "hoveron": "fills",
        "text": hover,
        "hoverinfo": "text",
    }
    return scatter(right + left[::-1], at + at[::-1], fill="toself", **look | more)


def table(columns: list[str], rows: list[list[Any]]) -> Grid:
    return {"columns": columns, "rows": rows}


def names_axis(names: list[str], upright: int = 3) -> Layout:
    """A horizontal axis with one mechanism a place; more names than `upright` are slanted, many are in a legend."""
    return {
        "tickvals": list(range(len(names))) if len(names) <= MANY_MECHANISMS else [],
        "ticktext": names if len(names) <= MANY_MECHANISMS else [],
        "range": [-0.6, len(names) - 0.4],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "tickangle": 0 if len(names) <= upright else -35,
    }
