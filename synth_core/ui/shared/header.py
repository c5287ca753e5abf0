"""The line that stands above every page: which table, whose, which variable, model and unit.

It is made of the choices alone, so it is there before anything is computed and stays when something fails.
"""

from __future__ import annotations

import streamlit as st

from synth_core.data.examples import EXAMPLES
from synth_core.data.table import Table
from synth_core.models import family
from synth_core.system.number_text import declared
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser


def show() -> None:
    """The line, and while an example is in use the way to a table of one's own."""
    browser = session.current()
    with st.container(key="header", horizontal=True, vertical_alignment="center"):
        st.markdown(line(browser))
        if browser.table.name.startswith("example:"):
            st.page_link(
                "pages/data.py",
                label="Use my own table",
                icon=":material/upload_file:",
                query_params={"table": "Your file"},
            )


def line(browser: Browser) -> str:
    """What is in use, in Markdown."""
    chosen = browser.choices.settings
    whose = f"**{origin(browser.table)}**" if browser.table.confidential else origin(browser.table)
    table, whole = f"**{session.plain(browser.table.name)}** ({whose})", browser.choices.whole
    one = session.plain(chosen.outcome)
    if len(whole) > 1:  # each has a model of its own, which the page Data says
        names = session.plain(", ".join(block.name for block in whole))
        return f"{table} · sensitive variables **{names}**"
    model = f"{family(chosen.model).label} · {_unit(browser)}"
    if not whole:
        return f"{table} · sensitive variable **{one}** · {model}"
    return f"{table} · all that is sensitive about a record: **{one}** · {model}"


def origin(table: Table) -> str:
    """Whether a table is confidential, and what it is if not."""
    if table.confidential:
        return "CONFIDENTIAL"
    example = EXAMPLES.get(table.name.removeprefix("example:").partition(",")[0])
    if example is None:
        return "declared not confidential"
    return "simulated data" if example.simulate else "public data"


def _unit(browser: Browser) -> str:
    """The unit in which the model's density, and with it ε, is taken."""
    chosen, uses = browser.choices.settings, family(browser.choices.settings.model).uses
    if "unit" in uses:
        count = "unit" if chosen.unit == 1 else f"{declared(chosen.unit)} units"
        return f"density per {count} of {session.plain(chosen.outcome)}"
    if "bounds" in uses:
        return "value scaled to (0, 1) by its bounds"
    return f"probability of a {'category' if 'categories' in uses else 'count'}: no unit"
