"""The time of the papers' own form: one Stan program, record by record, one fit for every result.

Measured on a few replicates in the same run, on the same processes, beside ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.analysis.settings import make_settings
from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.toolchain import compile_program
from synth_core.errors import InputError
from synth_core.experiments.studies.replicate import cpu_seconds
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import SAMPLER, Study, task_of
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.likelihoods import CENSORED
from synth_core.mechanisms.weights import likelihood_weights, truncate
from synth_core.system.backend import Backend, Failure
from synth_core.system.number_text import percent

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "stan" / "beta_per_record.stan"


@dataclass(frozen=True)
class NaiveTask:
    """A table of one column and the points that are fitted, each with a fit of its own."""

    x: np.ndarray
    settings: dict[str, Any]
    points: tuple[tuple[str, dict[str, Any]], ...]


def _judged(draws: dict[str, np.ndarray]) -> np.ndarray:
    """The two parameters, not the log-likelihoods of all records."""
    return np.column_stack([draws["phi"], draws["lambda"]])


def run_naive(task: NaiveTask, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Every point by the per-record program; the seconds, and Delta of each for comparison."""
    x, n = task.x, len(task.x)
    started, before, largest_bounds = time.perf_counter(), cpu_seconds(), []

    def bounds(weights: np.ndarray, censor_bound: float | None, seed: int) -> np.ndarray:
        check()
        data = {
            "n": n,
            "x": x,
            "alpha": weights,
            "censored": int(censor_bound is not None),
            "bound": censor_bound or 0.0,
        }
        sampler = Sampler(SAMPLER["chains"], SAMPLER["draws"], SAMPLER["warmup"], seed)
        fit = sample(compile_program(PROGRAM), data, ("phi", "lambda", "log_lik"), sampler, monitors=_judged)
        return np.abs(fit.draws["log_lik"] * weights).max(axis=0)

    f = None
    for mechanism, changes in task.points:
        s = make_settings(**(task.settings | changes))
        point = find_mechanism(mechanism)
        if f is None:
            f = bounds(np.ones(n), None, s.seed)
            if not point.weighted and not point.clamps:
                largest_bounds.append(float(f.max()))
                continue
        weights = likelihood_weights(f, s.scale, s.shift) if point.scheme == "likelihood" else np.ones(n)
        if "truncation" in point.adjustments:
            weights = truncate(weights, f, s.epsilon / 2)
        censor_bound = s.epsilon / 2 if point.likelihood is CENSORED else None
        largest = float(bounds(weights, censor_bound, s.seed).max())
        largest_bounds.append(largest if censor_bound is None else min(largest, censor_bound))
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": cpu_seconds() - before,
        "lipschitz_bounds": largest_bounds,
    }


def measure(outcome: StudyOutcome, backend: Backend, replicates: int) -> str:
    """Run the naive form on the study's first replicates; the ratio in words.

    Raises
    ------
    InputError
        If the study has no program of that form, or more replicates are asked for than it has.
    """
    study = outcome.study
    check(study, replicates, outcome.replicates)
    (case,) = study.cases
    points = [p for p in case.points if find_mechanism(p.mechanism).likelihood.samples]

    def task(r: int) -> NaiveTask:
        sent = task_of(case, outcome.seed, r)
        return NaiveTask(
            sent.frame[case.settings["outcome"]].to_numpy(float),
            sent.settings,
            tuple((p.mechanism, p.changes) for p in points),
        )

    started, seconds, cpu, apart = time.perf_counter(), [], [], []
    for answer in backend.run(run_naive, (task(r) for r in range(replicates))):
        if isinstance(answer.value, Failure):
            raise answer.value.error()
        seconds.append(answer.value["seconds"])
        cpu.append(answer.value["cpu_seconds"])
        ours = [outcome.values(case.key, p.label, "lipschitz_bound")[answer.index] for p in points]
        apart.append(np.median(np.abs(np.array(answer.value["lipschitz_bounds"]) / ours - 1)))
    wall = time.perf_counter() - started
    text = (
        f"Per-record scripts: {np.mean(seconds):.1f} s a replicate ({len(points)} fits; {np.mean(cpu):.1f} s of "
        f"processor time), measured on {replicates} in {wall:.0f} s; Δ as ours within {percent(max(apart))} (median "
        f"over points)"
    )
    if outcome.computed:
        mine = outcome.cpu_seconds / outcome.computed
        text += (
            f". All {outcome.replicates} would take {np.mean(cpu) * outcome.replicates / 60:.0f} min of processor "
            f"time; ours took {mine:.2f} s a replicate: {np.mean(cpu) / mine:.0f} times less"
        )
    return text


def check(study: Study, replicates: int, available: int) -> None:
    """Refuse in words what cannot be measured, before anything runs."""
    if not study.naive:
        raise InputError(f"There is no per-record program to time the study {study.name} against.")
    if not PROGRAM.is_file():
        raise InputError(
            f"The per-record program {PROGRAM.name} is not beside the package; use a clone of the project."
        )
    if not 1 <= replicates <= available:
        raise InputError(
            f"--baseline must lie between 1 and the {available} replicates (given: {replicates})."
        )


def prepare() -> None:
    """Compile the program before the clock starts."""
    compile_program(PROGRAM)
