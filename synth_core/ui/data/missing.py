"""The choice of values that mean missing, and those that seem to: nothing is one unless the analyst says so."""

from __future__ import annotations

import streamlit as st

from synth_core.data.column import Column
from synth_core.system.number_text import number_of
from synth_core.ui.state import session

PLACE = "missing"
NAMED = 4  # columns that a proposal names


def choose_missing() -> None:
    """The values that mean missing."""
    table = session.current().table
    key = session.widget_key(PLACE)
    st.session_state.setdefault(key, list(table.missing))
    proposed = table.proposed_missing
    single = [f"{column.name}={token}" for token, columns in proposed.items() for column in columns]
    st.multiselect(
        "Values that mean missing",
        dict.fromkeys((*table.missing, *proposed, *single)),
        key=key,
        accept_new_options=True,
        placeholder="none; for example N or -9",
        on_change=session.attempt,
        args=(PLACE, _take, key),
        help="Such a cell counts as empty, and its row is left out where the column is used. Write COLUMN=VALUE for "
        "one column only. The values go into settings files and plans, so that a release reads its table the same way.",
    )
    session.show_message(PLACE)
    if unmet := _unmet():
        st.caption(f"No cell of the table is {' or '.join(f'**{session.plain(mark)}**' for mark in unmet)}.")


def _unmet() -> list[str]:
    """Chosen values that no cell has, found once for each choice."""
    browser = session.current()
    table = browser.table
    key = f"unmet_{browser.as_read.fingerprint}_{table.missing}"
    if table.missing and key not in st.session_state:
        with st.spinner("Looking for these values"):  # of a large table for longer than a second
            st.session_state[key] = browser.as_read.unmet(table.missing)
    return list(st.session_state.get(key, []))


def propose() -> bool:
    """One click for each text that is the only one among numbers; whether one comes before everything else."""
    browser = session.current()
    proposed, s = browser.table.proposed_missing, browser.choices.settings
    if not proposed:
        return False
    untouched = browser.choices == browser.choices.opening(browser.table)
    used = {s.outcome, *s.predictors, *(block.name for block in browser.choices.whole)}
    urgent = False
    for token, columns in proposed.items():
        first = untouched or any(column.name in used for column in columns)
        _propose(token, columns, first)
        urgent = urgent or first
    return urgent


def _propose(token: str, columns: list[Column], first: bool) -> None:
    """One click for a text that is the only one among numbers."""
    left, right = st.columns([5, 3], vertical_alignment="center")
    named = ", ".join(f"{session.plain(c.name)} ({number_of(c.lone_rows, 'row')})" for c in columns[:NAMED])
    more = f" and {len(columns) - NAMED} more columns" if len(columns) > NAMED else ""
    shown = session.plain(token)
    left.caption(f"**{shown}** is the only text among the numbers of {named}{more}. Does it mean missing?")
    right.button(
        f"{shown} means missing",
        key=f"propose_missing_{token}",
        type="primary" if first else "secondary",
        width="stretch",
        on_click=session.attempt,
        args=(PLACE, session.use_missing, (*session.current().table.missing, *_markers(token, columns))),
    )


def _markers(token: str, columns: list[Column]) -> list[str]:
    """The token for all columns, unless it is a category of another one."""
    table = session.current().table
    proposed = {column.name for column in columns}
    others = [c.name for c in table.columns if c.kind == "text" and c.name not in proposed]
    if any((table.frame[name] == token).any() for name in others):
        return [f"{column.name}={token}" for column in columns]
    return [token]


def _take(key: str) -> None:
    """Widget callback."""
    if key not in st.session_state or session.is_late(PLACE, key):
        return  # another table came with the same run
    try:
        session.use_missing(st.session_state[key])
    finally:
        st.session_state.pop(key, None)  # what was refused is not shown as if it counted
