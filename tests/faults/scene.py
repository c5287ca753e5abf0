"""What the fault cases share: work to disturb, its undisturbed answer, disks to fill, and what must hold."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.examples import load_example
from synth_core.experiments.explore.knobs import settings_at
from synth_core.jobs.job import Job
from synth_core.jobs.manager import JobManager
from synth_core.jobs.study_task import StudyRequest
from synth_core.jobs.task import Task, TaskInput
from synth_core.jobs.tasks import MechanismTask, PointTask, ReleaseTask, StudyTask
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request
from synth_core.release.plan.plan import read_plan

TABLE = load_example("beta", 300)
SETTINGS = {"outcome": "x", "model": "beta", "bounds": (0.0, 1.0), "draws": 1000, "warmup": 500}
ACTIVITIES = ("comparison", "map", "study", "release")
EPSILON = 6.0
NOT_RESULTS = {"seconds", "cached", "heading", "cpu_seconds"}  # how long it took, and from where it came
SAYS_WHAT_TO_DO = re.compile(
    r"\b(free|try|run it again|restored?|make it|end other|install|name another)\b", re.I
)
NOT_WORDS = re.compile(r"Traceback|Errno|Error\b|Exception|something went wrong|/tmp/|\.py\b", re.I)


@dataclass
class Log:
    """What a case did: how often a fault struck, results compared with the undisturbed ones, words shown."""

    struck: int = 0
    compared: int = 0
    messages: set[str] = field(default_factory=set)

    def say(self, message: str) -> None:
        """A message that a user would see: plain words, and what to do."""
        assert SAYS_WHAT_TO_DO.search(message) and not NOT_WORDS.search(message), message
        self.messages.add(message)

    def same(self, found: Any, expected: Any) -> None:
        """Bit for bit, apart from how long it took."""
        assert plain(found) == plain(expected)
        self.compared += 1


def plain(value: Any) -> str:
    """A result as text in which every bit of every number shows."""

    def cut(part: Any) -> Any:
        if is_dataclass(part) and not isinstance(part, type):
            part = {each.name: getattr(part, each.name) for each in fields(part)}
        if isinstance(part, dict):
            return {k: cut(v) for k, v in sorted(part.items()) if k not in NOT_RESULTS}
        return [cut(v) for v in part] if isinstance(part, list | tuple) else part

    def other(part: Any) -> Any:
        return part.tolist() if isinstance(part, np.ndarray | np.generic) else str(part)

    return json.dumps(cut(value), default=other)


def was_stored(answer: Any) -> bool:
    """Whether an answer came from the cache, of a kind that says so."""
    return bool(getattr(getattr(answer, "numbers", answer), "cached", False))


@contextlib.contextmanager
def environment(**values: str | Path | None) -> Iterator[None]:
    """Environment variables for this process and the workers that it starts meanwhile; None removes one."""
    before = {name: os.environ.get(name) for name in values}

    def put(pairs: dict[str, Any]) -> None:
        for name, value in pairs.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(value)

    put(values)
    try:
        yield
    finally:
        put(before)


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A tmpfs of its own size; skipped, visibly, where this user may not mount one."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk (root is needed): not tried here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, *options: str) -> None:
    """Give a small disk another size, or make it read-only (`ro`) or writable (`rw`)."""
    deadline = time.monotonic() + 10
    command = ["mount", "-o", ",".join(("remount", *options)), str(place)]
    while subprocess.run(command, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "the disk stayed busy"
        time.sleep(0.05)


class Scene:
    """A directory with results and state of its own, and the source of chance."""

    def __init__(self, directory: Path, seed: int):
        self.directory = directory
        self.results, self.state = directory / "results", directory / "state"
        self.rng = random.Random(seed)
        self.log = Log()

    def settings(self, **more: Any) -> Any:
        return make_settings(**(SETTINGS | {"seed": 11} | more))

    @contextlib.contextmanager
    def app(self, lanes: int = 2, **values: str | Path | None) -> Iterator[JobManager]:
        """The app's background processes on this scene's directories; nothing of them may be left."""
        with environment(SYNTH_RESULTS_DIR=self.results, SYNTH_STATE_DIR=self.state, **values):
            manager = JobManager(lanes)
            try:
                yield manager
            finally:
                manager.close()
                eventually(lambda: not processes_of(manager), "processes outlive the app")
                assert not manager.directory.exists()

    def tasks(self, activity: str) -> list[Task]:
        """What an analyst asks for, as the pages ask for it."""
        if activity == "comparison":
            names = ("weighted", "censored", "censored_weighted", "count_weighted")
            return [MechanismTask(TaskInput.of(TABLE, self.settings()), name) for name in names]
        if activity == "map":
            return [
                PointTask(TaskInput.of(TABLE, settings_at(self.settings(), at)), "censored")
                for at in ({"epsilon": e} for e in (3.0, 4.0, 5.0, 6.0, 7.0, 8.0))
            ]
        if activity == "study":
            return [StudyTask.of(TABLE, self.settings(), StudyRequest("range-4.2", 6, 1))]
        assert activity == "release"
        return [ReleaseTask.of(self.request(), f"{self.rng.random()}")]

    def request(self, label: str = "first", **more: Any) -> Request:
        """A release of the table by a plan that is made once."""
        plan = self.directory / "plan.json"
        if not plan.exists():
            with environment(SYNTH_RESULTS_DIR=self.directory / "planning", SYNTH_STATE_DIR=self.state):
                status = main(["plan", "example:beta", "--rows", "200", "--data-seed", "100", "--mechanism",
                               "censored", "--epsilon", str(EPSILON), "--tuned-on", "simulated", "--series", "s",
                               "--reason", "test", "--decided-by", "me", "--limit", "1000", "--draws", "4000",
                               "--warmup", "500", "--chains", "1", "--out", str(plan)])  # fmt: skip
            assert status == 0
        return Request(read_plan(plan), None, TABLE, label=label, **more)


def finish(
    scene: Scene,
    manager: JobManager,
    tasks: list[Task],
    disturb: Callable[[list[Job]], None] = lambda jobs: None,
) -> list[dict[str, Any]]:
    """Ask until everything is answered, as a user would who presses Run again; `disturb` is called meanwhile."""
    deadline = time.monotonic() + 240
    while True:
        jobs = manager.submit("user", tasks)
        while not all(job.finished.is_set() for job in jobs):
            assert time.monotonic() < deadline, [job.state for job in jobs]
            disturb(jobs)
            manager.touch(jobs)
            time.sleep(0.02)
        failed = [job for job in jobs if job.state != "done"]
        for job in failed:
            assert job.state == "failed", job.state
            scene.log.say(job.error)
        if not failed:
            return [job.answer for job in jobs]  # type: ignore[misc]
        manager.forget("user", failed)


_expected: dict[str, list[dict[str, Any]]] = {}


def expected(activity: str) -> list[dict[str, Any]]:
    """The same work without a fault; computed once."""
    if activity not in _expected:
        with tempfile.TemporaryDirectory(prefix="synth-faults-") as directory:
            scene = Scene(Path(directory), 0)
            with scene.app() as manager:
                _expected[activity] = finish(scene, manager, scene.tasks(activity))
    return _expected[activity]


def check(scene: Scene, activity: str, found: list[dict[str, Any]]) -> None:
    """What was found after the fault is what is found without one; a release is charged once and whole."""
    if activity != "release":
        scene.log.same(found, expected(activity))
        return
    with environment(SYNTH_RESULTS_DIR=scene.results, SYNTH_STATE_DIR=scene.state):
        check_release(scene)


def check_release(scene: Scene, releases: int = 1) -> None:
    """The chain holds, each release is charged once, and drawn again it has the same bytes."""
    from synth_core.release.making.releasing import release

    ledger = Ledger()
    assert set(ledger.verify()) == {"s"}
    assert ledger.balance("s").spent == releases * EPSILON
    ledger.close()
    again = release(scene.request(recompute=True))  # refuses a releasable archive that differs
    assert again.state == "repeated"
    scene.log.compared += 1


def processes_of(manager: JobManager) -> list[psutil.Process]:
    """Workers and samplers of an app: their files lie in its directory."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            mine = str(manager.directory) in " ".join(process.cmdline())
            if (mine or process.pid in manager.worker_pids()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def samplers_of(manager: JobManager) -> list[psutil.Process]:
    """The sampler processes of an app."""
    found = []
    for pid in manager.worker_pids():
        with contextlib.suppress(psutil.Error):
            found += [
                p for p in psutil.Process(pid).children(recursive=True) if "method=sample" in p.cmdline()
            ]
    return found


def kill(process: psutil.Process | int) -> bool:
    """kill -9; whether there was something to kill."""
    try:
        os.kill(process if isinstance(process, int) else process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def eventually(
    condition: Callable[[], Any], what: str, seconds: float = 20, seen: Callable[[], Any] = lambda: ""
) -> None:
    """Wait until a condition holds; what is `seen` when it never does stands in the failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} {seen()}"
        time.sleep(0.02)
