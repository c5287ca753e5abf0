"""A real Dask scheduler and two worker processes on loopback: the same numbers, also with one killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from synth_core.cli import main
from synth_core.errors import FitError, InputError
from synth_core.experiments.studies.run_study import run_study
from synth_core.jobs.warm_up import warm_up
from synth_core.system.backend import SerialBackend, open_backend
from synth_core.system.cache import Cache
from tests.conftest import ROOT
from tests.support.studies import small

distributed = pytest.importorskip("distributed", reason="requirements-dask.txt is not installed")
pytestmark = [
    pytest.mark.stan,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, directory, python_path=str(ROOT)):
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.directory = directory
        self.environment = os.environ | {"PYTHONPATH": python_path, "TMPDIR": str(directory)}
        port = self.address.rsplit(":", 1)[1]
        self.processes = [self.start("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")]

    def start(self, *arguments):
        with (self.directory / "cluster.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
                cwd=self.directory, env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip

    def add_workers(self, count):
        added = [
            self.start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
            for _ in range(count)
        ]
        self.processes += added
        with distributed.Client(self.address, timeout=20, set_as_default=False) as client:
            client.wait_for_workers(len(self.processes) - 1, timeout=60)
        return added

    def close(self):
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(10)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    found = Cluster(tmp_path)
    monkeypatch.setenv("SYNTH_DASK_SCHEDULER", found.address)
    yield found
    found.close()


def same(one, two):
    assert one.measured.keys() == two.measured.keys()
    for key, values in one.measured.items():
        np.testing.assert_array_equal(values, two.measured[key], err_msg=str(key))


@pytest.mark.long
def test_a_killed_worker_costs_its_tasks_only(cluster, tmp_path):
    study = small(rows=400, draws=1000)
    expected = run_study(study, 6, 1, SerialBackend(), Cache(tmp_path / "serial"))
    victim = cluster.add_workers(2)[0]
    seen = []

    def report(done, total, left):
        seen.append(done)
        if done == 2:
            victim.send_signal(signal.SIGKILL)

    with open_backend(None, warm_up) as backend:
        assert backend.description.startswith("2 Dask workers")
        found = run_study(study, 6, 1, backend, Cache(tmp_path / "dask"), report)
    assert victim.wait(10) == -signal.SIGKILL
    assert seen == list(range(7))
    same(expected, found)


@pytest.mark.slow
def test_leaving_cancels_what_still_runs(cluster, tmp_path):
    cluster.add_workers(1)
    with open_backend(None, warm_up) as backend:
        answers = backend.run(_slow, iter(range(50)))
        assert next(answers).value == 0
    with distributed.Client(cluster.address, timeout=5, set_as_default=False) as client:
        deadline = time.monotonic() + 10
        while any(client.processing().values()):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _slow(task, check):
    for _ in range(20):
        time.sleep(0.01)
        check()
    return task


@pytest.mark.long
def test_a_task_that_always_kills_its_worker_is_told(cluster):
    cluster.add_workers(1)
    with open_backend(None) as backend, pytest.raises(FitError, match=r"no workers|connection"):
        from synth_core.system.backend import cluster as room

        with contextlib.ExitStack() as stack:
            stack.callback(setattr, room, "NO_WORKERS_SECONDS", room.NO_WORKERS_SECONDS)
            room.NO_WORKERS_SECONDS = 2
            list(backend.run(_die, iter(range(3))))


def _die(task, check):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_workers_without_the_project_say_what_is_missing(tmp_path, monkeypatch):
    found = Cluster(tmp_path, python_path=str(tmp_path))
    try:
        found.add_workers(1)
        monkeypatch.setenv("SYNTH_DASK_SCHEDULER", found.address)
        with pytest.raises(FitError, match=r"synth_core.*PYTHONPATH"):
            open_backend(None, warm_up)
    finally:
        found.close()


def test_a_scheduler_without_workers_is_refused(cluster):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(cluster.address[6:].split(":"), 1):
            break
        time.sleep(0.1)
    with pytest.raises(FitError, match="no workers"):
        open_backend(None, warm_up)


@pytest.mark.slow
def test_an_address_where_nothing_answers(monkeypatch, capsys):
    from synth_core.system.backend import cluster as room

    monkeypatch.setattr(room, "CONNECT_SECONDS", 2)
    monkeypatch.setenv("SYNTH_DASK_SCHEDULER", f"tcp://127.0.0.1:{free_port()}")
    started = time.monotonic()
    assert main(["study", "range-4.2", "--replicates", "1"]) == 1
    assert time.monotonic() - started < 20
    assert "No Dask scheduler answers at tcp://127.0.0.1" in capsys.readouterr().err
    monkeypatch.setenv("SYNTH_DASK_SCHEDULER", "somewhere")
    with pytest.raises(InputError, match="tcp://host:port"):
        open_backend(None)
