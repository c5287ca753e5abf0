"""What stands around every page: sign-in, what is in use, errors in plain words, what other tabs changed, notices."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from synth_core.ui.server import access
from synth_core.ui.server.lifespan import preparation
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background, header, inherited_settings, preparing
from synth_core.ui.shared.board import forget_if_unmounted
from synth_core.ui.shared.polling import poll
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


def asked_page() -> str:
    """Streamlit's name of the page that this run was begun for; to be read at its very start."""
    this_run = get_script_run_ctx()
    return this_run.page_script_hash if this_run else ""


def navigate(pages: list[Any], asked: str) -> Any:
    """Show the menu of the pages; the page that was asked for.

    A poll of the page that one leaves may begin a run in the same moment as a click on a link: Streamlit then holds
    the poll's page for the one that is meant, by both runs, and the click leads nowhere.
    """
    page = st.navigation(pages, position="top")
    for each in pages:
        if each._script_hash == asked and page != each:
            st.switch_page(each)
    return page


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
        poll(_storage_problem, 2)  # it goes with the first result that was kept


def _storage_problem() -> None:
    if problem := manager().storage_problem:
        st.warning(f"{problem} Until then results are shown and not kept.", icon=":material/hard_drive:")
