"""Which toolchain is taken, what it takes to start assembling one, and in what order models are compiled."""

import os
import platform
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from synth_core.engine.toolchain import assemble, compile_programs, ensure_cmdstan, find, programs
from synth_core.errors import FitError
from tests.conftest import PYTHON, ROOT

LINUX, MAC, OTHER = ("Linux", "x86_64"), ("Darwin", "arm64"), ("Linux", "aarch64")


def make_cmdstan(directory):
    (directory / "bin").mkdir(parents=True)
    (directory / "bin" / "stanc").touch()
    (directory / "makefile").write_text("CMDSTAN_VERSION := 2.39.0\n")
    return directory


@pytest.fixture
def search(tmp_path, monkeypatch):
    """A user without any CmdStan, and a network that must not be asked; what was made instead is noted."""
    made = []

    def ask(*_, **__):
        raise AssertionError("the network was asked")

    def maker(name):
        def make(directory, report):
            made.append(name)
            return make_cmdstan(directory / "cmdstan-made")

        return make

    monkeypatch.setattr(socket, "create_connection", ask)
    monkeypatch.setattr(find, "assemble", maker("assembled"))
    monkeypatch.setattr(find, "_install_official", maker("official"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SYNTH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CMDSTAN", "")
    for name in ("CONDA_PREFIX", "SYNTH_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)

    def on(machine):
        monkeypatch.setattr(platform, "system", lambda: machine[0])
        monkeypatch.setattr(platform, "machine", lambda: machine[1])
        return made

    return on


@pytest.mark.parametrize(
    ("machine", "chosen", "taken"),
    [
        (LINUX, None, "assembled"),
        (MAC, None, "assembled"),
        (OTHER, None, "official"),
        (LINUX, "official", "official"),
        (OTHER, "registry", "assembled"),  # which refuses it in words: see below
    ],
)
def test_the_registry_comes_first_where_it_has_a_wheel(search, monkeypatch, machine, chosen, taken):
    made = search(machine)
    if chosen:
        monkeypatch.setenv("SYNTH_TOOLCHAIN", chosen)
    first = ensure_cmdstan()
    assert made == [taken]
    assert ensure_cmdstan() == first == find.find_cmdstan()  # used as it is from then on
    assert made == [taken]


@pytest.mark.parametrize("machine", [LINUX, OTHER])
def test_an_installed_cmdstan_is_used_as_it_is(search, tmp_path, machine):
    made = search(machine)
    installed = make_cmdstan(tmp_path / "home" / ".cmdstan" / "cmdstan-2.30.0")
    assert ensure_cmdstan() == installed
    assert os.environ["CMDSTAN"] == str(installed)
    assert not made


def test_without_a_wheel_it_says_what_to_do(search, tmp_path):
    search(OTHER)
    with pytest.raises(FitError, match="Install CmdStan and set CMDSTAN"):
        assemble.assemble(tmp_path)


def test_it_can_start_before_the_requirements_are_installed():
    code = "import sys; sys.path.insert(0, '.'); import synth_core.engine.toolchain.__main__"
    subprocess.run([PYTHON, "-I", "-S", "-c", code], cwd=ROOT, check=True)  # -S: no installed packages


def test_models_are_compiled_beside_each_other_the_longest_first(tmp_path, monkeypatch):
    sources = [tmp_path / f"{name}.stan" for name in ("short", "broken", "longest", "never")]
    for length, source in zip((1, 2, 3, 0), sources, strict=True):
        source.write_text("x" * length)
    begun, together = [], threading.Barrier(2, timeout=5)

    def compile_program(program):
        name = Path(program).stem
        begun.append(name)
        if name in ("longest", "broken"):
            together.wait()
        if name == "broken":
            raise FitError(name)
        time.sleep(0.3)  # the failure is told meanwhile

    monkeypatch.setattr(programs, "is_compiled", lambda program: False)
    monkeypatch.setattr(programs, "parallel_compilers", lambda: 2)
    monkeypatch.setattr(programs, "compile_program", compile_program)
    with pytest.raises(FitError, match="broken"):
        compile_programs(map(str, sources))
    assert set(begun[:2]) == {"longest", "broken"}
    assert "never" not in begun


def test_a_compiler_has_memory_of_its_own(monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 5 * 1024**3 // 4096}
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert assemble.parallel_compilers() == 1
    pages["SC_PHYS_PAGES"] *= 100
    assert assemble.parallel_compilers() == 8
