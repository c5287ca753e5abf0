"""Streamlit's connection without a browser, as an attacker would write it."""

import contextlib
import socket

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from synth_core.ui.server.request_guard import PROTOCOL


def visit(
    address: str,
    *,
    origin: str | None,
    key: str | None = None,
    host: str | None = None,
    headers: dict[str, str] | None = None,
    page: str = "",
    seconds: float = 20.0,
) -> bytes | None:
    """What the server sends to a first visit, until it has run the page once; None if it does not let in.

    Parameters
    ----------
    address : str
        Of the server, "http://127.0.0.1:8501".
    host : str, optional
        The Host header, if not the address's own.
    page : str
        The page asked for, such as "data".
    """
    ask = BackMsg()
    ask.rerun_script.page_name = page
    protocols = ["streamlit", "token", "session"] + ([f"{PROTOCOL}{key}"] if key else [])
    target = address.replace("http", "ws", 1)
    there = target.removeprefix("ws://").split(":")
    with contextlib.suppress(WebSocketException, OSError):
        name = host or ":".join(there)
        with connect(
            f"ws://{name}/_stcore/stream",
            sock=socket.create_connection((there[0], int(there[1])), timeout=10),
            origin=origin,
            subprotocols=protocols,
            additional_headers=headers,
            max_size=None,
            proxy=None,
        ) as stream:
            stream.send(ask.SerializeToString())
            found = b""
            with contextlib.suppress(TimeoutError, WebSocketException):
                while True:
                    message = stream.recv(seconds)
                    found += message if isinstance(message, bytes) else message.encode()
                    if b"Mechanisms" in found or b"complete rows" in found:
                        return found
            return found
    return None
