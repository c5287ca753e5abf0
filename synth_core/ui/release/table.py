"""Step 2 of a release: another table than the one that the plan was tuned on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.data.codebook import Codebook
from synth_core.data.examples import EXAMPLES, load_example, other_half
from synth_core.data.readers import SUFFIXES, ReadOptions
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.release.plan.plan import Plan
from synth_core.system import limits
from synth_core.ui.release import release_actions, release_job
from synth_core.ui.shared.uploads import (
    choose_sheet,
    held,
    show_reading,
    stop_reading,
    take_upload,
    upload_of,
)
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.session import plain


def table_step(plan: Plan | None, table: Table | None) -> None:
    """The table on the desk, and the ways to another one."""
    if plan is None:
        st.caption("First a plan: it is made before this table is looked at.")
        return
    if table is not None:
        st.markdown(f"**{plain(table.name)}**, {table.rows:,} rows")
        choose_sheet("table", put_table, held(st.session_state.get("release_table")), table)
    with st.expander("Another table", expanded=False) if table is not None else st.container():
        choose_table(plan)
    show_reading("table")


def choose_table(plan: Plan) -> None:
    """The table to be released: another period, or the plan's own table, first where it was said to be that."""
    if plan.tuned_on.kind == "confidential":
        _take_in_use()
    other, example = half(), simulates()
    if other is not None:
        st.button(
            f"Take the other half: {plain(other.name)}",
            on_click=session.attempt,
            args=("table", take_table, "half"),
        )
    if example is not None:
        a, b = st.columns([1, 2], vertical_alignment="bottom")
        seed = own_number("Seed of another period", limits.SEED, 2002, 1, "period_seed", a)
        b.button(
            "Simulate another period",
            on_click=session.attempt,
            args=("table", take_table, "simulated", int(seed)),
        )
    st.file_uploader(
        "A table", [ending.lstrip(".") for ending in SUFFIXES], key="release_table", on_change=_take_file
    )
    upload, now = held(st.session_state.get("release_table")), release_job.state().table
    # It was refused, or another table came.
    if upload is not None and (now is None or upload_of("release_table", now) is None):
        st.button(f"Take {plain(upload.name)}", on_click=_take_file)
    if plan.tuned_on.kind != "confidential":
        with st.expander("The table in use"):
            refused = release_actions.refused(plan, session.current().table)
            st.caption(
                "Releasing the very table that the settings were tuned on costs the strict claim."
                + (f" Here it would be refused: {session.said(refused)}" if refused else "")
            )
            _take_in_use()


def _take_in_use() -> None:
    name = plain(session.current().table.name)
    st.button(
        f"Take the table in use, {name}", on_click=session.attempt, args=("table", take_table, "current")
    )


def _take_file() -> None:
    """Widget callback: the uploaded file, as soon as it is there, read by the plan's codebook; nothing once removed."""
    if (upload := held(st.session_state.get("release_table"))) is not None:
        session.attempt("table", _read, upload)


def _read(upload: Any) -> None:
    release_actions.require_idle()
    plan = release_job.state().plan
    codebook = Codebook() if plan is None or plan.codebook is None else plan.codebook
    take_upload("table", put_table, upload, ReadOptions(codebook=codebook))


def half() -> Table | None:
    """The other half of the example in use."""
    return other_half(session.current().table)


def simulates() -> str | None:
    """The key of the simulated example in use, of which another period can be drawn."""
    name = session.current().table.name.removeprefix("example:")
    example = EXAMPLES.get(name)
    return name if example is not None and example.simulate else None


def put_table(table: Table) -> None:
    """Put the table to be released on the desk; taken once more, it keeps its label and what was found of it."""
    now = release_job.state()
    taken = table.with_missing(() if now.plan is None else now.plan.missing)
    if now.table is None or (now.table.name, now.table.identity) != (taken.name, taken.identity):
        now.outcome, now.label = None, ""
    now.table = taken


def take_table(kind: str, seed: int = 1) -> None:
    """Button callback: a table that is there already goes on the desk."""
    release_actions.require_idle()
    stop_reading("table")
    if kind == "half":
        table = half()
    elif kind == "simulated":
        table = load_example(simulates() or "", session.current().table.rows, seed)
    else:
        table = session.current().table
    if table is None:
        raise InputError("The table in use is no half of an example any more.")
    put_table(table)
