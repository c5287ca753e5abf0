"""Run an executable under limits of processor time, memory and file size, and say why it ended."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from synth_core.system import files, limits

_FILE_MB = 8_192
_STATUS = re.compile(r"(?:Error: status|return code) (-?\d+)")
_seconds: ContextVar[int] = ContextVar("processor_seconds", default=limits.OWN_SECONDS)


@contextlib.contextmanager
def processor_seconds(seconds: int) -> Iterator[None]:
    """Inside, a limited program may use this much processor time a process."""
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


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
        files.write_whole(script, text, durable=False, mode=0o700)
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
    match = _STATUS.search(text)
    if match is None:
        return None
    if "out of memory" in text or "bad_alloc" in text or "Cannot allocate memory" in text:
        return f"it asked for more than {limits.OWN_MEMORY_MB / 1024:g} GiB of memory"
    status = int(match[1])
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
