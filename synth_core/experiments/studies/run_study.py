"""Runs a study: what is stored is read, the rest is computed in parallel and stored as it finishes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import Cancelled
from synth_core.experiments.studies.replicate import ReplicateTask, run_task
from synth_core.experiments.studies.study import Case, Study, check_study, task_key, task_of
from synth_core.system.backend import Backend, Failure
from synth_core.system.cache import Cache, Entry

Array = NDArray[np.float64]
TellProgress = Callable[[int, int, float], None]  # done, all, seconds left (NaN: not known yet)


@dataclass(frozen=True)
class StudyOutcome:
    """The results of a study.

    Attributes
    ----------
    measured : dict
        By (case key, point label, measure), an array of shape (R,), replicates in order.
    computed : int
        Replicates of cases that were computed now; the others were stored.
    seconds, cpu_seconds : float
        Wall time of this run, and processor time of what it computed.
    """

    study: Study
    replicates: int
    seed: int
    measured: dict[tuple[str, str, str], Array]
    computed: int
    seconds: float
    cpu_seconds: float
    backend: str

    def values(self, case: str, label: str, measure: str) -> Array:
        """One measure over the replicates, of shape (R,)."""
        return self.measured[case, label, measure]


def run_study(
    study: Study,
    replicates: int,
    seed: int,
    backend: Backend,
    cache: Cache,
    report: TellProgress = lambda done, total, left: None,
) -> StudyOutcome:
    """Run a study, or what is missing of it.

    Parameters
    ----------
    cache : Cache
        Holds every finished replicate under its content key: a run that was stopped, and one
        with more replicates, go on from there.
    report : callable
        Told of every finished replicate; may raise Cancelled to stop.

    Raises
    ------
    InputError
        If the study cannot be run as asked. FitError if a replicate fails; those that finished
        are kept.
    Cancelled
        On Ctrl-C, after the workers were ended.
    """
    check_study(study, replicates, seed)
    started = time.perf_counter()
    wanted = [(case, r) for r in range(replicates) for case in study.cases]
    keys = [task_key(case, seed, r) for case, r in wanted]
    entries = {i: entry for i, key in enumerate(keys) if (entry := cache.get(key)) is not None}
    missing = [i for i in range(len(wanted)) if i not in entries]
    progress = _StudyProgress(len(wanted), len(entries), report)

    def tasks() -> Iterator[ReplicateTask]:  # simulated as they are sent, never all at once
        for i in missing:
            yield task_of(wanted[i][0], seed, wanted[i][1])

    cpu = 0.0
    try:
        for answer in backend.run(run_task, tasks()) if missing else ():
            if isinstance(answer.value, Failure):
                case, r = wanted[missing[answer.index]]
                failure = Failure(
                    f"{study.name}, {case.key}, replicate {r + 1}: {answer.value.message}",
                    answer.value.bad_input,
                )
                raise failure.error()
            i = missing[answer.index]
            entries[i] = answer.value
            cpu += answer.value["cpu_seconds"]
            cache.put(keys[i], answer.value)
            progress.step()
    except KeyboardInterrupt:
        if cache.problem:  # which was told already
            raise Cancelled("stopped; what was finished could not be stored") from None
        raise Cancelled(
            f"stopped; {len(entries):,} of {len(wanted):,} replicates are stored, and the same command goes on "
            f"from there"
        ) from None
    return StudyOutcome(
        study,
        replicates,
        seed,
        _collect(wanted, entries),
        len(missing),
        time.perf_counter() - started,
        cpu,
        backend.description,
    )


def _collect(wanted: list[tuple[Case, int]], entries: dict[int, Entry]) -> dict[tuple[str, str, str], Array]:
    """Numbers by case, point and measure, replicates in order."""
    rows: dict[tuple[str, str, str], list[float]] = {}
    for i, (case, _) in enumerate(wanted):
        for point, measured in zip(case.points, entries[i]["points"], strict=True):
            for name, value in measured.items():
                rows.setdefault((case.key, point.label, name), []).append(value)
    return {key: np.array(values, dtype=float) for key, values in rows.items()}


class _StudyProgress:
    """Counts and estimates the time left from what this run computed itself."""

    def __init__(self, total: int, stored: int, report: TellProgress):
        self._total, self._stored, self._done, self._report = total, stored, stored, report
        self._started = time.monotonic()
        report(stored, total, 0.0 if stored == total else float("nan"))

    def step(self) -> None:
        self._done += 1
        each = (time.monotonic() - self._started) / (self._done - self._stored)
        self._report(self._done, self._total, each * (self._total - self._done))


class ConsoleProgress:
    """A line on standard error, at most twice a second on a terminal and every ten seconds else."""

    def __init__(self, name: str):
        self._name, self._terminal, self._last = name, sys.stderr.isatty(), 0.0

    def __call__(self, done: int, total: int, left: float) -> None:
        now = time.monotonic()
        if done < total and now - self._last < (0.5 if self._terminal else 10.0):
            return
        self._last = now
        remaining = "" if not left > 0 else f", {_duration(left)} left"
        text = f"{self._name}: {done:,} of {total:,} replicates{remaining}"
        if self._terminal:
            print(f"\r\033[K{text}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
