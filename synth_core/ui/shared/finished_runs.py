"""Finished runs of this browser: recorded as they finish, listed, named, used again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import Settings, make_settings
from synth_core.jobs.job import Job
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.plan.planned_block import planned
from synth_core.release.run_store import DAMAGED, RunStore, StoredRun, compare_runs, numbers_of
from synth_core.release.state import StateError
from synth_core.system.number_text import ceiling
from synth_core.ui.shared.presets import in_demo
from synth_core.ui.shared.subject import show_subject
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser


@contextlib.contextmanager
def _store() -> Iterator[RunStore]:
    store = RunStore(session.account())
    try:
        yield store
    finally:
        store.close()


def record_runs(
    browser: Browser, settings: Settings, jobs: list[Job], blocks: tuple[Block, ...] = ()
) -> None:
    """Keep finished runs, with blocks of whole records; those of this session that were kept already cost nothing."""
    kept: set[str] = st.session_state.setdefault("recorded_runs", set())
    new = [job for job in jobs if job.key not in kept]
    if not new:
        return
    kept.update(job.key for job in new)
    data: dict[str, Any] = {
        "name": browser.table.name,
        "fingerprint": browser.table.fingerprint,
        "rows": browser.table.rows,
        "reference": browser.reference.fingerprint if browser.reference else None,
    }
    if blocks:
        data["blocks"] = planned(blocks)
    with contextlib.suppress(StateError), _store() as store:  # the picture does not depend on it
        for job in new:
            numbers = job.answer.numbers
            store.record(
                job.key,
                data,
                numbers.mechanism,
                settings.model_dump(mode="json"),
                numbers_of(numbers),
                numbers.guarantee.label,
            )


def _label(run: StoredRun) -> str:
    epsilon = run.numbers.get("epsilon")
    shown = "" if epsilon is None else f", ε = {ceiling(epsilon, 3)}"
    name = f"{run.name}: " if run.name else ""
    return (
        f"{name}{find_mechanism(run.mechanism).label}{shown} · {run.time[:16].replace('T', ' ')} · {run.id}"
    )


def _use(run: StoredRun) -> None:
    blocks = run.blocks
    session.use_settings(
        make_settings(**run.settings), (run.mechanism,), **({"blocks": blocks} if blocks else {})
    )
    show_subject(bool(blocks))


def _describe(run: StoredRun) -> None:
    with _store() as store:
        store.describe(run.id, name=st.session_state["run_name"], note=st.session_state["run_note"])


def _delete(run: StoredRun) -> None:
    with _store() as store:
        store.delete(run.id)


def runs_panel() -> None:
    """Choose a finished run: use its settings again, name it, note something, compare, delete."""
    try:
        with _store() as store:
            runs, damaged = store.runs(), store.damaged
    except StateError as error:
        st.error(session.said(error), icon=":material/error:")
        return
    if damaged:
        st.warning(f"What was kept of {damaged:,} runs {DAMAGED}", icon=":material/error:")
    if in_demo():  # runs of other tables may be of confidential ones
        runs = [r for r in runs if r.data["fingerprint"] == session.current().table.fingerprint]
    if not runs:
        st.caption("None yet: runs of the page Compare are kept here, without any record.")
        return
    here = [run for run in runs if run.data["fingerprint"] == session.current().table.fingerprint]
    only = st.toggle("Only of the table in use", value=bool(here), disabled=not here)
    by_label = {_label(run): run for run in (here if only and here else runs)}
    run = by_label[st.selectbox("Finished run", list(by_label))]
    st.caption(
        f"{session.plain(run.data['name'])}, {session.plain(run.variables)}; {run.guarantee}; seed "
        f"{run.settings['seed']}" + (f". {session.plain(run.note)}" if run.note else "")
    )
    st.button("Use these settings again", on_click=session.attempt, args=("runs", _use, run))
    with st.expander("Name, note, compare, delete", key="finished_run_panel"):
        if st.session_state.get("described_run") != run.id:
            for key, text in (("described_run", run.id), ("run_name", run.name), ("run_note", run.note)):
                st.session_state[key] = text
        st.text_input("Name", key="run_name", max_chars=60)
        st.text_input("Note", key="run_note", max_chars=200)
        left, right = st.columns(2)
        left.button("Keep name and note", on_click=session.attempt, args=("runs", _describe, run))
        right.button("Delete this run", on_click=session.attempt, args=("runs", _delete, run))
        others = {_label(other): other for other in runs if other.id != run.id}
        other = st.selectbox("Compare with", [None, *others], format_func=lambda k: k or "no other run")
        if other:
            rows = compare_runs(run, others[other])
            st.dataframe(_differences(rows), hide_index=True)
    session.show_message("runs")


def _differences(rows: list[tuple[str, Any, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "What": [name for name, _, _ in rows],
            "This run": [str(a) for _, a, _ in rows],
            "The other": [str(b) for _, _, b in rows],
        }
    )
