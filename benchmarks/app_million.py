"""A table of a million rows through the app: uploaded, chosen, seen; what it costs and what the browser gets."""

from __future__ import annotations

import tempfile
import time

from benchmarks.browser import VIEW, Watched, chromium
from benchmarks.measure import Line, TreeMemory, claim, sized
from benchmarks.million import MEMORY_GIB, write_csv

MOST_SENT = 400 * 1024  # bytes of a picture: what it draws, whatever the number of records


def app_million(n: int | None = None) -> list[Line]:
    """Upload the file, choose the outcome, wait for the picture, move a slider; memory of the server's tree."""
    n = n or sized(1_000_000, 1_000)
    from tests.browser.conftest import Server, settled, upload

    lines = []
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        if browser is None:
            return [Line("a million rows through the app", None, note="skipped: Chromium not found")]
        path = write_csv(n, place)
        server = Server(place + "/results")
        try:
            with TreeMemory(server.process.pid) as memory:
                watched = Watched(browser.new_page(viewport=VIEW))
                page = watched.page
                page.set_default_timeout(240_000)
                page.goto(server.url + "/data")
                settled(page)
                memory.take()
                started = time.perf_counter()
                upload(page, path)
                page.get_by_text(f"In use: {path.name}").wait_for()
                lines.append(Line(f"app, n = {n:,}: upload to its columns on screen",
                                  time.perf_counter() - started, memory=memory.take()))  # fmt: skip
                started, before = time.perf_counter(), watched.received
                page.get_by_role("link", name="Compare", exact=True).first.click()
                watched.painted()
                lines.append(Line(f"app, n = {n:,}: to the first picture, 2 mechanisms",
                                  time.perf_counter() - started, memory=memory.take(),
                                  note=f"{(watched.received - before) / 1024:.0f} KiB sent"))  # fmt: skip
                settled(page)
                seconds, sent = watched.move("ArrowLeft")
                peak = memory.take()
                lines.append(Line(f"app, n = {n:,}: slider to exact picture", seconds, memory=peak,
                                  note=f"{sent / 1024:.0f} KiB sent"))  # fmt: skip
                claim(sent < MOST_SENT, sent)
                claim(max(line.memory or 0 for line in lines) < MEMORY_GIB, lines)
        finally:
            server.stop()
    return lines
