"""What a sensitive range gives: how likely a value leaves it, one record's range, bounds and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.figures.privacy import bounds_figure
from synth_core.figures.ranges import interval_figure, outside_figure
from synth_core.figures.utility import quantiles_figure
from synth_core.mechanisms.ranges import intervals
from synth_core.ui.shared import refits
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session

MECHANISMS = ("weighted", "range_averaged", "range_truncated")
RECORD = "range_record"


def figures(
    summaries: list[ResultSummary], labels: dict[str, str], settings: Settings
) -> list[dict[str, Any]]:
    """lambda by value, the range of one record, bounds and quantiles."""
    shown = [bounds_figure(summaries, labels), quantiles_figure(summaries, labels)]
    if settings != session.settings():  # an older picture is of other records, perhaps
        return shown
    result = session.stored_result("range_averaged")
    if result is None or not result.outside.size:
        return shown
    values = session.outcome()
    middle = int(np.argsort(values)[len(values) // 2]) + 1
    record = min(st.session_state.get(RECORD) or middle, len(values))
    ranges = intervals(values, settings.range, settings.tail, settings.brackets)
    return [
        outside_figure(values, result.outside, settings.outcome),
        interval_figure(values, ranges, record, result.outside, settings.outcome),
        *shown,
    ]


def show_results() -> None:
    """Refit and show; a click on a dot chooses the record whose range is drawn."""
    shown = refits.show("ranges", MECHANISMS, figures, detail=str(st.session_state.get(RECORD)))
    if not shown.summaries:
        return
    if shown.clicked is not None:  # a click lasts for one run, so this does not repeat
        st.session_state[RECORD] = shown.clicked
        st.rerun()
    own_number(
        "Record whose range is shown",
        (1, shown.summaries[0].numbers.n_records),
        None,
        1,
        RECORD,
        placeholder="number, or click a dot",
        width=320,
    )
