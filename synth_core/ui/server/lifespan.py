"""Start and end of the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.formparsers import MultiPartParser
from streamlit.runtime.pages_manager import PagesManager

from synth_core.jobs.preparation import Preparation
from synth_core.models import PROGRAMS
from synth_core.system import limits
from synth_core.system.cache import results_cache
from synth_core.ui.server import access
from synth_core.ui.server.manager import close_manager, manager

PRUNE_SECONDS = 3600
GRACE_SECONDS = 5  # in which an open request may still be answered once the server is asked to end

_preparation: Preparation | None = None


def preparation() -> Preparation | None:
    """The models that are compiled beside the app."""
    return _preparation


async def _forget_old_results() -> None:
    """Keep the age limit of the cache on a server that nobody uses, too."""
    while True:
        await asyncio.to_thread(results_cache().prune)
        await asyncio.sleep(PRUNE_SECONDS)


def _end_in_time() -> None:
    """Let the server end although a connection stays open.

    Without a limit uvicorn waits for ever: for an upload that broke off, for a connection that a browser opened
    ahead of need while the server was ending. Streamlit has no option for the limit, and a signal leads to the server.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = GRACE_SECONDS


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the workers with the server, and end them and their samplers with it."""
    global _preparation
    # Until some session has called st.navigation, Streamlit would serve the files in pages/
    # by themselves, without app.py: a first visit to /data would lack the frame.
    PagesManager.uses_pages_directory = False
    # Uploads stay in memory: beyond 1 MB the form parser would spool them into a temporary file.
    MultiPartParser.spool_max_size = (limits.MAX_UPLOAD_MB + 1) * 1024**2
    # It logs tracebacks, whose messages may quote cells, before `hide_error` is asked.
    logging.getLogger("streamlit.error_util").disabled = True
    _end_in_time()
    access.enforce()
    results_cache()  # says now whether SYNTH_CACHE_DAYS can be read
    manager()
    _preparation = Preparation(PROGRAMS)
    forgetting = asyncio.create_task(_forget_old_results())
    try:
        yield {}
    finally:
        forgetting.cancel()
        _preparation.close()
        close_manager()
