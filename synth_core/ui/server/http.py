"""What the server sends besides pages: plotly.js."""

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

from synth_core.ui.server.doors import Doors

ASSETS = "assets"
_VERSION = f"?v={plotly.__version__}"  # so that a browser may keep it for long


def routes() -> list[BaseRoute]:
    """plotly.js from the installed package (no copy, no network); the first page's name."""
    package = Path(plotly.__file__).parent / "package_data"

    async def first_page(request: Any) -> RedirectResponse:
        return RedirectResponse(request.url.replace(path="/"))

    return [Mount(f"/{ASSETS}", StaticFiles(directory=package)), Route("/compare", first_page)]


def plotly_path() -> str:
    """Where the browser finds plotly.js."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/{ASSETS}/plotly.min.js{_VERSION}".replace("//", "/")


class _PageHeaders:
    """The first page names plotly.js early; a browser keeps it until another version comes."""

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        plotly = plotly_path()
        base = plotly.partition(f"/{ASSETS}")[0]
        first = scope["path"].rstrip("/") == base
        asset = scope["path"].startswith(f"{base}/{ASSETS}/")

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if first and headers.get("content-type", "").startswith("text/html"):
                    headers.append("link", f"<{plotly}>; rel=preload; as=script")
                if asset and message["status"] == 200:
                    headers["cache-control"] = "public, max-age=31536000, immutable"
            await send(message)

        await self._app(scope, receive, send_with_headers)


def middleware() -> list[Middleware]:
    """The doors, and behind them the headers of pages."""
    return [Middleware(Doors), Middleware(_PageHeaders)]
