"""Single parts under faults, without an app around them."""

import errno
import hashlib
import json
import shutil
import signal
import threading
from pathlib import Path

import psutil
import pytest

from synth_core import sampling, stopped, storage
from synth_core.errors import Cancelled, FitError
from synth_core.jobs import JobManager
from synth_core.models import build_model
from synth_core.sampling import Sampler, sample
from synth_core.tasks import Task
from synth_core.toolchain import assemble, programs
from synth_core.working import temporary_files, working_directory
from tests.conftest import records_of

pytestmark = pytest.mark.stan


@pytest.mark.parametrize("number", [*storage._REASONS, 999, None])
def test_every_fault_of_a_disk_has_words(number):
    text = storage.explain(
        OSError(number, "Strange Thing") if number else OSError(), "The cache", "do without"
    )
    assert text.startswith("The cache cannot be written: ") and text.endswith(
        ", or do without, then run it again."
    )
    assert "[" not in text and "None" not in text


# -- samplers --------------------------------------------------------------------------------------


def beta_fit(rng, progress=lambda share: None, **more):
    model = build_model("beta", records_of(rng.beta(0.5, 3, 80)), (0.0, 1.0))
    data = model.stan_data(model.records.outcome * 0 + 1)
    return sample(model.program, data, model.parameters, Sampler(**({"draws": 300} | more)), progress)


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
    killer(1 + stopped.KILLED_AGAIN, own_files)
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
    stopped.require_whole([str(whole)])
    with pytest.raises(ValueError, match="early"):
        stopped.require_whole([str(whole), str(cut)])
    assert "the disk is full" in stopped.explain(ValueError("fewer rows than asked"), tmp_path)


# -- a lane ------------------------------------------------------------------------------------------


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
        [job] = manager.submit("a", [Task("one", {"kind": "none"}, ())])
        assert job.finished.wait(20) and job.state == "failed"
        assert "the disk is full. Free some space" in job.error
        full[0] = False
        manager.forget("a", [job])
        [job] = manager.submit("a", [Task("one", {"kind": "none"}, ())])
        assert job.finished.wait(20)
        assert "full" not in job.error  # it reached the worker, which does not know such a task
        shutil.rmtree(manager.directory)  # as a system does that clears temporary files
        [job] = manager.submit("a", [Task("two", {"kind": "none"}, ())])
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
