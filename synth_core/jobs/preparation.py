"""The models that are compiled beside a running app: by a child of low priority, which ends with it.

A fit that needs one of them before does not wait for its turn: it compiles that one itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from synth_core.engine.toolchain import is_compiled

_ROOT = Path(__file__).parents[2]


class Preparation:
    """Compiles those of `programs` that are missing; close() it.

    Parameters
    ----------
    programs : iterable of str
        File names in stan/.
    """

    def __init__(self, programs: Iterable[str]):
        self._programs = tuple(programs)
        missing = [each for each in self._programs if not is_compiled(each)]
        command = [
            sys.executable,
            "-m",
            "synth_core.engine.toolchain",
            "--server",
            str(os.getpid()),
            *missing,
        ]
        self._child = subprocess.Popen(command, cwd=_ROOT) if missing else None

    @property
    def running(self) -> bool:
        """Whether a model may still become ready; what went wrong is said on the server's console."""
        return self._child is not None and self._child.poll() is None

    def progress(self) -> tuple[int, int]:
        """How many models are ready, and how many there are."""
        return sum(map(is_compiled, self._programs)), len(self._programs)

    def close(self) -> None:
        """End the child, and its compilers with it."""
        if self._child is not None and self.running:
            with contextlib.suppress(ProcessLookupError):  # not yet the leader of its group
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.kill()
            self._child.wait()
