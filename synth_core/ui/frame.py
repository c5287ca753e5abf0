"""What stands around every page: sign-in, what is in use, errors in plain words, what other tabs changed, notices."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import streamlit as st

from synth_core.ui.server import access
from synth_core.ui.server.lifespan import preparation
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background, header, inherited_settings, preparing
from synth_core.ui.shared.board import forget_if_unmounted
from synth_core.ui.state import session

ICON = Path(__file__).parent / "icon.svg"  # a file: named icons are fetched from the network
STYLE = Path(__file__).parent / "frame.css"

_PROJECT = Path(__file__).parents[2]
_log = logging.getLogger(__name__)


def hide_error(error: Exception) -> bool:
    """Show a plain sentence instead of a traceback, which could quote confidential values."""
    _log.error("page failed: %s at %s", type(error).__name__, _place(error))
    st.error(
        "Something went wrong inside the program. Nothing was lost; change a setting or "
        f"reload the page. ({type(error).__name__})",
        icon=":material/error:",
    )
    return True


def _place(error: Exception) -> str:
    """Where in this program it failed; never what was said, which could quote a cell."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if any(path.is_relative_to(_PROJECT / part) for part in ("synth_core", "pages")):
            return f"{path.relative_to(_PROJECT)}:{frame.lineno}"
    return "an unknown place"


def show_header() -> None:
    """What is in use, above every page and before it computes anything; settings that came from another table."""
    header.show()
    inherited_settings.show()


def run(page: Any) -> None:
    """Run a page; one that was overtaken by a newer run of its session starts anew.

    Streamlit lets both work on one session state for a moment, which then changes under the older one's hands.
    """
    try:
        page.run()
    except RuntimeError as error:
        if "changed size during iteration" not in str(error):
            raise
        st.rerun()


def require_login() -> None:
    """Where a sign-in is configured, show nothing else before it: no table, no run, no ledger."""
    if not access.asks_for_login() or st.user.is_logged_in:
        return
    st.title("Private synthesis")
    st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
    st.stop()


def prepare_session() -> None:
    """Run at the top of every script run."""
    forget_if_unmounted()
    session.take_over()
    background.keep_alive()
    if (running := preparation()) is not None:
        preparing.show(running)
    if manager().storage_problem:
        st.fragment(_storage_problem, run_every=2)()  # it goes with the first result that was kept


def _storage_problem() -> None:
    if problem := manager().storage_problem:
        st.warning(f"{problem} Until then results are shown and not kept.", icon=":material/hard_drive:")
