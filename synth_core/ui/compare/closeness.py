"""What stands out in each synthetic table: the lines that the gate will say of a release."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.summary import ResultSummary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.state.session import plain


def show_closeness(summaries: list[ResultSummary]) -> None:
    """A row a mechanism; older results have no such lines."""
    known = [s for s in summaries if s.closeness]
    if not known:
        return
    n_warned = sum(any(line.warns for line in s.closeness) for s in known)
    said = f"in {n_warned} of {len(known)} something does" if n_warned else "in none of them does anything"
    title = f"What stands out in the synthetic tables, as the gate will say it: {said} (internal)"
    with st.expander(title, key="closeness_panel"):
        rows = [
            {"Mechanism": find_mechanism(s.mechanism).label}
            | {line.title: f"{'⚠ ' if line.warns else ''}{plain(line.finding)}" for line in s.closeness}
            for s in known
        ]
        st.table(pd.DataFrame(rows).set_index("Mechanism"))
