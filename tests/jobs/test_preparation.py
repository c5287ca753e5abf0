"""Models that are compiled beside the app: seen, of low priority, and ended with it. No compiler is needed."""

import contextlib
import os
import signal
import subprocess
import time

import psutil
import pytest

from synth_core.jobs.preparation import Preparation
from tests.conftest import PYTHON, ROOT

PROGRAMS = ("beta.stan", "poisson.stan")
# A toolchain whose compiler waits for a file `go`.
MAKEFILE = """
%:
\t@while [ ! -e {go} ]; do sleep 0.05; done; echo code > $@
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Creating this file lets the compilers finish."""
    go, cmdstan = tmp_path / "go", tmp_path / "cmdstan"
    (cmdstan / "bin").mkdir(parents=True)
    (cmdstan / "bin" / "stanc").touch()
    (cmdstan / "makefile").write_text(MAKEFILE.format(go=go))
    monkeypatch.setenv("CMDSTAN", str(cmdstan))
    monkeypatch.setenv("SYNTH_CACHE_DIR", str(tmp_path / "cache"))
    return go


def eventually(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def compilers(of):
    found = []
    for each in psutil.Process(of).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end meanwhile
            found += [each] if each.name() == "make" else []
    return found


def gone(processes):
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


def test_it_says_how_many_are_ready_and_is_quiet_when_all_are(go):
    preparation = Preparation(PROGRAMS)
    try:
        first = eventually(lambda: compilers(os.getpid()))[0]
        assert os.getpriority(os.PRIO_PROCESS, first.pid) == 19
        assert preparation.running
        assert preparation.progress() == (0, 2)
        go.touch()
        eventually(lambda: not preparation.running)
        assert preparation.progress() == (2, 2)
        assert not Preparation(PROGRAMS).running  # a later server has nothing to do
    finally:
        preparation.close()


def test_it_ends_with_its_server(go):
    preparation = Preparation(PROGRAMS)
    running = eventually(lambda: compilers(os.getpid()))
    preparation.close()
    eventually(lambda: gone(running))


def test_it_does_not_outlive_a_killed_server(go):
    code = (
        "import time; from synth_core.jobs.preparation import Preparation; "
        f"Preparation({PROGRAMS}); time.sleep(60)"
    )
    server = subprocess.Popen([PYTHON, "-c", code], cwd=ROOT)
    try:
        running = eventually(lambda: compilers(server.pid))
        server.send_signal(signal.SIGKILL)
        eventually(lambda: gone(running))
    finally:
        server.kill()
        server.wait()


def test_what_goes_wrong_does_not_keep_the_app_from_starting(go, tmp_path, monkeypatch, capfd):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("SYNTH_CACHE_DIR", str(blocked / "cache"))
    preparation = Preparation(PROGRAMS)
    eventually(lambda: not preparation.running)
    assert preparation.progress() == (0, 2)
    preparation.close()
    assert "The cache directory cannot be written" in capfd.readouterr().err
