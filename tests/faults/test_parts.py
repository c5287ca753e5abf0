"""Single parts under faults, without an app around them."""

import errno
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from synth_core.cli import main
from synth_core.engine import sampling, stop_reason
from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.toolchain import assemble, programs
from synth_core.errors import Cancelled, FitError
from synth_core.jobs.manager import JobManager
from synth_core.models import build_model
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.run_store import RunStore
from synth_core.release.state import StateError, read, transaction
from synth_core.system import files
from synth_core.system.attempts import AGAIN
from synth_core.system.cache import Cache
from synth_core.system.scratch import temporary_files, working_directory
from tests.conftest import PYTHON, ROOT, records_of
from tests.support.tasks import NamedTask

pytestmark = pytest.mark.stan


@pytest.mark.parametrize("number", [*files._REASONS, 999, None])
def test_every_fault_of_a_disk_has_words(number):
    text = files.explain(OSError(number, "Strange Thing") if number else OSError(), "The cache", "do without")
    assert text.startswith("The cache cannot be written: ") and text.endswith(
        ", or do without, then run it again."
    )
    assert "[" not in text and "None" not in text


# -- samplers --------------------------------------------------------------------------------------


def beta_fit(rng, progress=lambda share: None, **more):
    model = build_model("beta", records_of(rng.beta(0.5, 3, 80)), (0.0, 1.0))
    data = model.stan_data(model.records.outcome * 0 + 1)
    return sample(model.executable(), data, model.parameters, Sampler(**({"draws": 300} | more)), progress)


def killer(times, tmp_path):
    """A thread that kills the sampler processes of this test `times` times."""
    struck = []

    def run():
        while len(struck) < times:
            for process in psutil.Process().children(recursive=True):
                try:
                    if str(tmp_path) in " ".join(process.cmdline()) and process.pid not in struck:
                        process.send_signal(signal.SIGKILL)
                        struck.append(process.pid)
                except psutil.Error:
                    continue
                if len(struck) >= times:
                    return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return struck


LONG = {"draws": 20_000, "warmup": 20_000, "chains": 1}


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling.tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_a_killed_sampler_runs_again_with_its_seed(rng, own_files):
    state = rng.bit_generator.state
    expected = beta_fit(rng, **LONG)
    rng.bit_generator.state = state
    struck = killer(2, own_files)
    found = beta_fit(rng, **LONG)
    assert len(struck) == 2
    for name, values in expected.draws.items():
        assert values.tobytes() == found.draws[name].tobytes()


def test_a_sampler_that_is_always_killed_is_told(rng, own_files):
    killer(1 + AGAIN, own_files)
    with pytest.raises(FitError, match=r"killed 3 times .* fewer draws"):
        beta_fit(rng, **LONG)
    assert not list(own_files.glob("synth-fit-*"))


def test_a_cancel_that_kills_the_sampler_is_a_cancel(rng, own_files):
    struck = killer(1, own_files)

    def progress(share):
        if struck:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        beta_fit(rng, progress, **LONG)
    assert len(struck) == 1  # not run again


def test_output_that_ends_early_is_refused(tmp_path):
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    whole.write_text(
        "lp__,x\n-1.25,0.5\n# \n#  Elapsed Time: 0.1 seconds (Warm-up)\n#   0.2 seconds (Total)\n# \n"
    )
    cut.write_text("lp__,x\n-1.25,0.")  # it could be read: as 0
    stop_reason.require_whole([str(whole)])
    with pytest.raises(ValueError, match="early"):
        stop_reason.require_whole([str(whole), str(cut)])
    assert "the disk is full" in stop_reason.explain(ValueError("fewer rows than asked"), tmp_path)


