"""What the server sends besides pages: plotly.js, and the way from old addresses to new ones."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from synth_core.ui.server.request_guard import RequestGuard

ASSETS = "assets"
_BLANK_PAGE = Path(__file__).with_name("blank_page.js").read_text()
MOVED = {  # addresses that somebody may have kept: path, query, fragment of what stands there now
    "compare": ("", "", ""),
    "model_check": ("data", "", "fit"),
    "ranges": ("", "view=Sensitive+range", ""),
    "explore": ("find_settings", "", ""),
    "studies": ("robustness", "", ""),
    "methods": ("help", "section=Methods", ""),
    "own_program": ("help", "section=Own+programs", ""),
}
_VERSION = f"?v={plotly.__version__}"  # so that a browser may keep it for long


def routes() -> list[BaseRoute]:
    """plotly.js from the installed package (no copy, no network); addresses of pages that have moved."""
    package = Path(plotly.__file__).parent / "package_data"

    async def moved(request: Any) -> RedirectResponse:
        path, query, fragment = MOVED[request.url.path.strip("/")]
        both = "&".join(filter(None, (query, request.url.query)))
        return RedirectResponse(request.url.replace(path=f"/{path}", query=both, fragment=fragment))

    old = [Route(f"/{name}", moved) for name in MOVED]
    return [Mount(f"/{ASSETS}", StaticFiles(directory=package)), *old]


def plotly_path() -> str:
    """Where the browser finds plotly.js."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/{ASSETS}/plotly.min.js{_VERSION}".replace("//", "/")


def _head(path: str) -> str:
    """What stands at the beginning of a page."""
    return f"<script>{_BLANK_PAGE}</script>{_early_plotly(path)}"


def _early_plotly(path: str) -> str:
    """A script of the first page: plotly.js is loaded and read while the page still waits for its contents."""
    plotly = plotly_path()
    if path.rstrip("/") != plotly.partition(f"/{ASSETS}")[0]:
        return ""
    return f"""<script>
window.synthPlotly = new Promise((resolve, reject) => {{
  const script = document.createElement('script');
  Object.assign(script, {{ src: '{plotly}', onload: () => resolve(window.Plotly), onerror: reject }});
  document.head.append(script);
}});
</script>"""


class _KeptAssets:
    """A browser keeps plotly.js until another version comes."""

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        asset = scope["type"] == "http" and f"/{ASSETS}/" in scope["path"]

        async def send_with_header(message: MutableMapping[str, Any]) -> None:
            if asset and message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message)["cache-control"] = "public, max-age=31536000, immutable"
            await send(message)

        await self._app(scope, receive, send_with_header)


def middleware() -> list[Middleware]:
    """The doors, and behind them the headers of assets."""
    return [Middleware(RequestGuard, head=_head), Middleware(_KeptAssets)]
