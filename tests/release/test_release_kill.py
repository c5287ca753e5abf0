"""Kill -9 anywhere in a release: nothing half-written, the chain holds, charged once, the same data again."""

import contextlib
import io
import os
import random
import signal
import time
import zipfile

import pytest

from synth_core.cli import main
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making import releasing
from synth_core.release.output import bundle
from synth_core.system import files
from tests.conftest import PYTHON, ROOT
from tests.support.marks import slow_but

pytestmark = pytest.mark.stan
EPSILON = 6.0


@pytest.fixture
def plan_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "plan.json"
    assert main(["plan", "example:beta", "--rows", "200", "--data-seed", "100", "--mechanism", "censored",
                 "--epsilon", str(EPSILON), "--tuned-on", "simulated", "--series", "s", "--reason", "test",
                 "--decided-by", "me", "--limit", "1000", "--draws", "4000", "--warmup", "500", "--chains", "1",
                 "--out", str(path)]) == 0  # fmt: skip
    return path


def arguments(plan_file, month, out):
    source = ["example:beta", "--rows", "200", "--data-seed", str(month)]
    return ["apply", str(plan_file), *source, "--out", str(out)]


def fork(action):
    """Run `action` in a copy of this process; returns its process id."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()  # its sampler dies with it
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(action())
        finally:
            os._exit(99)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_group(child):
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError):
            kill(child, signal.SIGKILL)


def archives(out):
    """What a user sees in the output directory; every file is whole."""
    found = {}
    for path in out.glob("*") if out.exists() else []:
        if path.name.startswith("."):
            continue
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            sums = next(n for n in archive.namelist() if n.endswith("SHA256SUMS"))
            assert len(archive.read(sums).splitlines()) == len(archive.namelist()) - 1
        found[path.name] = path.read_bytes()
    return found


def consistent(before):
    """The chain holds and at most one more release is charged than before."""
    ledger = Ledger()
    assert set(ledger.verify()) <= {"s"}
    spent = ledger.balance("s").spent
    ledger.close()
    assert spent in (before, before + EPSILON)
    return spent


def repeated(plan_file, month, out, before, seen):
    """Run to the end: charged once in all, and what was visible before is what is there now."""
    assert main(arguments(plan_file, month, out)) == 0
    assert consistent(before) == before + EPSILON
    assert seen.items() <= archives(out).items()
    assert not [p for p in out.iterdir() if p.name.startswith(".")]


CRASHES = [  # (module, name, after the call?, which call)
    (releasing.Ledger, "reserve", False, 1),
    (releasing.Ledger, "reserve", True, 1),
    (releasing.ReleaseRun, "archives", False, 1),
    (files, "sync_directory", False, 6),  # both archives in their partial directory
    (files, "sync_directory", True, 7),  # renamed, not yet committed
    (releasing.Ledger, "commit", True, 1),
    (releasing.Ledger, "look", True, 1),  # it passed the gate, and nothing is written
    (releasing.Ledger, "_note", False, 3),  # committed, not yet noted beside the database
    (bundle, "write_file", True, 1),  # the first archive copied, the second not
    (files, "sync_directory", False, 10),  # the second archive copied
]


QUICK = [
    each for each in CRASHES if each[1:3] in (("reserve", True), ("sync_directory", True), ("commit", True))
]


@pytest.mark.parametrize(
    ("place", "name", "after", "which"),
    slow_but(QUICK, CRASHES),
    ids=[f"{n}-{a}-{w}" for _, n, a, w in CRASHES],
)
def test_killed_at_a_chosen_place(plan_file, tmp_path, place, name, after, which):
    original, calls = getattr(place, name), []

    def deadly(*args, **kwargs):
        calls.append(1)
        if len(calls) == which and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = original(*args, **kwargs)
        if len(calls) == which:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def action():
        setattr(place, name, deadly)
        return main(arguments(plan_file, 1, tmp_path / "out"))

    assert ended(fork(action)) == -signal.SIGKILL
    seen = archives(tmp_path / "out")
    consistent(0.0)
    repeated(plan_file, 1, tmp_path / "out", 0.0, seen)
    assert len(archives(tmp_path / "out")) == 2


@pytest.mark.parametrize("which", slow_but([2], [1, 2, 3, 4]))
def test_killed_with_half_an_archive_written(plan_file, tmp_path, which):
    """1 and 2 are the archives in the state directory, 3 and 4 those in the user's."""
    opened, seen_archives = os.fdopen, []

    def action():
        def half(handle, *mode, **more):
            stream = opened(handle, *mode, **more)
            if not isinstance(stream, io.BufferedWriter):
                return stream

            class Half:
                def __enter__(self):
                    return self

                def __exit__(self, *error):
                    stream.close()

                def __getattr__(self, name):
                    return getattr(stream, name)

                def write(self, content):
                    if content[:2] == b"PK" and len(content) > 1000:
                        seen_archives.append(1)
                        if len(seen_archives) == which:
                            stream.write(content[: len(content) // 2])
                            stream.flush()
                            os.kill(os.getpid(), signal.SIGKILL)
                    return stream.write(content)

            return Half()

        os.fdopen = half
        return main(arguments(plan_file, 1, tmp_path / "out"))

    assert ended(fork(action)) == -signal.SIGKILL
    seen = archives(tmp_path / "out")
    assert len(seen) == max(0, which - 3)
    consistent(0.0)
    repeated(plan_file, 1, tmp_path / "out", 0.0, seen)


def kill_at_random(plan_file, out, start, kills, seed):
    """`start` begins a release and returns its process id; `kills` of them are killed somewhere within."""
    began = time.monotonic()
    assert ended(start(1)) == 0
    whole = time.monotonic() - began
    rng, month = random.Random(seed), 1
    while kills:
        month += 1
        assert month < 100
        before = EPSILON * (month - 1)
        child = start(month)
        time.sleep(rng.uniform(0.0, whole))
        kill_group(child)
        if ended(child) == -signal.SIGKILL:
            kills -= 1
        else:  # it was faster than the first one
            whole *= 0.9
        seen = archives(out)
        consistent(before)
        repeated(plan_file, month, out, before, seen)
        assert len(archives(out)) == 2 * month


@pytest.mark.slow
def test_killed_at_random_moments(plan_file, tmp_path):
    out = tmp_path / "out"
    kill_at_random(
        plan_file, out, lambda month: fork(lambda: main(arguments(plan_file, month, out))), 3, 20261121
    )


@pytest.mark.long
def test_killed_at_twenty_random_moments_as_a_process_of_its_own(plan_file, tmp_path):
    out = tmp_path / "out"

    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    def start(month):
        command = [PYTHON, "-m", "synth_core", *arguments(plan_file, month, out)]
        return os.posix_spawn(PYTHON, command, environment, file_actions=silent, setsid=True)

    kill_at_random(plan_file, out, start, 20, 7)
