"""What the synthetic table looks like: first rows, columns as declared, unlikely combinations, maps of pairs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.check.unlikely import UnlikelyCombination
from synth_core.analysis.check.words import combination_words
from synth_core.analysis.summary import PairSummary
from synth_core.release.making.outcome import ReleaseOutcome
from synth_core.release.report.charts import pair_maps
from synth_core.system.number_text import percent
from synth_core.ui.state.session import plain


def show_look(outcome: ReleaseOutcome) -> None:
    """The look of the data set that was drawn; what was compared with the confidential table is marked internal."""
    look = outcome.look
    if look is None:
        return
    rows, declared, odd, maps = st.tabs(
        ["First rows", "Columns as declared", "Unlikely combinations (internal)", "Maps of pairs (internal)"]
    )
    with rows:
        st.caption(f"The first {len(look.rows)} rows of data set 1, as they would leave.")
        st.dataframe(pd.DataFrame(look.rows, columns=look.columns), hide_index=True, width="stretch")
    with declared:
        st.caption("What the plan says of each column. Nothing here was read off the table to be released.")
        table = pd.DataFrame(look.declared).rename(columns=str.capitalize)
        st.dataframe(table, hide_index=True, width="stretch")
    with odd:
        _show_combinations(look.combinations)
    with maps:
        _show_maps(look.pairs)


def _show_combinations(combinations: list[UnlikelyCombination]) -> None:
    if not combinations:
        st.caption("No combination of values is far more frequent in the synthetic table.")
        return
    st.caption(
        "Values together that many synthetic records have and hardly a confidential one: far fewer than the same share "
        "would give, and than chance explains. They stay inside."
    )
    st.table(
        pd.DataFrame(
            {
                "Combination": plain(combination_words(each)),
                "Of all synthetic records": percent(each.of_all, 2),
                "Confidential records expected": f"{each.expected:,.0f}",
                "Found": f"{each.count:,}",
            }
            for each in combinations
        ).set_index("Combination")
    )


def _show_maps(pairs: list[PairSummary]) -> None:
    if not pairs:
        st.caption("Every pair of columns has too many cells.")
        return
    st.caption(
        "Shares of the records by two columns, of the pairs that are furthest off: the stronger the colour, the "
        "more. A framed cell is one that only this table has. They stay inside."
    )
    for pair in pairs:
        st.image(pair_maps(pair), width=900)
