"""Controls that the pages share: each stores its value among the browser's choices."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.ui import session


def slider_with_number(
    label: str, name: str, bounds: tuple[float, float], step: float, help: str, index: int | None = None
) -> None:
    """A slider and a number box for the same choice, side by side.

    `index` picks one element of a choice that is a list.
    """
    stored = session.current().choices[name]
    value = float(stored if index is None else stored[index])
    bounds = (min(bounds[0], value), max(bounds[1], value))  # a point of the map may lie outside
    key = name if index is None else f"{name}_{index}"
    slider, number = f"choice_{key}_slider", f"choice_{key}_number"
    for widget in (slider, number):
        st.session_state.setdefault(widget, value)
    left, right = st.columns([5, 3], vertical_alignment="bottom", gap="small")
    left.slider(label, *bounds, step=step, key=slider, help=help,
                on_change=session.choose, args=(name, slider, number), kwargs={"index": index})  # fmt: skip
    right.number_input(f"{label}, as a number", *bounds, None, step=step, key=number, format="%.2f",
                       label_visibility="collapsed", on_change=session.choose,
                       args=(name, number, slider), kwargs={"index": index})  # fmt: skip


def whole_number(label: str, name: str, bounds: tuple[int, int], step: int, help: str = "") -> None:
    """A box for a whole number."""
    key = f"choice_{name}"
    st.session_state.setdefault(key, int(session.current().choices[name]))
    st.number_input(label, *map(int, bounds), None, step=step, key=key, help=help or None,
                    on_change=session.choose, args=(name, key))  # fmt: skip


def amount(
    label: str,
    name: str,
    help: str,
    lower: float | None = None,
    upper: float | None = None,
    disabled: bool = False,
) -> None:
    """A box for a number, between `lower` and `upper` where they are given."""
    key = f"choice_{name}"
    st.session_state.setdefault(key, float(session.current().choices[name]))
    st.number_input(label, lower, upper, None, key=key, format="%g", help=help, disabled=disabled,
                    on_change=session.choose, args=(name, key))  # fmt: skip


def switch(label: str, name: str, help: str) -> None:
    """A yes or no."""
    key = f"choice_{name}"
    st.session_state.setdefault(key, bool(session.current().choices[name]))
    st.toggle(label, key=key, help=help, on_change=session.choose, args=(name, key))


def pick(widget: str, label: str, name: str, options: list[Any], **more: Any) -> None:
    """A selectbox, multiselect or segmented control; stored values that are no option are dropped."""
    key = f"choice_{name}"
    stored = st.session_state.get(key, session.current().choices[name])
    if isinstance(stored, list | tuple):
        kept = [value for value in stored if value in options]
    else:
        kept = stored if stored in options else options[0]
    if kept != session.current().choices[name]:
        session.current().choices[name] = kept
    if (
        key not in st.session_state or st.session_state[key] != kept
    ):  # written without need, it would undo a click under way
        st.session_state[key] = kept
    getattr(st, widget)(label, options, key=key, on_change=session.choose, args=(name, key), **more)


def number(
    label: str,
    name: str,
    bounds: tuple[float, float],
    step: float,
    index: int | None = None,
    format: str | None = None,
    help: str = "",
) -> None:
    """A number box; whole numbers where the step is one. `index` picks an element of a list."""
    stored = session.current().choices[name]
    key = f"choice_{name}" if index is None else f"choice_{name}_{index}"
    kind = int if isinstance(step, int) else float
    st.session_state.setdefault(key, kind(stored if index is None else stored[index]))
    st.number_input(label, kind(bounds[0]), kind(bounds[1]), step=step, key=key, format=format,
                    help=help or None, on_change=session.choose, args=(name, key), kwargs={"index": index})  # fmt: skip
