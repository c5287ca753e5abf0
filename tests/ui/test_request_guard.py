"""Nothing is answered under another host's name or for another page, whatever the way in."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from synth_core.errors import InputError
from synth_core.ui.server import access, http, origins
from synth_core.ui.server.request_guard import BROWSER_HEADER, RequestGuard, refusal

KEY = "k" * 43
HERE = "127.0.0.1:8501"


def asked(kind="http", scheme="http", method="GET", **headers):
    named = {name.replace("_", "-"): value for name, value in ({"host": HERE} | headers).items()}
    return refusal(kind, scheme, Headers(named), method)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "localhost"},
        {"host": "[::1]:8501"},
        {"origin": f"http://{HERE}"},
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "none", "sec_fetch_mode": "navigate"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
    ],
)
def test_what_may_come_in(headers):
    assert asked(**headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example@127.0.0.1"},
        {"host": "127.0.0.1/x"},
        {"host": ""},
        {"host": "127.0.0.1:99999"},
        {"origin": "http://127.0.0.1:9604"},
        {"origin": "http://localhost:8501"},
        {"origin": f"https://{HERE}"},
        {"origin": "null"},
        {"origin": ""},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
        {
            "sec_fetch_site": "cross-site",
            "sec_fetch_mode": "navigate",
            "sec_fetch_dest": "document",
            "method": "POST",
        },
    ],
)
def test_what_may_not(headers):
    assert asked(**headers)


def test_two_hosts_are_none():
    pairs = [(b"host", HERE.encode()), (b"host", b"evil.example")]
    assert refusal("http", "http", Headers(raw=pairs))


def test_a_connection_names_its_page():
    assert asked("websocket", "ws")
    assert asked("websocket", "ws", origin="http://127.0.0.1:9604")
    assert asked("websocket", "ws", origin=f"http://{HERE}") is None


def test_a_declared_address_counts_also_behind_a_proxy_that_ends_tls(monkeypatch):
    monkeypatch.setenv(origins.VARIABLE, "https://synth.example.org, http://10.0.0.5:8501")
    assert asked("websocket", "ws", host="synth.example.org", origin="https://synth.example.org") is None
    assert asked("websocket", "ws", host="synth.example.org", origin="http://synth.example.org")
    assert asked("websocket", "ws", host="synth.example.org", origin="http://10.0.0.5:8501")
    assert asked(host="10.0.0.5:8501", origin="http://10.0.0.5:8501") is None
    assert asked(host="10.0.0.5")
    assert asked(host="other.example.org")


@pytest.mark.parametrize(
    "text", ["synth.example.org", "https://", "https://a/b", "ftp://a", "https://a b", "*", "https://u@a"]
)
def test_an_address_that_cannot_be_read_is_named(monkeypatch, text):
    monkeypatch.setenv(origins.VARIABLE, text)
    with pytest.raises(InputError, match=origins.VARIABLE):
        origins.declared()
    with pytest.raises(InputError, match=origins.VARIABLE):
        access.enforce()  # when the server starts, not with the first request


async def page(request):
    return HTMLResponse("<html><head><title>x</title></head></html>", headers={"etag": "1"})


async def name(request):
    return PlainTextResponse(request.headers.get(BROWSER_HEADER, "nobody"))


async def stream(socket):
    await socket.accept(subprotocol=socket.scope["subprotocols"][0])
    protocols = socket.headers["sec-websocket-protocol"]
    await socket.send_text(f"{socket.headers.get(BROWSER_HEADER, 'nobody')}|{protocols}")
    await socket.close()


APP = RequestGuard(
    Starlette(routes=[Route("/", page), Route("/name", name), WebSocketRoute("/stream", stream)])
)


def send(kind, path, headers, **more):
    """What the server answers, message by message."""
    answers = []
    first = {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request", "body": b""}

    async def receive():
        return first

    async def answer(message):
        answers.append(message)

    pairs = [(key.encode(), value.encode()) for key, value in ({"host": HERE} | headers).items()]
    scope = {"type": kind, "path": path, "query_string": b"", "headers": pairs, "root_path": ""} | more
    with ThreadPoolExecutor(1) as thread:  # browser tests in this process have a loop of their own
        thread.submit(lambda: asyncio.run(APP(scope, receive, answer))).result()
    return answers


def get(path, **headers):
    """Status, headers and body of an answer."""
    headers = {key.replace("_", "-"): value for key, value in headers.items()}
    start, *bodies = send("http", path, headers, method="GET", scheme="http")
    body = b"".join(message.get("body", b"") for message in bodies)
    return start["status"], Headers(raw=start["headers"]), body.decode()


def connect(*protocols, **headers):
    """What the server says to a connection; None if it refuses it."""
    offered = {"origin": f"http://{HERE}", "sec-websocket-protocol": ", ".join(protocols)} | headers
    answers = send("websocket", "/stream", offered, scheme="ws", subprotocols=list(protocols))
    return next((message["text"] for message in answers if message["type"] == "websocket.send"), None)


def test_a_browser_is_known_by_the_key_that_its_page_sends():
    assert connect("streamlit", "a", "b", f"synth.{KEY}") == f"{KEY}|streamlit, a, b"
    assert connect("streamlit", "", "", f"synth.{KEY}") == f"{KEY}|streamlit, , "


@pytest.mark.parametrize("key", ["short", KEY + "k", "k" * 42 + "!"])
def test_a_key_of_another_form_is_none(key):
    assert connect("streamlit", f"synth.{key}").startswith("nobody|")


def test_a_client_cannot_write_the_name_itself():
    assert connect("streamlit", **{BROWSER_HEADER: KEY}).startswith("nobody|")
    assert get("/name", x_synth_browser=KEY)[2] == "nobody"


def test_a_refused_connection_is_closed_before_it_opens():
    offered = {"origin": "http://127.0.0.1:9604", "sec-websocket-protocol": "streamlit"}
    (answer,) = send("websocket", "/stream", offered, scheme="ws", subprotocols=["streamlit"])
    assert (answer["type"], answer["code"]) == ("websocket.close", 1008)


def test_a_page_gets_the_script_and_every_answer_its_headers():
    _, headers, text = get("/", accept="text/html", if_none_match="1")
    assert text.index("synth-key") < text.index("<title>")
    assert int(headers["content-length"]) == len(text.encode())
    assert "etag" not in headers
    for _, headers, _ in (get("/", accept="text/html"), get("/name"), get("/nowhere")):
        assert headers["content-security-policy"] == "frame-ancestors 'self'"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    assert get("/", host="evil.example")[0] == 403


def test_the_doors_stand_before_all_else():
    assert http.middleware()[0].cls is RequestGuard
