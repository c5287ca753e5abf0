"""One line of progress of several parts that run side by side."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from synth_core.analysis.fits import Progress
from synth_core.errors import Cancelled


class ParallelProgress:
    """Tells the progress of the first part that is not done: a line that changed from part to part could not be read.

    Parameters
    ----------
    progress : callable
        May raise Cancelled, in whichever part tells it.
    """

    def __init__(self, progress: Progress):
        self._progress = progress
        self._running: dict[int, tuple[str, float] | None] = {}  # by place, what was told last
        self._stopping: set[int] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def running(self, place: int) -> Iterator[None]:
        """While a part runs beside others."""
        with self._lock:
            self._running[place] = None
        try:
            yield
        finally:
            with self._lock:
                del self._running[place]
                self._stopping.discard(place)

    def stop(self) -> None:
        """Whatever still runs is of no more use: it ends, as Cancelled, where it tells something next."""
        with self._lock:
            self._stopping |= set(self._running)

    def of(self, place: int, name: str) -> Progress:
        """What a part tells its progress to."""

        def tell(text: str, share: float) -> None:
            told: tuple[str, float] | None = f"{name}: {text}", share
            with self._lock:
                if place in self._stopping:
                    raise Cancelled("another part failed")
                if place in self._running:
                    self._running[place] = told
                    told = next((each for _, each in sorted(self._running.items()) if each is not None), told)
                assert told is not None
                self._progress(*told)

        return tell
