"""kill -9 of the real server while samplers run: its processes end, and the next start clears its working files."""

import contextlib
import re
import tempfile
import threading
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.browser.conftest import Server
from tests.faults.scene import eventually, kill
from tests.support.stream import visit

pytestmark = [pytest.mark.slow, pytest.mark.stan]
KEY = "k" * 43
# Where temporary files, shared memory and semaphores lie. Other programs use them too: names are told by process.
PLACES = (Path("/dev/shm"), Path(tempfile.gettempdir()), Path("/tmp"))


def left_by(pids, *places):
    """Names in these places that carry the number of one of these processes: as a word, not within a random name."""
    pattern = re.compile(rf"(?<![0-9a-zA-Z])({'|'.join(map(str, pids))})(?![0-9a-zA-Z])")
    found = set()
    for place in {p for p in places if p.is_dir()}:
        found |= {str(path) for path in place.iterdir() if pattern.search(path.name)}
    return found


def look(url, seen):
    """Look at the first page again and again, as a browser does: its mechanisms are fitted while one looks."""
    while not seen.is_set():
        visit(url, origin=url, key=KEY, seconds=2.0)


def samplers(server):
    found = []
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "method=sample" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.parametrize(
    "own_place",
    [pytest.param(True, id="TMPDIR", marks=pytest.mark.long), pytest.param(False, id="shared memory")],
)
def test_nothing_is_left_once_the_next_server_has_started(tmp_path, own_place):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    more = {"TMPDIR": str(temporary) if own_place else "", "SYNTH_STATE_DIR": str(tmp_path / "state")}
    server = Server(str(tmp_path / "results"), **more)
    seen = threading.Event()
    family: dict[int, psutil.Process] = {}
    try:
        visitor = threading.Thread(target=look, args=(server.url, seen))
        visitor.start()
        eventually(lambda: samplers(server), "no sampler", 120)
        main = psutil.Process(server.process.pid)
        family = {p.pid: p for p in [main, *main.children(recursive=True)]}
        assert left_by(family, temporary, *PLACES), "it works somewhere else"
    finally:
        seen.set()
        kill(server.process.pid)
        server.process.wait()
        server.log.close()
    visitor.join()
    eventually(
        lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family.values()),
        "a process outlives its server",
    )
    after = Server(str(tmp_path / "results"), **more)
    try:
        left = partial(left_by, family, temporary, *PLACES)
        eventually(lambda: not left(), "files of the killed server are left", 90, left)
        visit(after.url, origin=after.url, key=KEY, seconds=1.0)  # and it serves
        others = {p.pid for p in psutil.Process(after.process.pid).children(recursive=True)} | {
            after.process.pid
        }
    finally:
        after.stop()
    eventually(lambda: not left_by(others, temporary, *PLACES), "files of a server that ended are left")
    assert not list(temporary.iterdir())
