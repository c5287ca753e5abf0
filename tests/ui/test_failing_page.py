"""What a page that fails says: neither its browser nor the server's log is told what was in the data."""

from pathlib import Path

import pytest

from tests.browser.conftest import Server
from tests.conftest import ROOT
from tests.support.stream import visit

APP = """
import streamlit as st
from synth_core.ui import frame
from synth_core.ui.server import http, lifespan

if __name__ == "__main__":
    cell = "CANARY-" + "CELL"
    from synth_core.data.examples import load_example
    try:
        load_example(cell)
    except Exception as error:
        raise ValueError(f"could not convert string to float: {cell!r}").with_traceback(error.__traceback__)
else:
    app = st.App(__file__, lifespan=lifespan.lifespan, routes=http.routes(), middleware=http.middleware(),
                 on_script_error=frame.hide_error)
"""


@pytest.mark.slow
def test_a_value_in_an_error_reaches_neither_browser_nor_log(tmp_path):
    file = tmp_path / "app.py"
    file.write_text(APP)
    server = Server(
        str(tmp_path / "results"), app=str(file), PYTHONPATH=str(ROOT), SYNTH_STATE_DIR=str(tmp_path)
    )
    try:
        shown = visit(server.url, origin=server.url, seconds=3.0)
        server.log.flush()
        log = Path(server.log.name).read_text()
    finally:
        server.stop()
    assert shown is not None and b"Something went wrong" in shown and b"(ValueError)" in shown
    assert "page failed: ValueError at synth_core/data/examples.py:" in log
    assert b"CANARY-CELL" not in shown and "CANARY-CELL" not in log
    assert "Traceback" not in log
