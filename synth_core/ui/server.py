"""What surrounds the pages: one job manager per server, a private cookie per browser."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from streamlit.runtime.pages_manager import PagesManager

from synth_core import limits
from synth_core.cache import results_cache
from synth_core.jobs import JobManager
from synth_core.ui import own_programs

COOKIE = "synth_browser"
COOKIE_SECONDS = 30 * 24 * 3600  # a browser finds its finished runs again after it was closed
PRUNE_SECONDS = 3600
ASSETS = "assets"
ICON = Path(__file__).parent / "icon.svg"  # a file: named icons are fetched from the network
FRAME_STYLE = Path(__file__).parent / "frame.css"

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_manager: JobManager | None = None


def manager() -> JobManager:
    """The server's job manager, started with the first request for it."""
    global _manager
    with _lock:
        if _manager is None:
            _manager = JobManager()
        return _manager


async def _forget_old_results() -> None:
    """Keep the age limit of the cache on a server that nobody uses, too."""
    while True:
        await asyncio.to_thread(results_cache().prune)
        await asyncio.sleep(PRUNE_SECONDS)


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the workers with the server, and end them and their samplers with it."""
    global _manager
    # Until some session has called st.navigation, Streamlit would serve the files in pages/
    # by themselves, without app.py: a first visit to /data would lack the frame.
    PagesManager.uses_pages_directory = False
    # Uploads stay in memory: beyond 1 MB the form parser would spool them into a temporary file.
    MultiPartParser.spool_max_size = (limits.MAX_UPLOAD_MB + 1) * 1024**2
    # It logs tracebacks, whose messages may quote cells, before `hide_error` is asked.
    logging.getLogger("streamlit.error_util").disabled = True
    own_programs.enforce()
    results_cache()  # says now whether SYNTH_CACHE_DAYS can be read
    manager()
    forgetting = asyncio.create_task(_forget_old_results())
    try:
        yield {}
    finally:
        forgetting.cancel()
        with _lock:
            if _manager is not None:
                _manager.close()
                _manager = None


def routes() -> list[BaseRoute]:
    """plotly.js from the installed package (no copy, no network); the first page's name."""
    package = Path(plotly.__file__).parent / "package_data"

    async def first_page(request: Any) -> RedirectResponse:
        return RedirectResponse(request.url.replace(path="/"))

    return [Mount(f"/{ASSETS}", StaticFiles(directory=package)), Route("/compare", first_page)]


class _BrowserCookie:
    """Gives each browser a random name of its own, unreadable to scripts.

    Tables and settings are kept under it, so that they survive a reload and no other
    browser sees them.
    """

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        known = (
            b"cookie" in dict(scope.get("headers", []))
            and f"{COOKIE}=".encode() in dict(scope["headers"])[b"cookie"]
        )
        if scope["type"] != "http" or known:
            await self._app(scope, receive, send)
            return

        async def send_with_cookie(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    secure = "; Secure" if scope.get("scheme") == "https" else ""
                    headers.append(
                        "set-cookie",
                        f"{COOKIE}={secrets.token_urlsafe(32)}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; "
                        f"SameSite=Lax{secure}",
                    )
            await send(message)

        await self._app(scope, receive, send_with_cookie)


def middleware() -> list[Middleware]:
    """The browser cookie."""
    return [Middleware(_BrowserCookie)]


def hide_error(error: Exception) -> bool:
    """Show a plain sentence instead of a traceback, which could quote confidential values."""
    _log.error("page failed: %s", type(error).__name__)
    st.error(
        "Something went wrong inside the program. Nothing was lost; change a setting or "
        f"reload the page. ({type(error).__name__})",
        icon=":material/error:",
    )
    return True


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
    if not own_programs.asks_for_login() or st.user.is_logged_in:
        return
    st.title("Private synthesis")
    st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
    st.stop()


def prepare_session() -> None:
    """Run at the top of every script run."""
    from synth_core.ui import background, session
    from synth_core.ui.board import forget_if_unmounted

    forget_if_unmounted()
    session.take_over()
    background.keep_alive()
    if problem := manager().storage_problem:
        st.warning(f"{problem} Until then results are shown and not kept.", icon=":material/hard_drive:")
