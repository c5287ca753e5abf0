"""Controls that the pages share: each shows a choice, and stores it where it stands.

A place names it: "settings.scale", "settings.range.0", "explore.percent", "mechanisms".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st

from synth_core.ui.state import session
from synth_core.ui.state.choices import value_at

Bounds = tuple[float | None, float | None]


def key_of(place: str) -> str:
    """The key of the widget that shows a choice."""
    return session.WIDGET + place


def slider_with_number(label: str, place: str, bounds: tuple[float, float], step: float, help: str) -> None:
    """A slider and a number box for the same choice, side by side."""
    value = float(value_at(session.choices(), place))
    lower, upper = min(bounds[0], value), max(bounds[1], value)  # a point of the map may lie outside
    slider, box = key_of(place) + "_slider", key_of(place) + "_number"
    for widget in (slider, box):
        st.session_state.setdefault(widget, value)
    left, right = st.columns([5, 3], vertical_alignment="bottom", gap="small")
    left.slider(
        label,
        lower,
        upper,
        step=step,
        key=slider,
        help=help,
        on_change=session.choose,
        args=(place, slider, box),
    )
    right.number_input(
        f"{label}, as a number",
        lower,
        upper,
        None,
        step=step,
        key=box,
        format="%.2f",
        label_visibility="collapsed",
        on_change=session.choose,
        args=(place, box, slider),
    )


def number(
    label: str,
    place: str,
    bounds: Bounds = (None, None),
    step: float | None = None,
    help: str = "",
    format: str | None = None,
    placeholder: str | None = None,
    disabled: bool = False,
) -> None:
    """A number box; of whole numbers where the step is one."""
    key, stored = key_of(place), value_at(session.choices(), place)
    kind: Callable[[float], float] = int if isinstance(step, int) else float
    lower, upper = (None if bound is None else kind(bound) for bound in bounds)
    st.session_state.setdefault(key, None if stored is None else kind(stored))
    st.number_input(
        label,
        lower,
        upper,
        None,
        step=step,
        key=key,
        format=format or (None if isinstance(step, int) else "%g"),
        help=help or None,
        placeholder=placeholder,
        disabled=disabled,
        on_change=session.choose,
        args=(place, key),
    )


def switch(label: str, place: str, help: str) -> None:
    """A yes or no."""
    key = key_of(place)
    st.session_state.setdefault(key, bool(value_at(session.choices(), place)))
    st.toggle(label, key=key, help=help, on_change=session.choose, args=(place, key))


def pick(
    widget: Literal["selectbox", "multiselect", "pills"],
    label: str,
    place: str,
    options: Sequence[Any],
    **more: Any,
) -> None:
    """A choice of one or of several; stored values that are no option any more are dropped."""
    key, chosen = key_of(place), value_at(session.choices(), place)
    shown = st.session_state.get(key, chosen)
    kept: Any
    if isinstance(chosen, tuple):
        kept = [value for value in shown if value in options]
    else:
        kept = shown if shown in options else options[0]
    if kept != (list(chosen) if isinstance(chosen, tuple) else chosen):
        session.put(place, kept, undoable=False)
    if key not in st.session_state or st.session_state[key] != kept:
        st.session_state[key] = kept  # written without need, it would undo a click under way
    getattr(st, widget)(label, options, key=key, on_change=session.choose, args=(place, key), **more)
