"""The analyst's own programs: whether they may run at all, and within which limits.

A Stan program is compiled to machine code, so running one is running code. It is off unless a
start-up flag says otherwise, and then every process of it runs under limits of processor time,
memory and file size.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

from synth_core import limits
from synth_core.cache import cache_root
from synth_core.errors import FitError, InputError
from synth_core.toolchain.source import inspect, sampling_source, source_key

FLAG = "SYNTH_OWN_PROGRAMS"
START_COMMAND = f"{FLAG}=1 make app"
PROGRAM, SAMPLER = "program.stan", "sampler.stan"
_FILE_MB = 8_192
_KEPT = 40  # executables of own programs, two a program
_STATUS = re.compile(r"(?:Error: status|return code) (-?\d+)")
_seconds: ContextVar[int] = ContextVar("own_program_seconds", default=limits.OWN_SECONDS)


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


@contextlib.contextmanager
def processor_seconds(seconds: int) -> Iterator[None]:
    """Inside, an own program may use this much processor time a process."""
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


def own_source(source: str, name: str = PROGRAM) -> Path:
    """The file of an own program (or of its sampler) in the user's private cache, written once."""
    path = cache_root() / "own" / source_key(source) / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
            stream.write(source if name == PROGRAM else sampling_source(source))
        os.replace(temporary, path)
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
            "Own program and press Check and use (on the command line, give its file with --program)."
        )


def is_own(program: Path) -> bool:
    """Whether a program is the analyst's and not one of stan/."""
    return program.parent.parent == cache_root() / "own"


def limited(executable: Path) -> Path:
    """A script that runs an executable under limits and says with which status it ended.

    It stands in for the executable in whatever cmdstanpy does.
    """
    seconds = _seconds.get()
    script = executable.parent / f"limits-{seconds}-{limits.OWN_MEMORY_MB}" / executable.name
    text = f"""#!/bin/sh
ulimit -c 0
ulimit -t {seconds + 5} && ulimit -S -t {seconds}
ulimit -v {limits.OWN_MEMORY_MB * 1024} 2>/dev/null
ulimit -f {_FILE_MB * 2048} 2>/dev/null
{shlex.quote(str(executable))} "$@"
status=$?
[ "$status" -eq 0 ] || echo "Error: status $status"
exit "$status"
"""
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(exist_ok=True, mode=0o700)
        temporary = script.with_suffix(f".{os.getpid()}")
        temporary.write_text(text)
        temporary.chmod(0o700)
        os.replace(temporary, script)
    return script


def reason(error: str, console: Path | None = None) -> str | None:
    """Why a limited process ended, if a limit or a fault of the program explains it.

    Parameters
    ----------
    error : str
        cmdstanpy's message.
    console : Path, optional
        Directory with the console files (*.txt) of the run. They may quote data: read, never shown.
    """
    text = error
    for path in () if console is None else console.glob("*.txt"):
        text += path.read_text(errors="replace")[-(2**20) :]
    found = _STATUS.search(text)
    if found is None:
        return None
    if "out of memory" in text or "bad_alloc" in text or "Cannot allocate memory" in text:
        return f"it asked for more than {limits.OWN_MEMORY_MB / 1024:g} GiB of memory"
    status = int(found[1])
    number = status - 128 if status > 128 else -status
    if number == 24:
        return f"it used more than {_seconds.get():,} seconds of processor time"
    if number in (9, 15):
        return "it was ended from outside (by a cancel, or because the machine ran out of memory)"
    if number == 25:
        return "it wrote too much"
    if number in (6, 7, 8, 11):
        return "it crashed (for example by an endless recursion, or an index outside an array)"
    return None


def build(
    programs: list[Path], progress: Callable[[str, float], None] = lambda text, share: None
) -> list[Path]:
    """Compile own programs, each in a limited process of its own, unless their executables are cached.

    Returns
    -------
    list of Path
        The executables themselves, without limits: `limited` puts them on.

    Raises
    ------
    FitError
        With the last words of the C++ compiler, or if it takes too long.
    """
    require_enabled()
    for program in programs:
        _require_approved(program)
    from synth_core.toolchain.find import ensure_cmdstan
    from synth_core.toolchain.programs import executable_path, is_sound

    targets = [executable_path(program, ensure_cmdstan()) for program in programs]
    running = [
        (target, _compile(program)) for program, target in zip(programs, targets, strict=True)
        if not is_sound(target)
    ]  # fmt: skip
    started = time.monotonic()
    try:
        for target, process in running:
            while True:
                try:
                    _, message = process.communicate(timeout=0.1)
                    break
                except subprocess.TimeoutExpired:
                    waited = time.monotonic() - started
                    progress("compiling the program", min(0.95, waited / 40))
                    if waited > limits.OWN_COMPILE_SECONDS:
                        raise FitError(
                            f"The compiler did not finish within {limits.OWN_COMPILE_SECONDS} seconds; "
                            f"make the program shorter."
                        ) from None
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


def _prune() -> None:
    """Delete the executables of own programs that were unused for longest."""
    found = sorted(_executables(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[_KEPT:]:
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
    root = Path(__file__).parents[2]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from pathlib import Path; "
        "from synth_core.toolchain.programs import build_program; build_program(Path(sys.argv[1]))"
    )
    shell = f'ulimit -c 0; ulimit -t {limits.OWN_COMPILE_SECONDS}; ulimit -v 8388608 2>/dev/null; exec "$@"'
    return subprocess.Popen(
        ["sh", "-c", shell, "sh", sys.executable, "-c", code, str(program)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


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
