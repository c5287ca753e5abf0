"""The doors of the server: every request and every connection passes here before Streamlit sees it.

Cookies ignore ports, and Streamlit takes any local origin and any host that equals its origin. So another page
in the same browser could open a connection and read a confidential table. Here a request must name a host of
this server (else a foreign name that was pointed at this address gets in), a page that asks must have been
served by this server, and a browser is known by a key that it sends to this origin alone.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from synth_core.ui.server import origins

BROWSER_HEADER = "x-synth-browser"  # what the rest of the server knows a browser by; never a client's own
SCRIPT = f"<script>{Path(__file__).with_name('browser_key.js').read_text()}</script>"
PROTOCOL = "synth."
HEADERS = {
    "content-security-policy": "frame-ancestors 'self'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_KEY = re.compile(r"[A-Za-z0-9_-]{43}")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def refusal(kind: str, scheme: str, headers: Headers, method: str = "GET") -> str | None:
    """Why a request may not come in, or None.

    Parameters
    ----------
    kind : str
        "http" or "websocket".
    scheme : str
        "http", "https", "ws" or "wss".
    """
    hosts = headers.getlist("host")
    own = (
        origins.own({"ws": "http", "wss": "https"}.get(scheme, scheme), hosts[0]) if len(hosts) == 1 else None
    )
    if not own:
        return (
            "This server was asked for under a name that is not its own. Its administrator declares its address in "
            f"{origins.VARIABLE}."
        )
    origin = headers.get("origin")
    if origin is not None or kind == "websocket":  # a browser always says who opens a connection
        if origins.parse(origin or "") not in own:
            return "Only pages of this server may ask it."
    elif headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if method != "GET" or not followed:
            return "Only pages of this server may use its files."
    return None


class RequestGuard:
    """The outermost middleware.

    Parameters
    ----------
    head : callable, optional
        What stands at the beginning of a page beside the script of the key, by the page's path.
    """

    def __init__(self, app: Any, head: Callable[[str], str] = lambda path: ""):
        self._app = app
        self._head = head

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        reason = refusal(scope["type"], scope.get("scheme", "http"), headers, scope.get("method", "GET"))
        if reason is not None:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": reason})
            else:
                await PlainTextResponse(reason, 403)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._app(_with_key(scope), receive, send)
        else:
            page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
            await self._app(
                _without(scope, _COMPRESSED_OR_KEPT if page else ()),
                receive,
                _with_head(send, SCRIPT + self._head(scope["path"])),
            )


_COMPRESSED_OR_KEPT = ("accept-encoding", "if-none-match", "if-modified-since", "range")


def _without(scope: Message, names: tuple[str, ...]) -> Message:
    dropped = {name.encode() for name in (*names, BROWSER_HEADER)}
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() not in dropped]}


def _with_key(scope: Message) -> Message:
    """Streamlit reads what it knows by its place: the browser's key is taken out, and put into a header."""
    headers = Headers(scope=scope)
    offered = [part.strip() for part in headers.get("sec-websocket-protocol", "").split(",")]
    keys = [part.removeprefix(PROTOCOL) for part in offered if part.startswith(PROTOCOL)]
    kept = [part for part in offered if not part.startswith(PROTOCOL)]
    scope = _without(scope, ("sec-websocket-protocol",))
    scope["subprotocols"] = [part for part in kept if part]
    added = {"sec-websocket-protocol": ", ".join(kept)} if any(kept) else {}
    if len(keys) == 1 and _KEY.fullmatch(keys[0]):
        added[BROWSER_HEADER] = keys[0]
    scope["headers"] += [(name.encode(), value.encode()) for name, value in added.items()]
    return scope


def _with_head(send: Send, head: str) -> Send:
    """Add the headers; a page gets what belongs to its beginning."""
    start: Message | None = None
    body = bytearray()

    async def sending(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            page = headers.get("content-type", "").startswith("text/html")
            if page and message["status"] == 200 and "content-encoding" not in headers:
                start = message
                return
        if start is None:
            await send(message)
            return
        body.extend(message.get("body", b""))
        if message.get("more_body"):
            return
        content = bytes(body).replace(b"<head>", b"<head>" + head.encode(), 1)
        headers = MutableHeaders(scope=start)
        headers["content-length"] = str(len(content))
        headers["cache-control"] = "no-store"
        for name in ("etag", "last-modified"):
            if name in headers:
                del headers[name]
        await send(start)
        await send({"type": "http.response.body", "body": content})

    return sending