# -- a lane ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_lane_outlives_a_job_that_has_no_room(tmp_path, monkeypatch):
    """Its thread once died of the error, and every later job waited for ever."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    manager = JobManager(1)
    try:
        make, full = Path.mkdir, [True]

        def mkdir(self, *args, **kwargs):
            if full[0] and self.parent == manager.directory and self.name.isdigit():
                raise OSError(errno.ENOSPC, "No space left on device")
            return make(self, *args, **kwargs)

        monkeypatch.setattr(Path, "mkdir", mkdir)
        [job] = manager.submit("a", [NamedTask(name="one")])
        assert job.finished.wait(20) and job.state == "failed"
        assert "the disk is full. Free some space" in job.error
        full[0] = False
        manager.forget("a", [job])
        [job] = manager.submit("a", [NamedTask(name="one")])
        assert job.finished.wait(20)
        assert "full" not in job.error  # it reached the worker, which does not know such a task
        # As a system does that clears temporary files; in one step, since the manager may be
        # deleting the directory of the job that has just ended.
        manager.directory.rename(tmp_path / "cleared")
        [job] = manager.submit("a", [NamedTask(name="two")])
        assert job.finished.wait(20)
        assert "written" not in job.error
    finally:
        manager.close()


# -- toolchain and programs ------------------------------------------------------------------------


def test_a_damaged_executable_is_not_run(tmp_path):
    executable = tmp_path / "program"
    assert not programs.is_sound(executable)
    executable.write_bytes(b"machine code")
    assert programs.is_sound(executable)  # of an earlier version, without a note
    note = {"sha256": hashlib.sha256(b"machine code").hexdigest(), "made_of": ""}
    (tmp_path / programs._NOTE).write_text(json.dumps(note))
    assert programs.is_sound(executable)
    executable.write_bytes(b"machine cod\xe4")
    assert not programs.is_sound(executable)
    (tmp_path / programs._NOTE).write_text("{")
    assert not programs.is_sound(executable)


def test_without_a_compiler_what_was_compiled_before_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_CACHE_DIR", str(tmp_path))
    cmdstan = tmp_path / "cmdstan"
    (cmdstan / "bin").mkdir(parents=True)
    for name in ("makefile", "bin/stanc"):
        (cmdstan / name).write_text("")
    monkeypatch.setenv("CMDSTAN", str(cmdstan))
    source = tmp_path / "some.stan"
    source.write_text("model {}")
    built = programs.executable_path(source, cmdstan)
    built.parent.mkdir(parents=True)
    built.write_bytes(b"code")
    note = {"sha256": hashlib.sha256(b"code").hexdigest(), "made_of": programs._made_of(source, cmdstan)}
    (built.parent / programs._NOTE).write_text(json.dumps(note))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.executable_path(source, cmdstan) != built
    assert programs.build_program(source) == built
    built.write_bytes(b"c0de")
    with pytest.raises(FitError, match=r"make and .* not found.*apt-get install"):
        programs.build_program(source)
    with pytest.raises(FitError, match="apt-get install"):
        assemble.assemble(tmp_path / "toolchain")


# -- working files -----------------------------------------------------------------------------------


def test_a_process_has_files_of_its_own_and_clears_those_of_killed_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    stale = tmp_path / "synth-run-999999999-abc"
    (stale / "synth-fit-x").mkdir(parents=True)
    kept = tmp_path / f"synth-run-{psutil.Process().ppid()}-abc"  # of a process that lives
    kept.mkdir()
    before = sampling.tempfile.tempdir
    with temporary_files():
        assert not stale.exists() and kept.exists()
        [mine] = [p for p in tmp_path.iterdir() if p != kept]
        assert Path(sampling.tempfile.mkdtemp()).parent == mine
        assert mine.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in tmp_path.iterdir()] == [kept.name]
    monkeypatch.setattr(sampling.tempfile, "tempdir", before)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    with pytest.raises(FitError, match="TMPDIR"):
        working_directory("synth-test")


def test_what_a_killed_fit_of_a_library_user_left_goes_with_the_next_fit(tmp_path, monkeypatch, rng):
    """Nobody called `temporary_files`: the fit's own directory bears its process, and the next fit clears it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(sampling.tempfile, "tempdir", None)
    code = """
import os, signal, subprocess
import numpy as np
from synth_core.engine import sampling
from synth_core.models import Records, build_model
model = build_model("beta", Records(np.random.default_rng(1).beta(1, 3, 200), np.ones((200, 1)), ("z",)))
sampling.write_data = lambda data, path: (path.write_text("confidential"), os.kill(os.getpid(), signal.SIGKILL))
sampling.sample(model.executable(), model.stan_data(np.ones(200)), model.parameters, sampling.Sampler(1, 100, 100))
"""
    killed = subprocess.run([PYTHON, "-c", code], cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)})
    assert killed.returncode == -signal.SIGKILL
    assert [path.read_text() for path in tmp_path.glob("*/data.json")] == ["confidential"]
    beta_fit(rng, draws=100, warmup=100, chains=1)
    assert not [
        path for path in tmp_path.glob("**/*") if path.is_file()
    ]  # cmdstanpy leaves an empty directory


