"""Stan programs to executables, in the user's cache and never beside the sources."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from synth_core import storage
from synth_core.cache import cache_root, file_lock
from synth_core.errors import FitError
from synth_core.toolchain import limited
from synth_core.toolchain.assemble import compiler, require_tools
from synth_core.toolchain.find import ensure_cmdstan

STAN_DIRECTORY = Path(__file__).parents[2] / "stan"
_NOTE = "built.json"  # beside an executable: its checksum, and what it was made of
_INCLUDE = re.compile(r"^\s*#include\s+[<\"]?([^>\"\s]+)[>\"]?\s*$", re.MULTILINE)


def _with_includes(program: Path, include_directory: Path) -> list[Path]:
    """The program and every file it includes, each once."""
    found, waiting = [program], [program]
    while waiting:
        for name in _INCLUDE.findall(waiting.pop().read_text()):
            path = include_directory / name
            if path not in found:
                found.append(path)
                waiting.append(path)
    return found


@cache
def _version(command: str) -> str:
    done = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0]


def _compiler_version() -> str:
    """The first line the compiler says of itself; empty without one, until there is one."""
    return _version(compiler()) if shutil.which(shlex.split(compiler())[0]) else ""


def _made_of(program: Path, cmdstan: Path) -> str:
    """Digest of a program, its includes and CmdStan (executables link against its place)."""
    digest = hashlib.sha256(str(cmdstan).encode())
    for path in (cmdstan / "makefile", cmdstan / "make" / "local"):
        if path.is_file():
            digest.update(path.read_bytes())
    for path in _with_includes(program, program.parent):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def executable_path(program: Path, cmdstan: Path) -> Path:
    """Where the executable of a Stan program belongs: keyed by program, includes, toolchain, compiler."""
    identity = hashlib.sha256(f"{cmdstan}\n{_compiler_version()}\n".encode())
    for name in ("makefile", "make/local"):
        if (cmdstan / name).is_file():
            identity.update((cmdstan / name).read_bytes())
    digest = hashlib.sha256(identity.hexdigest().encode())
    for path in _with_includes(program, program.parent):
        digest.update(path.read_bytes())
    return cache_root() / "models" / f"{program.stem}-{digest.hexdigest()[:16]}" / program.stem


@cache
def _checksum(path: Path, size: int, modified: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_sound(executable: Path) -> bool:
    """Whether an executable is there, and is what the compiler wrote.

    A damaged program may run and give wrong numbers. One without a note beside it is of an
    earlier version of this program, and is taken as it is.
    """
    try:
        status = executable.stat()
        note = json.loads((executable.parent / _NOTE).read_text())
        return bool(note["sha256"] == _checksum(executable, status.st_size, status.st_mtime_ns))
    except FileNotFoundError:
        return executable.is_file()
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _built_elsewhen(program: Path, cmdstan: Path) -> Path | None:
    """Without a compiler: a sound executable of the same sources by any compiler."""
    for note in (cache_root() / "models").glob(f"{program.stem}-*/{_NOTE}"):
        executable = note.parent / program.stem
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            if json.loads(note.read_text())["made_of"] == _made_of(program, cmdstan) and is_sound(executable):
                return executable
    return None


def compile_program(program: str | Path) -> Path:
    """Compile a Stan program unless its executable is cached, and return what runs it.

    For a program of this project that is the executable; for the analyst's own it is a script
    that runs it under limits.

    Parameters
    ----------
    program : str or Path
        A file name in stan/, or a path.

    Raises
    ------
    FitError
        With the compiler's message if the program is not valid.
    """
    source = Path(program) if Path(program).is_absolute() else STAN_DIRECTORY / program
    return limited.limited(limited.build([source])[0]) if limited.is_own(source) else build_program(source)


def build_program(source: Path) -> Path:
    """Compile a Stan program unless its executable is cached, and return the executable.

    Raises
    ------
    FitError
        With the compiler's message if the program is not valid.
    """
    cmdstan = ensure_cmdstan()
    target = executable_path(source, cmdstan)
    if is_sound(target):
        return target
    if not _compiler_version() and (other := _built_elsewhen(source, cmdstan)):
        return other
    require_tools()
    try:
        return _build(source, cmdstan, target)
    except OSError as error:
        raise FitError(
            f"The Stan program {source.name} could not be compiled. "
            + storage.explain(error, "The cache directory", "name another one in SYNTH_CACHE_DIR")
        ) from None


def _build(source: Path, cmdstan: Path, target: Path) -> Path:
    import cmdstanpy

    cmdstanpy.disable_logging()
    with file_lock(target.parent.parent / f"{target.parent.name}.lock"):
        if is_sound(target):
            return target
        build = Path(tempfile.mkdtemp(dir=target.parent.parent, prefix="build-"))
        try:
            for path in _with_includes(source, source.parent):
                copy = build / path.relative_to(source.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
            try:
                cmdstanpy.CmdStanModel(
                    stan_file=str(build / source.name), stanc_options={"include-paths": [str(build)]}
                )
            except (ValueError, RuntimeError) as error:
                raise FitError(f"The Stan program {source.name} did not compile:\n{error}") from None
            checksum = hashlib.sha256((build / target.name).read_bytes()).hexdigest()
            note = {"sha256": checksum, "made_of": _made_of(source, cmdstan)}
            (build / _NOTE).write_text(json.dumps(note))
            shutil.rmtree(target.parent, ignore_errors=True)
            os.replace(build, target.parent)
        finally:
            shutil.rmtree(build, ignore_errors=True)
    return target
