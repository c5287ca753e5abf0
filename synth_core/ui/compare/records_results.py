"""Compare's third picture: whole records, all sensitive variables together."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.headings import RECORD_COLUMNS
from synth_core.figures.records import record_figures, record_results
from synth_core.jobs.tasks import Task, records_task
from synth_core.ui.shared import refits
from synth_core.ui.shared.subject import Subject, Summary
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

Pair = tuple[str, str]
WORST: Pair = ("", "")


def choose_pair() -> Pair:
    """The pair of columns whose cells are shown."""
    choices = session.choices()
    sensitive = [block.name for block in choices.whole]
    columns = [*choices.settings.predictors, *sensitive]
    pairs = [(a, b) for i, a in enumerate(columns) for b in columns[i + 1 :] if {a, b} & set(sensitive)]
    pair: Pair = st.selectbox(
        "Pair whose shares are shown",
        [WORST, *pairs],
        format_func=lambda each: "the pair that is furthest off" if each == WORST else " and ".join(each),
        key="pair_shown",
        help="One of them is sensitive. Numbers are cut into ten bins of the confidential table.",
    )
    return pair


def show_results(chosen: tuple[str, ...], pair: Pair) -> None:
    """Refit every block under every mechanism and show the joint rows."""
    blocks = session.choices().whole
    shown = refits.show(
        "records:" + "|".join(f"{block.name}{block.missing is not None}" for block in blocks),
        chosen,
        lambda summaries, labels, used: record_figures(summaries, labels, pair),
        detail="|".join(pair),
        subject=WHOLE_RECORDS,
    )
    if not shown.summaries:
        return
    st.download_button(
        "Results as CSV (internal)",
        pd.DataFrame([line for s in shown.summaries for line in csv_lines(s)]).to_csv(index=False),
        "whole-records-internal.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def csv_lines(s: Summary) -> list[dict[str, Any]]:
    """A line of a mechanism for the joint row, and one for each variable."""
    joint = {
        "mechanism": s["mechanism"],
        "variable": "all",
        "epsilon": s["epsilon"],
        "guarantee": s["guarantee"]["label"],
        "lipschitz_bound": s["lipschitz_bound"],
        **{k: v for k, v in s["measures"].items() if k != "worst_pair"},
        "problems": "; ".join(s["problems"]),
    }
    parts = [
        {
            "mechanism": s["mechanism"],
            "variable": part["name"],
            **{
                k: part[k]
                for k in ("epsilon", "share", "lipschitz_bound", "distance", "n_zero_weight", "n_censored")
            },
            "problems": "; ".join(part["problems"]),
        }
        for part in s["parts"]
    ]
    return [joint, *parts]


def _task(browser: Browser, settings: Settings, mechanism: str) -> Task:
    return records_task(browser.table, settings, browser.choices.whole, mechanism, browser.reference)


def _caption(s: Summary) -> str:
    dropped = f", {s['rows_dropped']:,} incomplete rows left out" if s["rows_dropped"] else ""
    names = session.plain(", ".join(dict.fromkeys(part["variable"] for part in s["parts"])))
    return f"{s['n_records']:,} records{dropped} · ε for all that is sensitive about one record withheld: {names}"


WHOLE_RECORDS = Subject(
    _task,
    lambda summaries, labels, settings, missing: record_results(summaries, labels, missing),
    _caption,
    RECORD_COLUMNS,
)
