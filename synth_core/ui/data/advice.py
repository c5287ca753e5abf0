"""Advice on the model: from what is publicly known of the variable, or from a look at the table if asked."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.analysis.model_advice import KINDS, Advice, advise_kind, advise_table
from synth_core.errors import InputError
from synth_core.ui.state import session

SAID = "advice_said"  # of which variable what, by the keys of the widgets
LOOKED_AT = "advice_looked_at"  # tables and columns that were looked at, by fingerprint and name


def propose() -> None:
    """What the variable is, said or looked at; the proposal, why, and a button that takes it."""
    for key in (_key("kind"), _key("typical")):  # what was said stays said on the way over another page
        if key in (said := st.session_state.setdefault(SAID, {})):
            st.session_state.setdefault(key, said[key])
    a, b, c = st.columns([4, 3, 3], gap="medium", vertical_alignment="bottom")
    kind = a.selectbox(
        "What is publicly known of the variable",
        KINDS,
        index=None,
        format_func=KINDS.__getitem__,
        key=_key("kind"),
        placeholder="choose, and nothing is read from the table",
    )
    typical = b.number_input(
        "A typical value, publicly known",
        None,
        None,
        None,
        key=_key("typical"),
        format="%g",
        placeholder="none",
    )
    st.session_state[SAID] |= {_key("kind"): kind, _key("typical"): typical}
    browser = session.current()
    outcome = browser.choices.settings.outcome
    looked_at = (browser.table.fingerprint, outcome)
    c.button(
        "Look at the table instead",
        icon=":material/visibility:",
        width="stretch",
        disabled=kind is not None,
        on_click=st.session_state.setdefault(LOOKED_AT, set()).add,
        args=(looked_at,),
        help="Counts zeros, losses, heaps and a top code of the sensitive variable.",
    )
    regression = bool(browser.choices.settings.predictors)
    try:
        if kind is not None:
            _show(advise_kind(kind, typical, regression), typical)
        elif looked_at in st.session_state[LOOKED_AT]:
            _show(advise_table(browser.table, outcome, regression))
        elif typical is not None:
            st.caption("A typical value alone proposes nothing: say what is known of the variable too.")
    except InputError as error:
        st.error(session.said(error), icon=":material/error:")


def _key(name: str) -> str:
    """The key of a widget that belongs to one sensitive variable of one table."""
    browser = session.current()
    return f"advice_{name}_{browser.table.fingerprint}_{browser.choices.settings.outcome}"


def _show(advice: Advice, typical: float | None = None) -> None:
    left, right = st.columns([7, 3], gap="medium")
    left.markdown(
        f"**{session.plain(advice.title)}.**\n\n"
        + "\n".join(f"- {session.said(reason)}" for reason in advice.reasons)
    )
    left.caption(session.plain(advice.leak))
    if advice.settings:
        right.button(
            "Use this proposal",
            type="primary",
            width="stretch",
            on_click=_use,
            args=(advice.settings, typical),
        )


def _use(proposed: dict[str, Any], typical: float | None) -> None:
    """Button callback: a step that Undo takes back. Bounds that are not proposed stay as they are.

    A typical value is the guess of anchored censoring too, where there is none yet.
    """
    chosen = session.choices()
    values = {name: value for name, value in proposed.items() if name != "bounds"}
    changed = chosen.with_settings(**values)
    if "bounds" in proposed:
        changed = changed.with_bounds(proposed["bounds"])
    if typical is not None and changed.guess_typical is None:
        changed = changed.model_copy(update={"guess_typical": typical})
    session.change(changed)
