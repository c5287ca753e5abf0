"""Stan programs to executables, in the user's cache and never beside the sources."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from synth_core.cache import cache_root, file_lock
from synth_core.errors import FitError
from synth_core.toolchain import limited
from synth_core.toolchain.find import ensure_cmdstan

STAN_DIRECTORY = Path(__file__).parents[2] / "stan"
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
def _toolchain_identity(cmdstan: Path) -> str:
    """CmdStan's version and place (executables link against it), and the compiler."""
    compiler = subprocess.run(
        [os.environ.get("CXX", "g++"), "--version"], capture_output=True, text=True, check=False
    ).stdout.split("\n")[0]
    digest = hashlib.sha256(f"{cmdstan}\n{compiler}\n".encode())
    for name in ("makefile", "make/local"):
        if (cmdstan / name).is_file():
            digest.update((cmdstan / name).read_bytes())
    return digest.hexdigest()


def executable_path(program: Path, cmdstan: Path) -> Path:
    """Where the executable of a Stan program belongs: keyed by program, includes, toolchain."""
    digest = hashlib.sha256(_toolchain_identity(cmdstan).encode())
    for path in _with_includes(program, program.parent):
        digest.update(path.read_bytes())
    return cache_root() / "models" / f"{program.stem}-{digest.hexdigest()[:16]}" / program.stem


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
    if target.is_file():
        return target
    import cmdstanpy

    cmdstanpy.disable_logging()
    with file_lock(target.parent.parent / f"{target.parent.name}.lock"):
        if target.is_file():
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
            shutil.rmtree(target.parent, ignore_errors=True)
            os.replace(build, target.parent)
        finally:
            shutil.rmtree(build, ignore_errors=True)
    return target
