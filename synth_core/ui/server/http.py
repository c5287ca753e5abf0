"""What the server sends besides pages: plotly.js, and a private cookie for each browser."""

from __future__ import annotations

import secrets
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

COOKIE = "synth_browser"
COOKIE_SECONDS = 30 * 24 * 3600  # a browser finds its finished runs again after it was closed
ASSETS = "assets"


def routes() -> list[BaseRoute]:
    """plotly.js from the installed package (no copy, no network); the first page's name."""
    package = Path(plotly.__file__).parent / "package_data"

    async def first_page(request: Any) -> RedirectResponse:
        return RedirectResponse(request.url.replace(path="/"))

    return [Mount(f"/{ASSETS}", StaticFiles(directory=package)), Route("/compare", first_page)]


def plotly_path() -> str:
    """Where the browser finds plotly.js."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/{ASSETS}/plotly.min.js".replace("//", "/")


class _PageHeaders:
    """Gives each browser a random name of its own, unreadable to scripts, and the first page plotly.js early.

    Tables and settings are kept under the name, so that they survive a reload and no other
    browser sees them.
    """

    def __init__(self, app: Any):
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        known = f"{COOKIE}=".encode() in dict(scope["headers"]).get(b"cookie", b"")
        plotly = plotly_path()
        first = scope["path"].rstrip("/") == plotly.partition(f"/{ASSETS}")[0]

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                html = headers.get("content-type", "").startswith("text/html")
                if html and first:
                    headers.append("link", f"<{plotly}>; rel=preload; as=script")
                if html and not known:
                    secure = "; Secure" if scope.get("scheme") == "https" else ""
                    headers.append(
                        "set-cookie",
                        f"{COOKIE}={secrets.token_urlsafe(32)}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; "
                        f"SameSite=Lax{secure}",
                    )
            await send(message)

        await self._app(scope, receive, send_with_headers)


def middleware() -> list[Middleware]:
    """The headers of pages."""
    return [Middleware(_PageHeaders)]
