"""The check of an own program as its page shows it: asked for, waited for, its report, its use."""

from __future__ import annotations

import contextlib
from typing import Any

import streamlit as st

from synth_core.errors import InputError
from synth_core.jobs.job import Job
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import ContractTask
from synth_core.models import OwnProgram
from synth_core.models.own import sandbox
from synth_core.models.own.contract import ContractCheck, ContractReport
from synth_core.models.own.source import refuse_dangerous
from synth_core.ui.server import access
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.polling import poll
from synth_core.ui.shared.waiting import progress_row
from synth_core.ui.state import session

POLL_SECONDS = 0.4
ASKED = "own_asked"  # {"source", "use"}: what is checked, and whether it is to be used when it passes


def decode(content: bytes) -> str:
    """The text of an uploaded program; raises InputError."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("The file is not a text in UTF-8.") from None


def keep_draft(source: str) -> None:
    """Remember what is in the editor, so that a reload does not lose it."""
    session.put("program_draft", source, undoable=False)


def keep_edited(widget: str) -> None:
    """Widget callback of the editor."""
    keep_draft(st.session_state[widget])


def start(widget: str) -> None:
    """Button callback: check what is in the editor, and use it if it passes."""
    if access.refusal() is None:
        source = st.session_state[widget]
        keep_draft(source)
        with contextlib.suppress(InputError):  # said by the check
            refuse_dangerous(source)
            sandbox.approve(source)
        asked = st.session_state.get(ASKED)
        if asked and asked["source"] == source and asked.get("job"):
            manager().forget(session.owner(), [asked["job"]])  # the same again: examined anew
        st.session_state[ASKED] = {"source": source, "use": True}


def show_table() -> None:
    """The table on which a program is checked."""
    browser = session.current()
    chosen = browser.choices.settings
    predictors = ", ".join(session.plain(p) for p in chosen.predictors) or "none"
    st.caption(
        f"Checked on **{session.plain(browser.table.name)}**, {browser.table.rows:,} rows: x is "
        f"**{session.plain(chosen.outcome)}**, predictors in Z: {predictors}. "
        "Choose them on the Data page."
    )


def _use(source: str) -> None:
    """Make the program the model of this browser."""
    session.change(session.choices().with_settings(model=OwnProgram.name, program=source))


def _waiting(job: Job) -> None:
    progress_row(job, "Cancel", "cancel_check", manager().cancel, (session.owner(),))


def show() -> None:
    """The check that was asked for: its progress, or its report."""
    asked: dict[str, Any] | None = st.session_state.get(ASKED)
    if asked is None:
        if session.choices().settings.program:
            st.caption("A program of yours is among the models on the Data page.")
        return
    try:
        settings = session.settings(model=OwnProgram.name, program=asked["source"])
    except InputError as error:
        st.error(session.said(error), icon=":material/error:")
        return
    job = manager().submit(session.owner(), [ContractTask(TaskInput.of(session.current().table, settings))])[
        0
    ]
    job.finished.wait(0.35)
    asked["job"] = job
    if not job.finished.is_set():
        poll(_waiting, POLL_SECONDS, job)
    elif job.state == "cancelled":
        left, right = st.columns([8, 2], vertical_alignment="center")
        left.info("Cancelled.", icon=":material/cancel:")
        right.button("Run again", width="stretch", on_click=manager().forget, args=(session.owner(), [job]))
    elif job.state == "failed" or job.answer is None:
        st.error(session.said(job.error), icon=":material/error:")
    else:
        report: ContractReport = job.answer
        if report.passed and asked["use"]:
            asked["use"] = False
            _use(asked["source"])
        _show_report(report, asked["source"])


def _show_report(report: ContractReport, source: str) -> None:
    if report.passed:
        used = session.choices().settings.model == OwnProgram.name
        st.success(
            "The program keeps the contract"
            + (" and is the model now." if used else "; choose it as the model on the Data page."),
            icon=":material/check_circle:",
        )
        st.page_link("pages/compare.py", label="Compare the synthesizers", icon=":material/compare_arrows:")
    for check in report.failures:
        st.error(f"**Not kept: “{check.name}”.** {session.plain(check.words)}", icon=":material/error:")
        _show_place(check, source)
    kept = [check for check in report.checks if check.passed]
    if kept:
        lines = (f":green[:material/check:] **{c.name}.** {session.plain(c.words)}" for c in kept)
        st.markdown("  \n".join(lines))


def _show_place(check: ContractCheck, source: str) -> None:
    """The compiler's own words, and the lines around the one it names."""
    if check.detail:
        st.code(check.detail, language=None, wrap_lines=True)
    elif check.line:
        lines = source.splitlines()
        first = max(0, check.line - 3)
        shown = [
            f"{'>' if i + 1 == check.line else ' '} {i + 1:4d}  {lines[i]}"
            for i in range(first, min(len(lines), check.line + 2))
        ]
        st.code("\n".join(shown), language=None, wrap_lines=True)
