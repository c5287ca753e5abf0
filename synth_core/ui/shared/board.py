"""Results table and figures as one component: one message, one redraw, no remount."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from synth_core.analysis.wording.headings import COLUMNS, Word
from synth_core.ui.server.http import plotly_path

HERE = Path(__file__).parent
DIGITS = 6
END = 2  # what a presentation says at its end, in the place of a step


@functools.cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "synth_board",
        html='<div class="board"></div>',
        css=_text("board.css", "presenter.css"),
        js=_text("presenter.js", "board.js"),
        isolate_styles=False,  # plotly.js puts its styles into the page
    )


def _text(*names: str) -> str:
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)


def _columns(words: Mapping[str, Word]) -> list[dict[str, Any]]:
    return [
        {"key": key, "text": word.plain, "title": word.about, "detail": word.detail}
        for key, word in words.items()
    ]


def _on_screen(value: Any) -> Any:
    """Six digits, more than a screen shows, in half the bytes; infinities, which JSON lacks, become null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _on_screen(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_on_screen(v) for v in value]
    return value


def _clicked(answer: Any) -> int | str | None:
    what = answer.get("clicked")
    return int(what) if isinstance(what, float) else what


def forget_if_unmounted() -> None:
    """Called before every run of the script: after one without the board, the browser has no picture."""
    if not st.session_state.pop("board_rendered", False):
        st.session_state.pop("board_sent", None)


@dataclass(frozen=True)
class Stage:
    """What a picture is presented with.

    Attributes
    ----------
    words : dict
        "title", "line", "name" and "note" of the scenario that is seen, the "names" of all, how many "stops" the keys
        step through, the "rule".
    step : callable
        Called with 1 or -1 when the next or the former scenario is asked for, with 0 for a setting to be played, and
        with `END` at the end of a presentation in which one of these was asked for.
    """

    words: dict[str, Any]
    step: Callable[[int], None]


def board(
    results: list[dict[str, Any]],
    figures: list[dict[str, Any]],
    version: str,
    stale: bool,
    on_click: Callable[[int | str], None] | None = None,
    dim: bool | None = None,
    stage: Stage | None = None,
    words: Mapping[str, Word] = COLUMNS,
) -> int | str | None:
    """Show the results table, if there are results, and the figures.

    A picture is sent once: while the browser has it, only its version goes out. A browser that lacks it
    after all (a message can be overtaken by the next run's) asks, and gets it.

    Parameters
    ----------
    version : str
        Changes whenever the contents do; with the same version only `stale` is applied.
    stale : bool
        A newer picture is being computed.
    on_click : callable, optional
        Called with what was clicked before the script runs, so that the run shows it already.
    dim : bool, optional
        Dim all of it, as by default a stale one; False where its rows and traces say themselves what is old.
    stage : Stage, optional
        None: it cannot be presented.
    words : mapping
        The columns of the table.

    Returns
    -------
    int, str or None
        What was just clicked: the whole number (a record, counted from 1) or the text after
        "pick:" that the clicked dot carries in its customdata.
    """

    def clicked() -> None:
        what = _clicked(st.session_state["board"])
        if what is not None and on_click is not None:
            on_click(what)

    def stepped() -> None:
        by = st.session_state["board"].get("stepped")
        if by is not None and stage is not None:
            stage.step(int(by))

    def asked() -> None:
        st.session_state.pop("board_sent", None)

    contents = (
        {}
        if st.session_state.get("board_sent") == version
        else {"results": results, "figures": figures, "columns": _columns(words)}
    )
    st.session_state["board_sent"], st.session_state["board_rendered"] = version, True
    answer = _component()(
        key="board",
        data=_on_screen(
            contents
            | {
                "version": version,
                "stale": stale,
                "dim": stale if dim is None else dim,
                "stage": None if stage is None else stage.words,
                "plotly": plotly_path(),
            }
        ),
        on_clicked_change=clicked,
        on_lacks_change=asked,
        on_stepped_change=stepped,
    )
    return _clicked(answer)