# -- what the program remembers --------------------------------------------------------------------


class Refusing:
    """A database that fails as SQLite does."""

    def __init__(self, code, words="no"):
        self.error = sqlite3.OperationalError(words)
        self.error.sqlite_errorname = code

    def execute(self, query, values=()):
        if query.startswith("PRAGMA database_list"):
            return type("Rows", (), {"fetchone": lambda self: {"file": "/x/runs.sqlite"}})()
        if query == "ROLLBACK":  # SQLite has rolled back already
            raise sqlite3.OperationalError("cannot rollback - no transaction is active")
        if query == "BEGIN IMMEDIATE":
            return None
        raise self.error


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("SQLITE_FULL", r"the disk is full\. Free some space"),
        ("SQLITE_READONLY", r"may not write there\. Make it writable"),
        ("SQLITE_CANTOPEN", "Make it writable"),
        ("SQLITE_IOERR_WRITE", "Check the disk"),
        ("SQLITE_BUSY", "another program holds it"),
        ("SQLITE_CORRUPT", r"damaged\. Restore it from a backup.*move it away"),
        ("SQLITE_NOTADB", "damaged"),
    ],
)
def test_a_database_says_why_and_what_to_do(code, words):
    with pytest.raises(StateError, match=words), transaction(Refusing(code)):
        Refusing(code).execute("INSERT")
    with pytest.raises(StateError, match=words):
        read(Refusing(code), "SELECT 1")


def test_a_changed_number_of_a_finished_run_is_never_shown(tmp_path):
    path = tmp_path / "runs.sqlite"
    store = RunStore(path=path)
    data = {"name": "t", "fingerprint": "f", "rows": 3}
    for key in ("a", "b"):
        store.record(key, data, "weighted", {"seed": 1}, {"epsilon": 5.25}, "local")
    first, second = store.runs()
    store.describe(first.id, name="a name", note="a note")  # allowed
    database = sqlite3.connect(path)
    database.execute("UPDATE runs SET numbers = replace(numbers, '5.25', '1.25') WHERE id = ?", (second.id,))
    database.commit()
    assert [(run.id, run.name) for run in store.runs()] == [(first.id, "a name")]
    assert store.damaged == 1
    with pytest.raises(StateError, match="run it again"):
        store.find(second.id)
    database.execute("ALTER TABLE runs DROP COLUMN checksum")  # as an earlier version left it
    database.commit()
    database.close()
    store.close()
    store = RunStore(path=path)
    assert len(store.runs()) == 2
    store.record("c", data, "weighted", {"seed": 1}, {"epsilon": 5.25}, "local")
    assert len(store.runs()) == 3
    store.close()


def test_no_room_for_the_note_of_the_ledgers_head(tmp_path, monkeypatch):
    """The charge is in the chain already; the note may lag, and the next entry catches up."""
    ledger = Ledger(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(StateError, match="the disk is full"):
            ledger.set_limit("s", 10.0, "test", "me")
    assert not list(tmp_path.glob("*.tmp"))
    assert ledger.balance("s").limit == 10.0
    ledger.set_limit("s", 20.0, "test", "me")
    assert ledger.verify() == {"s": 2}
    ledger.close()


def test_purge_does_not_claim_what_it_could_not_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    Cache(tmp_path / "results").put("a" * 64, {"n": 1})
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        assert main(["purge"]) == 1
    assert "could not be deleted" in capsys.readouterr().err
    assert main(["purge"]) == 0


def test_a_command_tells_a_full_disk_in_words(monkeypatch, capsys):
    from synth_core.cli import compare

    monkeypatch.setattr(
        compare, "open_analysis", lambda args: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space"))
    )
    assert main(["compare", "example:beta"]) == 1
    assert "the disk is full. Free some space" in capsys.readouterr().err
