"""The columns of the table in use, without any value."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.data.readers import DELIMITERS
from synth_core.ui.state import session


def describe() -> None:
    """Show which table is in use, how it was read, and what is known of each column."""
    used = session.current().table
    kind = "confidential" if used.confidential else "public or simulated"
    st.markdown(
        f"In use: **{session.plain(used.name)}**, {used.rows:,} rows, {len(used.columns)} columns, {kind}{_reading()}"
    )
    st.dataframe(
        pd.DataFrame(
            {"Column": c.name, "Kind": c.kind, "Missing": c.missing, "Distinct": c.distinct, "Note": c.note}
            for c in used.columns
        ),
        hide_index=True,
        height=248,
        column_config={"Note": st.column_config.TextColumn(width="large")},
    )


def _reading() -> str:
    """How the table in use was read, in words; empty where nothing was to be found out."""
    used = session.current().table.read_options
    if used.sheet is not None:
        return f" · sheet {session.plain(used.sheet)}"
    if used.delimiter is None or used.decimal is None:
        return ""
    decimal = {".": "point", ",": "comma"}[used.decimal]
    return f" · read as {DELIMITERS[used.delimiter]}-separated {used.encoding}, decimal {decimal}"
