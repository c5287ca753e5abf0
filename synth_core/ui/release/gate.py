"""Steps 3 and 4 of a release: the gate, the archives, the ledger."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.errors import FitError
from synth_core.release.ledger.room import counted, largest_next, other_words
from synth_core.release.making.releasing import ReleaseOutcome
from synth_core.system import limits
from synth_core.ui.release import desk
from synth_core.ui.release.desk import ICONS
from synth_core.ui.state import session
from synth_core.ui.state.session import plain


def gate_step(outcome: ReleaseOutcome | None) -> None:
    """Check, release, and what was written."""
    release_buttons(outcome)
    session.show_message("release")
    if outcome is not None and outcome.archives:
        show_outcome(outcome)


def show_checks(outcome: ReleaseOutcome) -> None:
    """The gate's lines, and a place for the reason of an override."""
    table = pd.DataFrame(
        {"Check": c.title, "Result": c.status, "Finding (internal)": c.finding, "What to do": c.advice}
        for c in outcome.checks
    )
    if len(table):
        if not table["What to do"].any():
            table = table.drop(columns="What to do")
        st.table(table.set_index("Check").map(plain))
    for check in outcome.checks:
        if check.status != "failed":
            continue
        if check.overridable:
            st.text_input(
                f"Override “{check.title}”, because",
                key=f"override_{check.key}",
                max_chars=1000,
                help="The reason is shown in both reports: write nothing confidential.",
            )
        else:
            st.error(
                f"{check.title}: this check cannot be overridden. {plain(check.advice)}", icon=ICONS["failed"]
            )


def release_buttons(outcome: ReleaseOutcome | None) -> None:
    """Look at the gate, then release."""
    busy = desk.state().task is not None
    a, b, c = st.columns([2, 1, 1], vertical_alignment="bottom")
    a.text_input(
        "Label",
        "first",
        key="release_label",
        max_chars=limits.NAME_LENGTH,
        help="A second release of the same table needs another label, and is charged again.",
    )
    b.button(
        "Check",
        on_click=session.attempt,
        args=("release", desk.ask, True),
        disabled=busy,
        type="secondary" if outcome else "primary",
        width="stretch",
        help="Runs the gate. Nothing is written or charged.",
    )
    ready = outcome is not None and not desk.stand_in_the_way(outcome.checks)
    c.button(
        "Release",
        on_click=session.attempt,
        args=("release", desk.ask, False),
        disabled=busy or not ready,
        type="primary" if outcome else "secondary",
        width="stretch",
    )


def show_outcome(outcome: ReleaseOutcome) -> None:
    """Both archives."""
    again = " It was made before: nothing more was charged." if outcome.state == "repeated" else ""
    st.success(f"Release {outcome.number}: ε = {outcome.epsilon:g} charged.{again}", icon=ICONS["passed"])
    for column, (name, content) in zip(st.columns(2), desk.archives(outcome), strict=True):
        public = "releasable" in name
        column.download_button(
            f"{'May leave' if public else 'INTERNAL, stays'}: {name}",
            content,
            name,
            "application/zip",
            type="primary" if public else "secondary",
            icon=":material/outbox:" if public else ":material/lock:",
            on_click="ignore",
            width="stretch",
        )


def show_ledger(series: str) -> None:
    """What is spent and left as the limit counts it, the other figure, entries, and a change of the limit."""
    try:
        balance, rows = desk.ledger_view(series)
    except FitError as error:
        st.error(plain(str(error)), icon=ICONS["failed"])
        return
    if not rows:
        st.caption("Nothing was charged to this series yet.")
        return
    a, b, c, d = st.columns(4)
    a.metric("Releases", balance.releases)
    delta, largest = balance.count.delta, largest_next(balance)
    c.metric("Limit", "none" if balance.limit is None else f"{balance.limit:g}")
    if delta is None:
        b.metric("ε in all", f"{balance.spent:g}")
        left = None if balance.limit is None else max(balance.limit - balance.spent, 0.0)
        d.metric("Left", "–" if left is None else f"{left:g}")
    else:
        b.metric(f"ε at δ = {delta:g}", f"{counted(balance):.4g}")
        d.metric(
            "Left for one more",
            f"ε ≤ {largest:g}" if largest else "nothing",
            help="The largest ε of one more data set; of a histogram, half of it.",
        )
    if balance.rho:
        other = other_words(balance)
        st.caption(
            f"The limit counts {balance.count.words}. {other[0].upper()}{other[1:]} (ρ = {balance.rho:.4g})."
        )
    with st.expander("Entries, and another limit"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        a, b, c = st.columns(3)
        a.number_input("Limit", *limits.TOTAL_EPSILON, balance.limit or 50.0, key="new_limit")
        b.text_input("Because", key="new_limit_reason")
        c.text_input("Decided by", key="new_limit_who")
        st.button("Change the limit", on_click=session.attempt, args=("ledger", desk.change_limit, series))
        session.show_message("ledger")
