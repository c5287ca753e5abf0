"""What the benchmarks share: medians, a cache of their own, memory of a whole process tree."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from synth_core.cache import Cache
from synth_core.comparison import Comparison
from synth_core.settings import make_settings
from synth_core.table import Table


def median_seconds(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Median wall time and the last answer."""
    times, answer = [], None
    for _ in range(runs):
        started = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - started)
    return statistics.median(times), answer


def fresh_cache() -> Cache:
    return Cache(Path(tempfile.mkdtemp(prefix="synth-bench-")))


def comparison(table: Table, cache: Cache, **more: Any) -> Comparison:
    defaults = {"outcome": "x", "model": "beta", "chains": 1}
    return Comparison(table, make_settings(**(defaults | more)), cache)


class TreeMemory:
    """The largest resident memory of a process and all its descendants, sampled every 20 ms.

    Pages that processes share count once for each, so this is an estimate from above.
    """

    def __init__(self, pid: int | None = None):
        self._root = psutil.Process(pid)
        self._peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def take(self) -> float:
        """GiB at the peak since the last call."""
        self._sample()
        peak, self._peak = self._peak, 0
        return peak / 1024**3

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._sample()

    def _sample(self) -> None:
        total = 0
        try:
            for process in (self._root, *self._root.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
        except psutil.Error:
            return
        self._peak = max(self._peak, total)
