"""Other synthesizers beside the map of one sensitive variable: single runs, measured as the map's points are.

Each is given the same complete records and public predictors, and spends at each epsilon what a point of the strict
frontier spends. Nothing of it can be released here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import Settings
from synth_core.data.table import outcome_column
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Ruler
from synth_core.experiments.explore.point import percentiles_for
from synth_core.experiments.rivals.declared_cells import block_of, edges_of
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic, problem_of
from synth_core.experiments.rivals.registry import RIVALS, RivalSpec, all_asked
from synth_core.experiments.rivals.rival_subprocess import make_in_subprocess
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version
from synth_core.system.entries import get_or_compute

Array = NDArray[np.float64]
Summary = dict[str, Any]

CODE = (  # that decides a run
    *(
        f"experiments/rivals/{name}.py"
        for name in ("map_runs", "budget", "cells", "declared_cells", "graphical")
    ),
    *(f"experiments/rivals/{name}.py" for name in ("problem", "registry", "simple")),
    "experiments/explore/measures.py",
)
MAX_RUNS = 1_000  # asked for at once


@dataclass(frozen=True)
class MapRun:
    """One run that is asked for.

    Attributes
    ----------
    asked : RivalSpec
    counted : {"rho", "epsilon"}
        See `Budget`.
    edges : tuple of float
        Of the bins of a number, in its unit; empty: as declared otherwise, see `edges_of`.
    """

    asked: RivalSpec
    counted: str
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class RivalRun:
    """One run and its errors. Confidential.

    Attributes
    ----------
    names : tuple of str
        Utility measures.
    errors : array of shape (n_measures,)
    n_cells : int
        That the variable was cut into.
    seconds : float
    cached : bool
    """

    names: tuple[str, ...]
    errors: Array
    n_records: int
    n_cells: int
    seconds: float
    cached: bool = False


def installed(who: str) -> bool:
    """Whether a rival can run here."""
    try:
        RIVALS[who].check()
    except InputError:
        return False
    return True


def offered() -> list[str]:
    """The rivals that one sensitive variable can stand beside, whether installed or not."""
    return [who for who, rival in RIVALS.items() if rival.same_alone is None]


def planned(
    rivals: Sequence[str],
    epsilons: Sequence[float],
    settings: Settings,
    replicates: int,
    counted: str,
    edges: tuple[float, ...],
) -> list[MapRun]:
    """Every run of the rivals at every epsilon, the quick ones first; the first seed is that of the settings.

    Raises
    ------
    InputError
        If there are more than `MAX_RUNS`.
    """
    spending = [who for who in rivals if RIVALS[who].private]
    labels = {who: RIVALS[who].label for who in rivals}
    asked = all_asked(labels, spending, epsilons, settings.seed, replicates)
    if len(asked) > MAX_RUNS:
        raise InputError(
            f"These are {len(asked):,} runs of other synthesizers; at most {MAX_RUNS:,} are made at once. Take fewer "
            f"runs of each, or fewer synthesizers."
        )
    return [MapRun(each, counted, edges) for each in sorted(asked, key=lambda each: RIVALS[each.who].slow)]


def run_key(fingerprint: str, settings: Settings, beside: MapRun) -> str:
    """Content key of a run: what decides it, and nothing of our mechanisms."""
    return content_key(
        kind="rival",
        made_by=code_version(*CODE),
        table=fingerprint,
        who=beside.asked.who,
        epsilon=beside.asked.epsilon,
        seed=beside.asked.seed,
        counted=beside.counted if beside.asked.epsilon is not None else None,
        edges=beside.edges,
        bins=settings.bins,
        block=block_of(settings).options,
        columns=(settings.outcome, settings.predictors, settings.categorical, settings.model),
        percentiles=percentiles_for(settings),
    )


def problem_for_map(analysis: Analysis, edges: tuple[float, ...]) -> Problem:
    """The complete records as a rival is given them; raises InputError."""
    s, records, complete = analysis.settings, analysis.selection.records, analysis.selection.complete
    columns = {name: analysis.table.frame[name][complete].reset_index(drop=True) for name in s.predictors}
    columns = {k: v.astype(str) if k in s.categorical else v for k, v in columns.items()}
    columns[s.outcome] = pd.Series(outcome_column(records.outcome, s.outcome_categories))
    declared = edges_of(s, records.n, edges)
    by_name = {s.outcome: declared} if declared else {}
    return problem_of(pd.DataFrame(columns), [block_of(s)], s.predictors, by_name)


def run_for_map(analysis: Analysis, beside: MapRun) -> RivalRun:
    """Run a rival and measure what it made, or read the run from the cache.

    Parameters
    ----------
    analysis : Analysis
        Of the table and the settings in use; of these the variable, what was declared of it, predictors and percentiles
        count.

    Raises
    ------
    InputError
        If it cannot run.
    FitError
        If it ended without an answer.
    """
    asked = beside.asked
    at = "" if asked.epsilon is None else f" at ε = {asked.epsilon:.4g}"

    def compute() -> RivalRun:
        started = time.perf_counter()
        problem = problem_for_map(analysis, beside.edges)
        look = lambda: analysis.progress(f"{asked.label}{at}", 0.0)  # noqa: E731
        made = make_in_subprocess(asked, problem, beside.counted, look)
        ruler = Ruler(analysis.selection.records.outcome, percentiles_for(analysis.settings))
        errors = ruler.measure(_values(made, analysis.settings))
        seconds = time.perf_counter() - started
        return RivalRun(ruler.names, errors, problem.n, problem.shape[0], seconds)

    key = run_key(analysis.table.fingerprint, analysis.settings, beside)
    run, cached = get_or_compute(
        analysis.cache,
        RivalRun,
        key,
        compute,
        lambda: analysis.progress("waiting for the same computation elsewhere", 0.0),
    )
    return replace(run, cached=cached)


def _values(made: RivalSynthetic, settings: Settings) -> Array:
    """The synthetic values as the map measures them: numbers, or codes of categories."""
    column, categories = made.frame[settings.outcome], settings.outcome_categories
    if categories is not None:
        column = column.map({category: code for code, category in enumerate(categories)})
    return column.to_numpy(dtype=float)


def summary_of(run: RivalRun, beside: MapRun) -> Summary:
    """A run as plain values."""
    return {
        "who": beside.asked.who,
        "epsilon": beside.asked.epsilon,
        "seed": beside.asked.seed,
        "counted": beside.counted,
        "errors": dict(zip(run.names, run.errors.tolist(), strict=True)),
        "n_cells": run.n_cells,
        "seconds": run.seconds,
        "cached": run.cached,
    }
