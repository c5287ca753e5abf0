"""A briefing as one HTML file: no network, a page at a time, arrow keys step, type grows with the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import plotly
from markupsafe import Markup

from synth_core.figures.briefing.content import Page
from synth_core.figures.parts import FAINT, TEXT

_TEMPLATE = Path(__file__).with_name("page.html")
_COLOURS = {TEXT: "#1b2430", FAINT: "rgba(27,36,48,0.12)"}  # the file has one theme: it is printed, too


def web_page(pages: list[Page]) -> bytes:
    """The pages as one file.

    Returns
    -------
    bytes
        UTF-8 HTML; 5 MB where a page has a figure, since plotly.js is in it.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    figures = {
        f"figure-{number}": {
            "data": _coloured(page.figure["traces"]),
            "layout": _coloured(page.figure["layout"]),
        }
        for number, page in enumerate(pages, start=1)
        if page.figure
    }
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    text = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        pages=pages,
        figures=_as_script(figures),
        plotly=Markup(script.read_text(encoding="utf-8")) if figures else "",
    )
    return text.encode()


def _as_script(value: Any) -> Markup:
    """JSON that no text in it can end early."""
    text = json.dumps(value, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _coloured(value: Any) -> Any:
    """A part of a figure with the colours that the screen leaves to its theme."""
    if isinstance(value, dict):
        return {key: _coloured(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_coloured(each) for each in value]
    if isinstance(value, float) and value != value:
        return None
    return _COLOURS.get(value, value) if isinstance(value, str) else value
