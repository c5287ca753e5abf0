"""The analyst's own programs: whether they may run at all, and within which limits.

A Stan program is compiled to machine code, so running one is running code. It is off unless a
start-up flag says otherwise, and then every process of it runs under limits of processor time,
memory and file size.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from synth_core.engine.process_limits import limited
from synth_core.engine.toolchain import ensure_cmdstan
from synth_core.engine.toolchain.programs import executable_path, is_sound
from synth_core.errors import FitError, InputError
from synth_core.models.own.source import inspect, sampling_source, source_key
from synth_core.system import files, limits
from synth_core.system.files import cache_root

FLAG = "SYNTH_OWN_PROGRAMS"
START_COMMAND = f"{FLAG}=1 make app"
PROGRAM, SAMPLER = "program.stan", "sampler.stan"
HEADER = Path(__file__).with_name("quantities.hpp")  # how quantities are written, see quantities.py
_KEPT = 40  # executables of own programs, two a program


def enabled() -> bool:
    """Whether this process was started with own programs switched on."""
    return os.environ.get(FLAG) == "1"


def require_enabled() -> None:
    """Refuse own programs unless the start-up flag is set."""
    if not enabled():
        raise InputError(
            "Own Stan programs are switched off, because compiling one runs code on this machine. "
            f"A single user on their own computer switches them on at start-up: {START_COMMAND} "
            f"(on the command line, {FLAG}=1 before the command)."
        )


def own_source(source: str, name: str = PROGRAM) -> Path:
    """The file of an own program (or of its sampler) in the user's private cache, written once."""
    path = cache_root() / "own" / source_key(source) / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.write_whole(path, source if name == PROGRAM else sampling_source(source), durable=False)
    return path


def approve(source: str) -> None:
    """Note that the user of this machine asked for this program to be run.

    Settings, links and plans carry programs too; none of them runs one that nobody has approved.
    """
    require_enabled()
    (own_source(source).parent / "approved").touch(mode=0o600)


def _require_approved(program: Path) -> None:
    if not (program.parent / "approved").is_file():
        raise InputError(
            "The settings carry a Stan program that was never approved on this machine. Read it on the page "
            "Help, under Own programs, and press Check and use (on the command line, give its file with --program)."
        )


def build(
    programs: list[Path], progress: Callable[[str, float], None] = lambda text, share: None
) -> list[Path]:
    """Compile own programs, each in a limited process of its own, unless their executables are cached.

    Returns
    -------
    list of Path
        The executables themselves, without limits: `executable` puts them on.

    Raises
    ------
    FitError
        With the last words of the C++ compiler, or if it takes too long.
    """
    require_enabled()
    for program in programs:
        _require_approved(program)
    targets = [executable_path(program, ensure_cmdstan(), HEADER) for program in programs]
    running = [
        (target, _compile(program))
        for program, target in zip(programs, targets, strict=True)
        if not is_sound(target)
    ]
    started = time.monotonic()
    try:
        for target, process in running:
            message = _last_words(process, started, progress)
            if not target.is_file():
                last = " ".join(message.strip().splitlines()[-3:])[-400:]
                raise FitError(f"The C++ compiler failed on the program: {last or 'no reason given'}")
    finally:
        for _, process in running:
            if process.poll() is None:
                _end(process)
    for target in targets:
        os.utime(target)
    if running:
        _prune()
    return targets


def _last_words(
    process: subprocess.Popen[str], started: float, progress: Callable[[str, float], None]
) -> str:
    """Wait for a compiler, and return what it wrote to standard error."""
    while True:
        try:
            return process.communicate(timeout=0.1)[1]
        except subprocess.TimeoutExpired:
            waited = time.monotonic() - started
            progress("compiling the program", min(0.95, waited / 40))
            if waited > limits.OWN_COMPILE_SECONDS:
                raise FitError(
                    f"The compiler did not finish within {limits.OWN_COMPILE_SECONDS} seconds; "
                    f"make the program shorter."
                ) from None


def executable(program: Path, progress: Callable[[str, float], None] = lambda text, share: None) -> Path:
    """What runs an own program: compiled in a limited process, and run under limits."""
    return limited(build([program], progress)[0])


def _prune() -> None:
    """Delete the executables of own programs that were unused for longest."""
    executables = sorted(_executables(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in executables[_KEPT:]:
        shutil.rmtree(path.parent, ignore_errors=True)


def _executables() -> list[Path]:
    models, names = cache_root() / "models", (Path(PROGRAM).stem, Path(SAMPLER).stem)
    return [path for name in names for path in models.glob(f"{name}-*/{name}") if path.is_file()]


def forget_all() -> None:
    """Delete every own program of this user, as text and compiled."""
    for path in _executables():
        shutil.rmtree(path.parent, ignore_errors=True)
    shutil.rmtree(cache_root() / "own", ignore_errors=True)


def _compile(program: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[3]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from pathlib import Path; "
        "from synth_core.engine.toolchain.programs import build_program; "
        "build_program(Path(sys.argv[1]), header=Path(sys.argv[2]))"
    )
    shell = f'ulimit -c 0; ulimit -t {limits.OWN_COMPILE_SECONDS}; ulimit -v 8388608 2>/dev/null; exec "$@"'
    return subprocess.Popen(
        ["sh", "-c", shell, "sh", sys.executable, "-c", code, str(program), str(HEADER)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str]) -> None:
    """End a compiler and whatever it started."""
    import psutil

    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    process.kill()
    process.communicate()


def build_all(source: str, progress: Callable[[str, float], None] = lambda text, share: None) -> None:
    """Check and compile an own program: with its generated quantities, and without for fits."""
    require_enabled()
    inspect(source)
    build([own_source(source, PROGRAM), own_source(source, SAMPLER)], progress)
