"""What the benchmarks share: medians, a cache of their own, memory of a whole process tree."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.system.cache import Cache

TINY = "SYNTH_BENCH_TINY"  # a variable of the environment, so that child processes see it


def median_seconds(
    work: Callable[[], Any], runs: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Median time and the last answer.

    `clock` is wall time; `time.process_time` for what one thread computes here: others on the machine
    change it little. At the tiny size there is one run.
    """
    times, answer = [], None
    for _ in range(1 if tiny() else runs):
        started = clock()
        answer = work()
        times.append(clock() - started)
    return statistics.median(times), answer


def tiny() -> bool:
    """Whether each path is only run through once, at the smallest size: `python -m benchmarks --tiny`."""
    return bool(os.environ.get(TINY))


def sized(full: int, small: int) -> int:
    """A size, of records, draws, runs or moves: `full` to measure, `small` where each path is only run through."""
    return small if tiny() else full


def claim(holds: bool, *told: Any) -> None:
    """What is claimed of a measured path, such as a ratio; at the tiny size nothing is measured, hence nothing claimed.

    Raises
    ------
    AssertionError
        If it does not hold.
    """
    assert tiny() or holds, told


def fresh_cache() -> Cache:
    return Cache(Path(tempfile.mkdtemp(prefix="synth-bench-")))


def households(rows: int) -> Table:
    """The example 401ksubs; its first `rows` records where each path is only run through."""
    table = load_example("401ksubs")
    return Table("401ksubs", table.frame.head(rows)) if tiny() else table


def analysis(table: Table, cache: Cache, **more: Any) -> Analysis:
    defaults = {"outcome": "x", "model": "beta", "chains": 1}
    return Analysis(table, make_settings(**(defaults | more)), cache)


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


@dataclass(frozen=True)
class Line:
    """One measured path.

    `seconds` is wall time, or processor time where `note` says so; `processor` is the processor time of
    the whole process tree. `ratio` is how many times longer the naive form takes, `to_floor` the time
    beside the floor's, both measured in the same run. `memory` is in GiB.
    """

    path: str
    seconds: float | None
    ratio: float | None = None
    to_floor: float | None = None
    memory: float | None = None
    processor: float | None = None
    note: str = ""


def calibration() -> float:
    """Processor seconds of a fixed piece of work: how fast the machine is now."""
    a = np.random.default_rng(1).random((300, 300))

    def work() -> float:
        b = a
        for _ in range(20):
            b = a @ b
            b /= np.abs(b).max()
        return float(sum(i * i % 7 for i in range(200_000)))

    return median_seconds(work, 9, time.process_time)[0]


def tree_processor() -> float:
    """Processor seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])
