"""Controls that the pages share: each shows a choice, and stores it where it stands.

A place names it: "settings.scale", "settings.range.0", "explore.percent", "mechanisms".
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st

from synth_core.ui.state import session
from synth_core.ui.state.choices import may_be_none, value_at

Bounds = tuple[float | None, float | None]
REFUSED = "_refused"  # behind the key of a box: what is said under it
LAST = "_last"  # behind the key of a box of the page itself: its last number that was taken
RESENT_SECONDS = 5.0
TWINS = ("slider", "number")
SMALL = 1e-9  # a lower bound below it means: above 0


def key_of(place: str) -> str:
    """The key of the widget that shows a choice."""
    return session.widget_key(place)


def _give(widget: str, value: Any) -> Any:
    """Let a widget show a stored value, if it has none; return it, as the widget's default.

    Streamlit sends what the session sets once, and throws away what is not yet sent when the next run starts. A browser
    that never got it shows the default: an empty widget's next message would make that the choice.
    """
    st.session_state.setdefault(widget, value)
    return value


def _give_often(box: str, value: Any) -> None:
    """Let a box that may be emptied show a stored value, if it has none: without a default, which would come back.

    It goes out again with the runs of the next seconds; later it would undo a click under way.
    """
    given, now = st.session_state.setdefault("given", {}), time.monotonic()
    if box not in st.session_state:
        given[box] = now
    elif st.session_state[box] != value or now - given.get(box, -math.inf) > RESENT_SECONDS:
        return
    st.session_state[box] = value


def slider_with_number(label: str, place: str, bounds: tuple[float, float], step: float, help: str) -> None:
    """A slider and a number box for the same choice, side by side."""
    value = float(value_at(session.choices(), place))
    lower, upper = min(bounds[0], value), max(bounds[1], value)  # a point of the map may lie outside
    slider, box = (session.widget_key(place, twin) for twin in TWINS)
    form = _digits(value)
    left, right = st.columns([5, 3], vertical_alignment="bottom", gap="small")
    left.slider(
        label,
        lower,
        upper,
        _give(slider, value),
        step=step,
        format=form,
        key=slider,
        help=help,
        on_change=session.choose,
        args=(place, slider, *TWINS),
    )
    right.number_input(
        f"{label}, as a number",
        None,
        None,
        _give(box, value),
        step=step,
        key=box,
        format=form,
        label_visibility="collapsed",
        on_change=_choose_within,
        args=(place, (lower, upper), box, *reversed(TWINS)),
    )
    say_refusal(box)


def _digits(value: float) -> str:
    """A format with two decimals, and with more where the value has them: what is shown is what counts."""
    return f"%.{max(2, len(f'{value:.6f}'.rstrip('0').partition('.')[2]))}f"


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
    """A number box; of whole numbers where the step is one.

    The browser is given no bounds: it would leave a number outside them in the box, in red, and say nothing of it. Such
    a number is refused here, with the rule, and the last one that was taken comes back.
    """
    key, stored = key_of(place), value_at(session.choices(), place)
    kind: Callable[[float], float] = int if isinstance(step, int) else float
    lower, upper = (None if bound is None else kind(bound) for bound in bounds)
    default = None if stored is None else kind(stored)
    if may_be_none(place):
        _give_often(key, default)
        default = None
    else:
        _give(key, default)
    if (held := st.session_state[key]) is not None:  # of a preset or an example: as it is, not refused
        lower, upper = (
            None if lower is None else min(lower, kind(held)),
            None if upper is None else max(upper, kind(held)),
        )
    st.number_input(
        label,
        None,
        None,
        default,
        step=step,
        key=key,
        format=format or (None if isinstance(step, int) else "%g"),
        help=help or None,
        placeholder=placeholder,
        disabled=disabled,
        on_change=_choose_within,
        args=(place, (lower, upper), key),
    )
    say_refusal(key)


def own_number(
    label: str,
    bounds: Bounds,
    value: float | None,
    step: float,
    key: str,
    at: Any = st,
    **more: Any,
) -> Any:
    """A number box of a page itself, which shows no choice of the browser's: its number.

    Parameters
    ----------
    value
        To start from, and where the box is cleared; None: it may be empty, and is at first.
    at
        The column or container that holds it.
    """
    # The value is the box's default: one in a closed panel does not hear of what the session sets.
    given = at.number_input(
        label,
        None,
        None,
        value,
        step=step,
        key=key,
        on_change=_keep_within,
        args=(key, bounds),
        **more,
    )
    st.session_state[key + LAST] = given
    say_refusal(key, at)
    return given


def number_or_none(
    label: str,
    place: str,
    value: float | None,
    bounds: Bounds,
    placeholder: str,
    take: Callable[[float | None], None],
    help: str | None = None,
    at: Any = st,
) -> None:
    """A number, or none, which `take` gets. It is a box of text: one of numbers, emptied, shows its default.

    What is stored is given as the value and names the box: a box in a closed panel does not hear of a value that the
    session sets, and would show an empty one.
    """
    times = st.session_state.get(place, 0)
    key = f"{place} {value} {times}"

    def changed() -> None:
        text = st.session_state.get(key, "").strip()
        try:
            given = float(text) if text else None
        except ValueError:
            given = math.nan
        if refuse(place, given, bounds, value, text):
            st.session_state[place] = times + 1  # another box, which shows what stays
        else:
            take(given)

    shown = "" if value is None else f"{value:.12g}"
    at.text_input(label, shown, key=key, help=help, placeholder=placeholder, on_change=changed)
    say_refusal(place, at)


def _keep_within(box: str, bounds: Bounds) -> None:
    """Widget callback: bring the last number back where the one that was typed lies outside the bounds."""
    last = st.session_state.get(box + LAST)
    if refuse(box, st.session_state.get(box), bounds, last):
        st.session_state[box] = last


def _choose_within(place: str, bounds: Bounds, box: str, twin: str = "", other: str = "") -> None:
    """Widget callback: store the number if it lies within the bounds, else say the rule and bring the last one back."""
    given = st.session_state.get(box)
    stored = value_at(session.choices(), place)
    if session.is_late(place, box, twin) or not refuse(box, given, bounds, stored):
        session.choose(place, box, twin, other)
    else:
        st.session_state[box] = None if stored is None or given is None else type(given)(stored)


def refuse(box: str, given: float | None, bounds: Bounds, kept: float | None, text: str = "") -> bool:
    """Whether a number, typed as `text`, lies outside the bounds or is none: `say_refusal` says why, and what stays."""
    st.session_state.pop(box + REFUSED, None)
    lower = -math.inf if bounds[0] is None else bounds[0]
    upper = math.inf if bounds[1] is None else bounds[1]
    if given is None or lower <= given <= upper:
        return False
    stays = "It stays empty" if kept is None else f"It stays {kept:,.12g}"
    st.session_state[box + REFUSED] = f"{text or f'{given:,.12g}'} was not taken: {_rule(bounds)}. {stays}."
    return True


def _rule(bounds: Bounds) -> str:
    """The numbers that are taken, in words."""
    lower, upper = bounds
    if lower is not None and upper is not None:
        return f"it must lie between {lower:,.12g} and {upper:,.12g}"
    if upper is not None:
        return f"it must be at most {upper:,.12g}"
    assert lower is not None  # a box without bounds refuses nothing
    return "it must be above 0" if 0 < lower < SMALL else f"it must be at least {lower:,.12g}"


def say_refusal(box: str, at: Any = st) -> None:
    """Under a box: why the number typed last was not taken; until another one is."""
    if words := st.session_state.get(box + REFUSED):
        at.caption(f":red[{session.plain(words)}]")


def switch(label: str, place: str, help: str) -> None:
    """A yes or no."""
    key = key_of(place)
    value = _give(key, bool(value_at(session.choices(), place)))
    st.toggle(label, value, key=key, help=help, on_change=session.choose, args=(place, key))


def pick(
    widget: Literal["selectbox", "multiselect", "pills"],
    label: str,
    place: str,
    options: Sequence[Any],
    **more: Any,
) -> None:
    """A choice of one or of several; stored values that are no option any more are dropped."""
    key, chosen = key_of(place), value_at(session.choices(), place)
    kept: Any  # of what is stored: what the widget still shows may be from before another tab's choice
    if isinstance(chosen, tuple):
        kept = [value for value in chosen if value in options]
    else:
        kept = chosen if chosen in options else options[0]
    if kept != (list(chosen) if isinstance(chosen, tuple) else chosen):
        session.put(place, kept, undoable=False)
    if st.session_state.get(key, kept) != kept:
        del st.session_state[key]
    default = {"index": options.index(kept)} if widget == "selectbox" else {"default": kept}
    _give(key, kept)
    getattr(st, widget)(
        label, options, key=key, on_change=session.choose, args=(place, key), **default, **more
    )
