"""The faults. Each case disturbs some work, then says what held; `Scene.log` counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from synth_core.cli import main
from synth_core.errors import FitError
from synth_core.jobs.job import Job
from synth_core.jobs.manager import JobManager
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.releasing import release
from synth_core.release.run_store import RunStore
from synth_core.system.files import cache_root
from tests.conftest import ROOT
from tests.faults.scene import (
    ACTIVITIES,
    EPSILON,
    TABLE,
    Scene,
    check,
    check_release,
    environment,
    eventually,
    expected,
    finish,
    kill,
    remount,
    samplers_of,
    small_disk,
    was_stored,
)

DAMAGES = ("flip", "truncate", "empty", "garbage", "zeros")


@dataclass(frozen=True)
class Case:
    """A fault during an activity. `quick` ones run with the default tests, those `by_hand` with `make test-long`.

    What is by hand differs from a case beside it in the work that is disturbed alone.
    """

    fault: str
    activity: str
    run: Callable[[Scene], None]
    quick: bool = False
    by_hand: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}, {self.activity}".replace(" ", "-").replace(",", "")


def damage(path: Path, kind: str, rng) -> None:
    """Spoil a file in place, as a disk or a person does."""
    content = bytearray(path.read_bytes())
    if kind == "flip" and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "truncate":
        del content[rng.randrange(len(content) + 1) :]
    elif kind == "empty":
        content.clear()
    elif kind == "garbage":
        content = bytearray(rng.randbytes(len(content)))
    elif content:
        start = rng.randrange(len(content))
        content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    path.write_bytes(content)


# -- processes that are killed ---------------------------------------------------------------------


def kills(activity: str, victims: Callable, times: int) -> Callable[[Scene], None]:
    """`times` kill -9 at random moments; what was finished stays, the rest is taken up again."""

    def run(scene: Scene) -> None:
        expected(activity) if activity != "release" else scene.request()
        with scene.app() as manager:
            due = [0.0]  # the first as soon as there is one: samplers are fast

            def disturb(jobs: list[Job]) -> None:
                if scene.log.struck < times and time.monotonic() > due[0] and (found := victims(manager)):
                    scene.log.struck += kill(scene.rng.choice(found))
                    due[0] = time.monotonic() + scene.rng.uniform(0, 1.0)

            check(scene, activity, finish(scene, manager, scene.tasks(activity), disturb))

    return run


def workers(manager: JobManager) -> list:
    return manager.worker_pids()


def workers_and_samplers(manager: JobManager) -> list:
    return workers(manager) + samplers_of(manager)


def killed_command(scene: Scene) -> None:
    """kill -9 of a command with its worker processes left alone: nothing outlives it, the next goes on."""
    command = [sys.executable, "-m", "synth_core", "study", "range-4.2", "--replicates", "12", "--jobs", "2",
               "--format", "csv"]  # fmt: skip
    with environment(SYNTH_RESULTS_DIR=scene.results, SYNTH_STATE_DIR=scene.state, TMPDIR=scene.directory):

        def start(out: int = subprocess.DEVNULL) -> subprocess.Popen:
            return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.DEVNULL)

        for goal in (1, 4, 7):
            running = start()
            eventually(
                lambda g=goal, r=running: len(entries(scene)) >= g or r.poll() is not None,
                "no replicate",
                120,
            )
            scene.log.struck += kill(running.pid) if running.poll() is None else 0
            running.wait()
        stored = len(entries(scene))
        again = start(subprocess.PIPE).communicate()[0].decode()
        assert len(entries(scene)) == 12 >= stored >= 1
        left = [path for path in scene.directory.glob("synth-*")]
        assert not left, left  # the next command clears what a killed one could not
        shutil.rmtree(scene.results)
        scene.log.same(again, start(subprocess.PIPE).communicate()[0].decode())


def killed_app(scene: Scene) -> None:
    """kill -9 of the whole app: its workers and samplers go with it, the next one clears up and goes on."""
    for _ in range(2):
        before = len(entries(scene))
        other = other_app(scene, "map", TMPDIR=str(scene.directory))
        eventually(lambda o=other: psutil.Process(o.pid).children(), "no worker", 180)
        eventually(lambda n=before, o=other: len(entries(scene)) > n or o.poll() is not None, "no entry", 120)
        family = psutil.Process(other.pid).children(recursive=True)
        scene.log.struck += kill(other.pid)
        other.communicate()
        eventually(lambda f=family: not any(p.is_running() and p.status() != "zombie" for p in f), "orphans")
    kept = {path.name for path in entries(scene)}
    assert kept
    with scene.app(TMPDIR=str(scene.directory)) as manager:
        assert [p for p in scene.directory.glob("synth-jobs-*")] == [manager.directory]
        check(scene, "map", finish(scene, manager, scene.tasks("map")))
    assert kept <= {path.name for path in entries(scene)}


# -- disks -----------------------------------------------------------------------------------------


def full_results(activity: str) -> Callable[[Scene], None]:
    """No room for results: they are shown, and said not to be kept; with room again, they are kept."""

    def run(scene: Scene) -> None:
        with small_disk(scene.results, "12k"), scene.app() as manager:
            check(scene, activity, finish(scene, manager, scene.tasks(activity)))
            scene.log.struck += 1
            scene.log.say(manager.storage_problem)
            assert "full" in manager.storage_problem
            assert not list(scene.results.glob("??/*.tmp"))
            remount(scene.results, "size=64m")
            finish(scene, manager, [MechanismTask(TaskInput.of(TABLE, scene.settings(seed=12)), "weighted")])
            assert manager.storage_problem == ""
            manager.close()
            with scene.app() as restarted:
                check(scene, activity, finish(scene, restarted, scene.tasks(activity)))
            assert entries(scene)

    return run


def full_working(activity: str) -> Callable[[Scene], None]:
    """No room for the samplers' files: it fails in words; with room, Run again gives the right result."""

    def run(scene: Scene) -> None:
        if activity == "release":
            scene.request()
        with small_disk(scene.directory / "work", "1m") as disk, scene.app(TMPDIR=disk) as manager:
            tasks = scene.tasks(activity)
            fill = disk / "fill"
            for room in (0, 4096, 20_000, 100_000):  # at other places of the same work
                fill.write_bytes(b"")
                fill.write_bytes(bytes(4096 * max(0, (1024**2 - used(disk) - room) // 4096)))
                jobs = manager.submit("user", tasks)
                eventually(lambda jobs=jobs: all(job.finished.is_set() for job in jobs), "it hangs", 120)
                failed = [job for job in jobs if job.state == "failed"]
                assert failed or room > 4096
                for job in failed:
                    scene.log.say(job.error)
                    assert "full" in job.error, job.error
                scene.log.struck += bool(failed)
                manager.forget("user", jobs)
                shutil.rmtree(scene.results, ignore_errors=True)  # or the work would be found there
            fill.unlink()
            remount(disk, "size=64m")
            check(scene, activity, finish(scene, manager, tasks))

    return run


def full_state(scene: Scene) -> None:
    """The ledger's disk is full: nothing half-charged, nothing half-written; with room the release is made."""
    scene.request()
    with small_disk(scene.directory / "ledger-disk", "64m") as disk, environment(
        SYNTH_RESULTS_DIR=scene.results, SYNTH_STATE_DIR=disk
    ):  # fmt: skip
        for room in (4, 8, 24, 60, 100, 160, 400):  # kB
            remount(disk, f"size={used(disk) // 1024 + room}k")
            try:
                release(scene.request())
            except FitError as error:
                scene.log.say(str(error))
                scene.log.struck += 1
            remount(disk, "size=64m")
            ledger = Ledger()
            ledger.verify()
            assert ledger.balance("s").spent in (0.0, EPSILON)
            ledger.close()
        assert scene.log.struck
        assert release(scene.request()).state in ("released", "repeated")
        check_release(scene)


def read_only(activity: str) -> Callable[[Scene], None]:
    """The cache turns read-only: what is in it is still shown, the rest is computed and said not to be kept."""

    def run(scene: Scene) -> None:
        with small_disk(scene.results, "64m"):
            with scene.app() as manager:
                half = scene.tasks(activity)[:2] if activity != "study" else scene.tasks(activity)
                before = finish(scene, manager, half)
            remount(scene.results, "ro")
            scene.log.struck += 1
            with scene.app() as manager:
                after = finish(scene, manager, scene.tasks(activity))
                if activity != "study":  # a study's own summary is not an entry; its replicates are
                    assert all(map(was_stored, after[: len(before)])), "a finished result was lost"
                    scene.log.say(manager.storage_problem)
                    assert "read-only" in manager.storage_problem
                check(scene, activity, after)
            with environment(SYNTH_RESULTS_DIR=scene.results):
                assert main(["purge"]) == 1  # it does not claim to have deleted what it could not
            remount(scene.results, "rw")

    return run


# -- files that are damaged ------------------------------------------------------------------------


def corrupt_entries(activity: str) -> Callable[[Scene], None]:
    """Every entry of the cache is damaged while the work goes on, and again when it is asked anew."""

    def run(scene: Scene) -> None:
        with scene.app() as manager:
            due = [0.0]

            def disturb(jobs: list[Job]) -> None:
                if time.monotonic() > due[0]:
                    spoil(scene, 1)
                    due[0] = time.monotonic() + 0.1

            check(scene, activity, finish(scene, manager, scene.tasks(activity), disturb))
        for _ in range(3):
            spoil(scene, len(entries(scene)))
            with scene.app() as manager:
                check(scene, activity, finish(scene, manager, scene.tasks(activity)))

    return run


def spoil(scene: Scene, count: int) -> None:
    found = entries(scene)
    for path in scene.rng.sample(found, min(count, len(found))):
        try:
            damage(path, scene.rng.choice(DAMAGES), scene.rng)
        except OSError:  # replaced meanwhile
            continue
        scene.log.struck += 1


def corrupt_runs(scene: Scene) -> None:
    """The list of finished runs, damaged in one place at a time: shown as it was, left out, or said to be damaged."""
    path = scene.directory / "runs.sqlite"
    store = RunStore(path=path)
    for i in range(30):
        numbers = {"epsilon": 1.25 * i, "lipschitz_bound": 0.625 * i, "ecdf_max": 0.1}
        store.record(
            f"key{i}", {"name": "t", "fingerprint": "f", "rows": i}, "weighted", {"seed": i}, numbers, "local"
        )
    wanted = {run.id: run for run in store.runs()}
    store.close()
    sound = path.read_bytes()
    left_out = 0
    for round_ in range(150):
        path.write_bytes(sound)
        damage(path, "flip" if round_ % 3 else scene.rng.choice(DAMAGES), scene.rng)
        scene.log.struck += 1
        try:
            store = RunStore(path=path)
            shown = store.runs()
            left_out += store.damaged
            store.close()
        except FitError as error:
            scene.log.say(str(error))
            continue
        for run in shown:
            known = wanted.get(run.id)
            if known is not None:  # a damaged name, note or time is the user's own words, not a result
                scene.log.same(
                    *([r.numbers, r.settings, r.data, r.mechanism, r.guarantee] for r in (run, known))
                )
    assert left_out, "no damage reached a run"


def corrupt_ledger(scene: Scene) -> None:
    """The ledger's database, damaged in one place at a time: the same entries, or a refusal in words."""
    directory = scene.directory / "ledger"
    ledger = Ledger(directory)
    ledger.set_limit("s", 100.0, "test", "me")
    for i in range(6):
        ledger.reserve(
            "s", f"r{i}", 2.0, {"data": f"d{i}", "plan": "p", "m": 1, "guarantee": "g", "strict": True}
        )
        ledger.commit("s", f"r{i}", {"archives": {}, "overridden": {}})
    wanted = ledger.entries("s")
    ledger.close()
    path = directory / "ledger.sqlite"
    sound = path.read_bytes()
    refused = 0
    for round_ in range(150):
        for other in directory.glob("ledger.sqlite-*"):
            other.unlink()
        path.write_bytes(sound)
        damage(path, "flip" if round_ % 3 else scene.rng.choice(DAMAGES), scene.rng)
        scene.log.struck += 1
        try:
            ledger = Ledger(directory)
            try:
                ledger.verify()
                scene.log.same([e.hash for e in ledger.entries("s")], [e.hash for e in wanted])
                assert ledger.balance("s").spent == 12.0
            finally:
                ledger.close()
        except FitError as error:
            refused += 1
            scene.log.say(str(error))
    assert refused


# -- the toolchain ---------------------------------------------------------------------------------


def no_toolchain(scene: Scene, recover: bool = False) -> None:
    """No toolchain and no compiler: what was finished is shown, the rest says what to install, and then works."""
    with scene.app() as manager:
        before = finish(scene, manager, scene.tasks("comparison")[:2])
    usual, bare = cache_root(), scene.directory / "bin"
    bare.mkdir()
    empty = scene.directory / "cache"
    with scene.app(
        lanes=1,
        SYNTH_CACHE_DIR=empty,
        CMDSTAN=None,
        HOME=scene.directory,
        PATH=bare,
        SYNTH_TOOLCHAIN="registry",
    ) as manager:
        jobs = manager.submit("user", scene.tasks("comparison"))
        eventually(lambda: all(job.finished.is_set() for job in jobs), "it hangs", 60)
        assert [job.state for job in jobs] == ["done", "done", "failed", "failed"]
        scene.log.same([job.answer for job in jobs[:2]], before)
        for job in jobs[2:]:
            scene.log.say(job.error)
            assert "g++" in job.error
        scene.log.struck += 1
        if recover:
            bare.rmdir()
            bare.symlink_to("/usr/bin")  # the compiler, and a toolchain, are installed under the running app
            (empty / "toolchain").symlink_to(usual / "toolchain")
            manager.forget("user", jobs)
            check(scene, "comparison", finish(scene, manager, scene.tasks("comparison")))


def toolchain_comes_back(scene: Scene) -> None:
    """As `no_toolchain`; then it is installed while the app runs, and what failed works."""
    no_toolchain(scene, recover=True)


# -- two apps, one cache -----------------------------------------------------------------------------


OTHER_APP = """
import json, sys
from pathlib import Path
from tests.faults.scene import Scene, finish, plain, was_stored
if __name__ == "__main__":
    scene = Scene(Path(sys.argv[1]), 1)
    with scene.app(1) as manager:
        answers = finish(scene, manager, scene.tasks(sys.argv[2]))
    print(json.dumps({"answers": json.loads(plain(answers)), "stored": [*map(was_stored, answers)]}))
"""


def other_app(scene: Scene, activity: str, **values: str) -> subprocess.Popen:
    """An app in a process of its own, on the same directories."""
    script = scene.directory / "other.py"
    script.write_text(OTHER_APP)
    return subprocess.Popen(
        [sys.executable, str(script), str(scene.directory), activity],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)} | values, stdout=subprocess.PIPE,
    )  # fmt: skip


def two_apps(activity: str) -> Callable[[Scene], None]:
    """Two apps ask one cache for the same work at once: both get it, and each part is computed once."""

    def run(scene: Scene) -> None:
        if activity == "release":
            scene.request()
        other = other_app(scene, activity)
        with scene.app(1) as manager:
            mine = finish(scene, manager, scene.tasks(activity))
        theirs = json.loads(other.communicate(timeout=240)[0])
        scene.log.struck += 1
        check(scene, activity, mine)
        if activity != "release":
            check(scene, activity, theirs["answers"])
        if activity in ("comparison", "map"):
            for one, stored in zip(mine, theirs["stored"], strict=True):
                assert was_stored(one) or stored, "computed twice"

    return run


def app_and_command(scene: Scene) -> None:
    """The app and a command ask one cache at once: the command's numbers are the app's."""
    options = ["--draws", "1000", "--warmup", "500", "--seed", "11", "--bounds", "0", "1", "--format", "json"]
    names = ["weighted", "censored", "censored_weighted", "count_weighted"]
    with scene.app() as manager:
        command = subprocess.Popen(
            [sys.executable, "-m", "synth_core", "compare", "example:beta", "--rows", "300", "--mechanism", *names,
             *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        found = finish(scene, manager, scene.tasks("comparison"))
        told = json.loads(command.communicate(timeout=240)[0])
    scene.log.struck += 1
    check(scene, "comparison", found)
    for mine, theirs in zip(found, told["results"], strict=True):
        for name in ("lipschitz_bound", "epsilon", "n_censored"):
            scene.log.same(theirs[name], getattr(mine.numbers, name))


def entries(scene: Scene) -> list[Path]:
    """The files of the cache."""
    return sorted(scene.results.glob("??/*.npz"))


def used(disk: Path) -> int:
    """Bytes in use on a small disk."""
    return shutil.disk_usage(disk).used


WORK = ("comparison", "map", "study")  # all but a release, which has a cache of its own

CASES = [
    Case(
        "workers and samplers killed", "comparison", kills("comparison", workers_and_samplers, 4), quick=True
    ),
    *(Case("workers killed", a, kills(a, workers, 5), by_hand=a in ("map", "study")) for a in ACTIVITIES),
    *(
        Case("samplers killed", a, kills(a, samplers_of, 5), by_hand=a in ("map", "study"))
        for a in ACTIVITIES
    ),
    Case("command killed", "study", killed_command, by_hand=True),
    Case("app killed", "map", killed_app, by_hand=True),
    *(Case("results disk full", a, full_results(a), by_hand=a != "comparison") for a in WORK),
    *(
        Case("working disk full", a, full_working(a), by_hand=a != "comparison")
        for a in ("comparison", "map", "release")
    ),
    Case("state disk full", "release", full_state),
    *(Case("cache read-only", a, read_only(a), by_hand=a != "comparison") for a in WORK),
    *(Case("cache entries corrupted", a, corrupt_entries(a), by_hand=True) for a in WORK),
    Case("runs.sqlite corrupted", "list of runs", corrupt_runs, True),
    Case("ledger.sqlite corrupted", "ledger", corrupt_ledger, True),
    Case("no toolchain", "comparison", no_toolchain),
    Case("toolchain comes back", "comparison", toolchain_comes_back, by_hand=True),
    *(Case("two apps, one cache", a, two_apps(a), by_hand=a != "comparison") for a in ACTIVITIES),
    Case("app and command, one cache", "comparison", app_and_command),
]
