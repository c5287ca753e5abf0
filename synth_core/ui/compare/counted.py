"""Which columns a measured mechanism counted together, and with how much noise."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.counted_table import counted_together
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.ui.state import session


def show_counted(results: list[ResultNumbers], sensitive: list[str]) -> None:
    """A square for each result that was made of noisy counts, behind a switch."""
    counted = [each for each in results if each.counted]
    if not counted or not st.toggle("Which columns were counted together, and with how much noise"):
        return
    for each in counted:
        st.markdown(f"**{session.plain(each.label)}**")
        st.dataframe(
            pd.DataFrame(counted_together(each.counted, sensitive)).set_index("Sensitive").replace("", "–")
        )
    st.caption(
        "± is the standard deviation of the noise of one count, in records; a triple is a table of three columns that "
        "has both. An association that is in no table is not in the synthetic data. All of this is public."
    )
