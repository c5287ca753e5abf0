"""What the synthetic tables look like: twenty rows of one, and the shape of all beside the confidential table's."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.summary import ResultSummary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import percent
from synth_core.ui.state.session import plain


def show_look(summaries: list[ResultSummary]) -> None:
    """A part that opens; older results have no rows."""
    known = {s.mechanism: s for s in summaries if s.first_rows is not None}
    if not known:
        return
    with st.expander(
        "What the synthetic tables look like: twenty rows, and their shape (internal)", key="look_panel"
    ):
        st.caption(
            "The shape of each sensitive variable in the confidential table, and in the synthetic table of each "
            "mechanism: shares of all records, and quartiles of the values that are there."
        )
        st.table(_shapes(known))
        chosen = st.selectbox(
            "Rows of", list(known), format_func=lambda key: find_mechanism(key).label, key="look_of"
        )
        look = known[chosen].first_rows
        assert look is not None
        st.caption(
            f"The first {len(look.rows)} rows of a synthetic table. Sensitive columns come first, and are "
            "synthetic; "
            "the others are public and stay as they are. Nothing here may leave: that is made on the page Release."
        )
        st.dataframe(pd.DataFrame(look.rows, columns=look.columns), hide_index=True, width="stretch")


def _shapes(known: dict[str, ResultSummary]) -> pd.DataFrame:
    """A line for each share and quartile, a column for each table."""
    every = {(line.variable, line.what): line for look in known.values() for line in look.shape}
    order = list(dict.fromkeys(variable for variable, _ in every))
    texts = {
        find_mechanism(key).label: {(line.variable, line.what): line.synthetic for line in look.shape}
        for key, look in known.items()
    }
    rows = [
        {
            "Variable": plain(line.variable),
            "Of its records": plain(line.what),
            "Confidential": line.confidential,
        }
        # A share that is left out is 0 in both tables.
        | {label: found.get(place, percent(0.0)) for label, found in texts.items()}
        for place, line in sorted(every.items(), key=lambda item: order.index(item[0][0]))
    ]
    return pd.DataFrame(rows).set_index(["Variable", "Of its records"])
