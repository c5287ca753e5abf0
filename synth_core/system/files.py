"""Files written whole or not at all; and what a full, read-only or missing disk means, in words."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from synth_core.errors import FitError
from synth_core.system.characters import sentence

ABANDONED_SECONDS = 3600.0  # after which a temporary file belongs to no process, on another machine either
WORKING_FILES = "The directory of working files (/dev/shm, or TMPDIR)"

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk quota is used up", "free some space"),
    errno.EFBIG: ("a file would pass this process's size limit", "raise the limit (ulimit -f)"),
    errno.EROFS: ("it is read-only", "make it writable"),
    errno.EACCES: ("this user may not write there", "make it writable"),
    errno.EPERM: ("this user may not write there", "make it writable"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("too many files are open on this machine", "close some programs"),
    errno.EIO: ("the disk reports an error", "check the disk"),
    errno.ENOENT: ("it is not there", "make it again"),
    errno.ENOTDIR: ("a file is in its place", "remove that file"),
    errno.ENOMEM: ("this machine's memory is used up", "end other programs"),
}


def write_whole(
    path: Path, content: bytes | str | Callable[[BinaryIO], object], *, durable: bool, mode: int = 0o600
) -> None:
    """Write a file that appears under its name whole or not at all; an old one stays until then.

    Parameters
    ----------
    content : bytes, str or callable
        Text is written as UTF-8; a callable is given the open file.
    durable : bool
        Whether a power cut right after this call may not undo it: for what cannot be computed again.
    mode : int
        Of the file.

    Raises
    ------
    OSError
        If the disk is full or not writable; the old file is as it was, and nothing else is left.
    """
    prefix = f".{path.name}.{os.getpid()}-"
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            if mode != 0o600:  # what it has; a memory stick may refuse to change any
                os.fchmod(handle, mode)
            if callable(content):
                content(stream)
            else:
                stream.write(content.encode() if isinstance(content, str) else content)
            if durable:
                stream.flush()
                os.fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes left of this file, and nothing that another one is writing now."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        writer = left.name.removeprefix(f".{path.name}.").split("-")[0]
        with contextlib.suppress(FileNotFoundError):  # another process may tidy up too
            gone = writer.isdigit() and not Path(f"/proc/{writer}").exists() and Path("/proc/self").exists()
            if gone or time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink()


def sync_directory(path: Path) -> None:
    """Make what was renamed in a directory durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_full(error: OSError) -> bool:
    """Whether there was no room to write."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def explain(error: OSError, place: str, otherwise: str = "") -> str:
    """One sentence on what failed and one on what to do; it names no path and no value.

    Parameters
    ----------
    place : str
        What was to be written, such as "The cache directory".
    otherwise : str
        Another way out than mending the place, such as "name another one in SYNTH_RESULTS_DIR".

    Examples
    --------
    >>> explain(OSError(errno.ENOSPC, "x"), "The cache directory")
    'The cache directory cannot be written: the disk is full. Free some space, then run it again.'
    """
    system = (error.strerror or type(error).__name__).lower()
    reason, advice = _REASONS.get(error.errno or 0, (system, "check it"))
    also = f", or {otherwise}" if otherwise else ""
    return f"{place} cannot be written: {reason}. {sentence(advice)}{also}, then run it again."


def no_file(path: Path, shown: str | None = None) -> str:
    """There is no file of this path: nothing at all, or a directory."""
    shown = str(path) if shown is None else shown
    return f"{shown} is a directory, not a file." if path.is_dir() else f"There is no file {shown}."


def no_room(error: OSError) -> str:
    """Working files could not be written."""
    return explain(error, WORKING_FILES, "name another directory in TMPDIR")


def user_directory(
    what: str, variable: str, shared: str, usual: str, failure: type[FitError] = FitError
) -> Path:
    """A private directory of this user, created 0700: `variable`, else `shared` or `usual`, and the program's name.

    Parameters
    ----------
    what : str
        What it is, such as "cache".
    variable, shared : str
        Environment variables: the program's own, and XDG's.
    usual : str
        Under the home directory, where neither is set.

    Raises
    ------
    FitError
        Of kind `failure`, if it cannot be created.
    """
    own = os.environ.get(variable)
    root = Path(own) if own else Path(os.environ.get(shared) or Path.home() / usual) / "synth_core"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise failure(explain(error, f"The {what} directory", f"name another one in {variable}")) from None
    return root


def cache_root() -> Path:
    """The user's private cache directory (SYNTH_CACHE_DIR, else XDG), created 0700.

    Raises
    ------
    FitError
        If it cannot be created.
    """
    return user_directory("cache", "SYNTH_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
