"""The boxes of a guess, from which a pilot or noisy counts of anchored censoring start."""

from __future__ import annotations

import streamlit as st

from synth_core.errors import InputError
from synth_core.models import family
from synth_core.system import limits
from synth_core.ui.shared.widgets import number
from synth_core.ui.state import session
from synth_core.ui.state.choices import as_typed

PLACE = "guess"
LOW, HIGH = "Half of all values lie between", "and"


def guess_boxes() -> None:
    """Between what half of all values lie, in the unit of the variable, and of a model with zeros their share."""
    choices = session.choices()
    chosen = choices.settings
    model = family(chosen.model)
    shown: tuple[float | None, float | None] = (None, None)
    if choices.guess is not None:
        shown = as_typed(model.half_of_guess(chosen.options, *choices.guess))
    low, high = (_key(end) for end in ("low", "high"))
    zeros = model.has_zeros(chosen.options)
    if zeros:  # first: with both ends of the half a guess is whole, and Compare asks no more
        number("A typical share of zeros", "settings.guess_zeros", limits.GUESS_ZEROS)
    # Of several variables more than one may lack it.
    low_label = (
        LOW if not choices.whole else f"Half of all values of {session.plain(chosen.outcome)} lie between"
    )
    about = "From general knowledge, never by looking at the table; in the unit of the variable."
    # Above both boxes: over one of two on the left of Compare it was broken within a name.
    st.caption(low_label, help=about + (" Zeros do not count here." if zeros else ""))
    for place, label, key, value in zip(
        st.columns(2, vertical_alignment="bottom"),
        (low_label, HIGH),
        (low, high),
        shown,
        strict=True,
    ):
        place.number_input(
            label,
            None,
            None,
            value,
            key=key,
            format="%.12g",
            label_visibility="collapsed",
            placeholder="none",  # beside another one on the left of Compare there is no room for more
            on_change=session.attempt,
            args=(PLACE, _take, low, high),
        )
    session.show_message(PLACE)


def _key(end: str) -> str:
    """The key of a box: another one wherever the guess, its variable or its scale is another."""
    browser = session.current()
    s = browser.choices.settings
    parts = (
        end,
        browser.tables,
        s.outcome,
        s.model,
        s.transformation,
        s.asinh_scale,
        s.offset,
        browser.choices.guess,
    )
    return "guess " + " ".join(map(str, parts))


def _take(low: str, high: str) -> None:
    """Widget callback: the guess, once both ends are given; without one of them there is none."""
    if low != _key("low"):
        return  # a box from before another table or scale: its value is old
    choices = session.choices()
    first, second = st.session_state.get(low), st.session_state.get(high)
    if first is None or second is None:
        if choices.guess is not None:
            session.change(choices.model_copy(update={"guess_typical": None, "guess_spread": None}))
            # The boxes are others now; the end that is left stays.
            st.session_state[_key("low")], st.session_state[_key("high")] = first, second
        return
    model = family(choices.settings.model)
    typical, spread = model.guess_of_half(choices.settings.options, first, second)
    if spread > model.widest_spread:
        raise InputError("Half of all values lie nearer together than that.")
    session.change(choices.model_copy(update={"guess_typical": typical, "guess_spread": spread}))
