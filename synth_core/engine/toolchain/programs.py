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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from synth_core.engine.toolchain.assemble import compiler, parallel_compilers, require_tools
from synth_core.engine.toolchain.find import Report, ensure_cmdstan, find_cmdstan
from synth_core.errors import FitError
from synth_core.system import files
from synth_core.system.files import cache_root
from synth_core.system.locks import file_lock

STAN_DIRECTORY = Path(__file__).parents[3] / "stan"
_NOTE = "built.json"  # beside an executable: its checksum, and what it was made of
_INCLUDE = re.compile(r"^\s*#include\s+[<\"]?([^>\"\s]+)[>\"]?\s*$", re.MULTILINE)
_BESIDE = re.compile(r'^#include "([^"/]+)"$', re.MULTILINE)  # of a user header
_USER_HEADER = re.compile(r"^// user header: (\S+)$", re.MULTILINE)  # C++ functions of a program


def _with_includes(program: Path, include_directory: Path) -> list[Path]:
    """The program and every file it includes, each once, and its user header with what that includes."""
    files, waiting = [program], [program]
    while waiting:
        for name in _included(waiting.pop().read_text()):
            path = include_directory / name
            if path not in files:
                files.append(path)
                waiting.append(path)
    headers = [include_directory / name for name in _user_headers(program)]
    for header in headers:  # and what they include from beside them
        beside = [header.parent / name for name in _BESIDE.findall(header.read_text())]
        headers += [each for each in beside if each not in headers]
    return files + headers


@cache
def _included(text: str) -> list[str]:
    """What a source names: looked for once, since every fit asks which executable is that of its program."""
    return _INCLUDE.findall(text)


def _user_headers(program: Path) -> list[str]:
    """C++ functions that a program of this project declares; an own program is given none, whatever it says."""
    return _USER_HEADER.findall(program.read_text()) if program.parent == STAN_DIRECTORY else []


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


def executable_path(program: Path, cmdstan: Path, header: Path | None = None) -> Path:
    """Where the executable of a Stan program belongs: keyed by program, includes, toolchain, compiler, header."""
    identity = hashlib.sha256(f"{cmdstan}\n{_compiler_version()}\n".encode())
    for name in ("makefile", "make/local"):
        if (cmdstan / name).is_file():
            identity.update((cmdstan / name).read_bytes())
    digest = hashlib.sha256(identity.hexdigest().encode())
    for path in [*_with_includes(program, program.parent), *([header] if header else [])]:
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


def source_of(program: str | Path) -> Path:
    """The source of a program: a file name in stan/, or a path."""
    return Path(program) if Path(program).is_absolute() else STAN_DIRECTORY / program


def is_compiled(program: str | Path) -> bool:
    """Whether a fit by this program need not wait for a compiler."""
    try:
        cmdstan = find_cmdstan()
        return cmdstan is not None and is_sound(executable_path(source_of(program), cmdstan))
    except FitError:  # no cache directory: the compiler's turn to say so
        return False


def compile_program(program: str | Path, wait: Callable[[], None] = lambda: None) -> Path:
    """Compile a Stan program of this project unless its executable is cached, and return the executable.

    Parameters
    ----------
    program : str or Path
        A file name in stan/, or a path.
    wait : callable
        Called before the compiler starts, and while another process compiles the same program; it may raise.

    Raises
    ------
    FitError
        With the compiler's message if the program is not valid.
    """
    return build_program(source_of(program), wait)


def compile_programs(programs: Iterable[str], report: Report = lambda text: None) -> None:
    """Compile programs of this project beside each other; the longest, which takes longest, first.

    Parameters
    ----------
    report : callable
        Called with one line of progress at a time; not at all if every executable is cached.

    Raises
    ------
    FitError
        As `compile_program`, of the first that failed; those that had not begun are left out.
    """
    missing = [each for each in programs if not is_compiled(each)]
    missing.sort(key=lambda each: source_of(each).stat().st_size, reverse=True)
    if not missing:
        return
    at_a_time = parallel_compilers()
    report(f"compiling {', '.join(missing)}; {at_a_time} at a time")
    with ThreadPoolExecutor(at_a_time) as pool:
        names = {pool.submit(compile_program, each): each for each in missing}
        try:
            for done, future in enumerate(as_completed(names), start=1):
                future.result()
                report(f"model {done} of {len(missing)}: {names[future]} is ready")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def build_program(source: Path, wait: Callable[[], None] = lambda: None, header: Path | None = None) -> Path:
    """Compile a Stan program unless its executable is cached, and return the executable.

    Parameters
    ----------
    header : Path, optional
        C++ of this project that is compiled before the program, which can declare no function of it.

    Raises
    ------
    FitError
        With the compiler's message if the program is not valid.
    """
    cmdstan = ensure_cmdstan()
    target = executable_path(source, cmdstan, header)
    if is_sound(target):
        return target
    if header is None and not _compiler_version() and (other := _built_elsewhen(source, cmdstan)):
        return other
    require_tools()
    try:
        wait()
        return _build(source, cmdstan, target, wait, header)
    except OSError as error:
        raise FitError(
            f"The Stan program {source.name} could not be compiled. "
            + files.explain(error, "The cache directory", "name another one in SYNTH_CACHE_DIR")
        ) from None


def _build(source: Path, cmdstan: Path, target: Path, wait: Callable[[], None], header: Path | None) -> Path:
    with file_lock(target.parent.parent / f"{target.parent.name}.lock", wait):
        if is_sound(target):
            return target
        build = target.parent.with_name(f"build-{target.parent.name}")
        shutil.rmtree(build, ignore_errors=True)  # of a compiler that was ended with its server
        try:
            for path in _with_includes(source, source.parent):
                copy = build / path.relative_to(source.parent)
                copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                shutil.copy(path, copy)
            declared = [build / name for name in _user_headers(source)]
            _make(build / source.name, cmdstan, declared, [header] if header else [])
            checksum = hashlib.sha256((build / target.name).read_bytes()).hexdigest()
            note = {"sha256": checksum, "made_of": _made_of(source, cmdstan)}
            (build / _NOTE).write_text(json.dumps(note))
            shutil.rmtree(target.parent, ignore_errors=True)
            os.replace(build, target.parent)
        finally:
            shutil.rmtree(build, ignore_errors=True)
    return target


def _make(source: Path, cmdstan: Path, declared: list[Path], others: list[Path]) -> None:
    """Build an executable by CmdStan's make; cmdstanpy would change the directory of the whole process."""
    flags = f"STANCFLAGS+=--include-paths={source.parent} --filename-in-msg={source.name}"
    external = [f"USER_HEADER={header}" for header in declared + others]
    done = subprocess.run(
        ["make", flags + (" --allow-undefined" if declared else ""), *external, str(source.with_suffix(""))],
        cwd=cmdstan,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FitError(f"The Stan program {source.name} did not compile:\n{done.stdout}")
