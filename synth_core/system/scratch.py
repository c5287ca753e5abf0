"""Where a process keeps what it works on: private, in memory where there is room, gone when it ends.

A sampler's input is confidential. A killed process cannot remove it, so the next one does, whoever called it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from synth_core.errors import FitError
from synth_core.system import files

MIN_SHARED_BYTES = 1024**3


def _base() -> Path:
    """TMPDIR where the user set it, else memory if there is room, else the system's own."""
    if os.environ.get("TMPDIR"):
        return Path(os.environ["TMPDIR"])
    shared_memory = Path("/dev/shm")
    roomy = os.access(shared_memory, os.W_OK) and shutil.disk_usage(shared_memory).free > MIN_SHARED_BYTES
    return shared_memory if roomy else Path(tempfile.gettempdir())


def working_directory(prefix: str, base: Path | None = None) -> Path:
    """A new private directory, named after this process.

    Directories of the same prefix whose process was killed are removed first.

    Parameters
    ----------
    base : Path, optional
        The directory that holds it; by default TMPDIR, or memory where there is room.

    Raises
    ------
    FitError
        If there is no room for it.
    """
    base = base or _base()
    for old in base.glob(f"{prefix}-*-*"):
        pid = old.name.removeprefix(f"{prefix}-").split("-")[0]
        with contextlib.suppress(OSError):
            if pid.isdigit() and old.stat().st_uid == os.getuid() and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(old, ignore_errors=True)
    try:
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-{os.getpid()}-", dir=base))
    except OSError as error:
        raise FitError(files.no_room(error)) from None


@contextlib.contextmanager
def temporary_files() -> Iterator[None]:
    """Inside, all temporary files of this process and its children go to a working directory."""
    before = os.environ.get("TMPDIR")
    directory = working_directory("synth-run")
    os.environ["TMPDIR"] = tempfile.tempdir = str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = None
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
        shutil.rmtree(directory, ignore_errors=True)
