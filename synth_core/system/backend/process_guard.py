"""What every worker process does first, and what watches it: nothing outlives its server.

A cancelled job's samplers are ended, and the whole process group when the server died.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_WATCH_SECONDS = 0.05
_current: Path | None = None


@contextlib.contextmanager
def working_in(directory: Path) -> Iterator[None]:
    """While a job runs: a file `cancel` in its directory ends the sampler's processes."""
    global _current
    _current = directory
    try:
        yield
    finally:
        _current = None


def start(parent: int) -> None:
    """Initialise a worker process: its own process group, and a guard that outlives nothing.

    The sampler's processes join the group, so that ending the group ends them too.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the server
    if "TMPDIR" in os.environ:  # Python would go to another place, silently, when this one is full
        tempfile.tempdir = os.environ["TMPDIR"]
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End the sampler's processes when the job is cancelled, everything when the server died."""
    import psutil

    while True:
        time.sleep(_WATCH_SECONDS)
        if os.getppid() != parent:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        job = _current
        if job is not None and (job / "cancel").exists():
            for child in psutil.Process().children(recursive=True):  # a script's, a compiler's too
                with contextlib.suppress(psutil.Error):
                    child.kill()
