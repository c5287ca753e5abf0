"""What is kept of tables: the frozen risk map, and the cache on the server's disk."""

from __future__ import annotations

import streamlit as st

from synth_core.data.examples import EXAMPLES, load_example
from synth_core.data.readers import SUFFIXES
from synth_core.system import limits
from synth_core.system.cache import results_cache
from synth_core.ui.server import access
from synth_core.ui.shared.uploads import show_reading, take_upload
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session


def choose_reference() -> None:
    """The table that the risk map is frozen on: what the strict claim of weights needs."""
    st.caption(
        "Weights made from the current table depend on all of its records. A risk map frozen on a historical "
        "or public table makes each weight depend on its own record alone. The people in that table are not covered, "
        "unless it is public."
    )
    browser = session.current()
    if browser.reference is not None:
        sheet = browser.reference.read_options.sheet
        name = session.plain(browser.reference.name + ("" if sheet is None else f", sheet {sheet}"))
        st.info(f"Frozen on {name}, {browser.reference.rows:,} rows.", icon=":material/lock:")
        st.button("Use the current table again", on_click=session.use_reference, args=(None,))
        return
    example = EXAMPLES.get(browser.table.name.removeprefix("example:"))
    if example is not None and example.simulate:
        seed = int(own_number("Simulate another table, with seed", limits.SEED, 1001, 1, "reference_seed"))
        st.button(
            "Freeze on the simulated table",
            on_click=lambda: session.use_reference(load_example(example.key, browser.table.rows, seed)),
        )
    endings = [s.lstrip(".") for s in SUFFIXES]
    upload = st.file_uploader("A historical or public table", endings, key="reference")
    if upload is not None:
        st.button(
            "Freeze on this file",
            on_click=session.attempt,
            args=("reference", take_upload, "reference", session.use_reference, upload),
        )
    show_reading("reference")


def what_is_kept() -> None:
    """What the server's disk holds of the tables, and the button that deletes it."""
    st.caption(
        "Tables stay in memory. Fits and results are cached on the server's disk, readable by its own user only: "
        f"they hold weights, bounds and draws. What nobody used for {results_cache().max_days:g} days is deleted."
    )
    st.button(
        "Delete cached results",
        icon=":material/delete_sweep:",
        on_click=purge_results,
        help="Of everyone on this server. It costs only the time to compute them again; plans, named "
        "runs and the ledger stay.",
    )
    if deleted := st.session_state.pop("purged", None):
        st.info(deleted, icon=":material/delete_sweep:")
    if access.asks_for_login():
        st.button("Sign out", icon=":material/logout:", on_click=st.logout)


def purge_results() -> None:
    """Button callback: empty the cache of results."""
    cache = results_cache()
    size = cache.size()
    cache.purge()
    st.session_state["purged"] = f"Deleted {size / 1024**2:.1f} MiB of cached results."
