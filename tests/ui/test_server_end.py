"""A server that is asked to end does so, whatever is still open."""

import socket

import pytest

from synth_core.ui.server.http import plotly_path
from synth_core.ui.server.lifespan import GRACE_SECONDS
from tests.browser.conftest import Server


@pytest.mark.slow
def test_a_reader_that_stalls_does_not_hold_the_server_back(tmp_path):
    server = Server(str(tmp_path / "results"))
    with socket.socket() as reader:
        # Before it connects: the rest stays unsent.
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", server.port))
        reader.sendall(f"GET {plotly_path()} HTTP/1.1\r\nHost: {server.url[7:]}\r\n\r\n".encode())
        assert reader.recv(1024).startswith(b"HTTP/1.1 200")
        assert GRACE_SECONDS <= server.stop() < GRACE_SECONDS + 30
