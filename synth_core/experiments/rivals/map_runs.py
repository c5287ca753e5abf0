"""Other synthesizers beside a map: single runs, measured as the map's points are.

Each is given the same complete records and public predictors, and spends at each epsilon what a point of the strict
frontier spends. Nothing of it can be released here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.presence import missing_name
from synth_core.analysis.records.blocks import Block, common_of, parts_of
from synth_core.analysis.settings import Settings
from synth_core.data.outcome import outcome_column
from synth_core.errors import InputError
from synth_core.experiments.explore.point import percentiles_for
from synth_core.experiments.explore.records_point import ruler_of
from synth_core.experiments.rivals.budget import refuse_units
from synth_core.experiments.rivals.declared_cells import block_of, edges_of
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic, problem_of
from synth_core.experiments.rivals.registry import RIVALS, RivalSpec, all_asked
from synth_core.experiments.rivals.rival_subprocess import make_in_subprocess
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version
from synth_core.system.entries import WAITING, get_or_compute

Array = NDArray[np.float64]

# That decides a run.
CODE = ("experiments/rivals", "experiments/explore/measures.py", "experiments/explore/records_point.py")
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
        Of the bins of the only variable, in its unit; empty: as declared otherwise, see `edges_of`.
    share_squares : float
        Sum of the squared shares of epsilon that our fits have, see `squared_shares`.
    """

    asked: RivalSpec
    counted: str
    edges: tuple[float, ...] = ()
    share_squares: float = 1.0

    @property
    def spent(self) -> RivalSpec:
        """What is run: at the epsilon whose rho our fits spend together."""
        if self.asked.epsilon is None or self.counted != "rho":
            return self.asked
        return replace(self.asked, epsilon=self.asked.epsilon * math.sqrt(self.share_squares))


@dataclass(frozen=True)
class RivalRun:
    """One run and its errors. Confidential.

    Attributes
    ----------
    names : tuple of str
        Utility measures.
    errors : array of shape (n_measures,)
    n_cells : int
        That the variables were cut into, all combinations of them.
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


def offered(several: bool = False) -> list[str]:
    """The rivals that can stand beside one sensitive variable, or several, whether installed or not."""
    return [who for who, rival in RIVALS.items() if several or rival.same_alone is None]


def squared_shares(blocks: Sequence[Block], settings: Settings) -> float:
    """Sum of the squared shares of epsilon of all fits: a strict mechanism spends rho = epsilon^2 / 8 times it.

    Fits are independent draws, each with a bounded range of its share of epsilon, and their rho add up (`Budget`).
    """
    if not blocks:
        return 1.0
    return float(sum(part.share**2 for part in parts_of(blocks, common_of(settings))))


def planned(
    rivals: Sequence[str],
    epsilons: Sequence[float],
    settings: Settings,
    replicates: int,
    counted: str,
    edges: tuple[float, ...] = (),
    blocks: Sequence[Block] = (),
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
    squares = squared_shares(blocks, settings)
    ordered = sorted(asked, key=lambda each: RIVALS[each.who].slow)
    return [MapRun(each, counted, edges, squares) for each in ordered]


def run_key(fingerprint: str, settings: Settings, beside: MapRun, blocks: Sequence[Block] = ()) -> str:
    """Content key of a run: what decides it, and nothing of our mechanisms."""
    return content_key(
        kind="rival",
        made_by=code_version(*CODE),
        table=fingerprint,
        who=beside.asked.who,
        epsilon=beside.spent.epsilon,
        seed=beside.asked.seed,
        counted=beside.counted if beside.asked.epsilon is not None else None,
        edges=beside.edges,
        bins=settings.bins,
        blocks=[asdict(block) for block in blocks or (block_of(settings),)],
        columns=(settings.outcome, settings.predictors, settings.categorical, settings.model),
        percentiles=percentiles_for(settings),
        accuracy_by=settings.accuracy_by,
    )


def problem_for_map(analysis: AnyAnalysis[Any], edges: tuple[float, ...] = ()) -> Problem:
    """The records that are used as a rival is given them; raises InputError."""
    s, frame = analysis.settings, analysis.loaded.frame[analysis.used_rows.complete].reset_index(drop=True)
    columns = {k: frame[k].astype(str) if k in s.categorical else frame[k] for k in s.predictors}
    by_name = {}
    for name, values in analysis.confidential.items():
        own = analysis.outcomes[name]
        columns[name] = pd.Series(outcome_column(values, own.outcome_categories))
        if declared := edges_of(own, analysis.n_records, edges):
            by_name[name] = declared
    blocks = analysis.blocks or (block_of(s),)
    return problem_of(pd.DataFrame(columns), blocks, s.predictors, by_name, s.categorical)


def run_for_map(analysis: AnyAnalysis[Any], beside: MapRun) -> RivalRun:
    """Run a rival and measure what it made, or read the run from the cache.

    Parameters
    ----------
    analysis : AnyAnalysis
        Of the table and the settings in use; of these the variables, what was declared of them, predictors and
        percentiles count.

    Raises
    ------
    InputError
        If it cannot run.
    FitError
        If it ended without an answer.
    """
    refuse_units(analysis.settings.model_dump())
    asked = beside.asked
    at = "" if asked.epsilon is None else f" at ε = {asked.epsilon:.4g}"

    def compute() -> RivalRun:
        started = time.perf_counter()
        problem = problem_for_map(analysis, beside.edges)
        look = lambda: analysis.progress(f"{asked.label}{at}", 0.0)  # noqa: E731
        made = make_in_subprocess(beside.spent, problem, beside.counted, look)
        names, measure = ruler_of(analysis, percentiles_for(analysis.settings), made.rows)
        errors = measure(_values(made, analysis))
        seconds = time.perf_counter() - started
        return RivalRun(names, errors, problem.n, math.prod(problem.shape), seconds)

    key = run_key(analysis.loaded.fingerprint, analysis.settings, beside, analysis.blocks)
    run, cached = get_or_compute(
        analysis.cache,
        RivalRun,
        key,
        compute,
        lambda: analysis.progress(WAITING, 0.0),
    )
    return replace(run, cached=cached)


def _values(made: RivalSynthetic, analysis: AnyAnalysis[Any]) -> dict[str, Array]:
    """The synthetic values as the map measures them: numbers or codes, and whether a value is missing."""
    values: dict[str, Array] = {}
    for name, settings in analysis.outcomes.items():
        column, categories = made.frame[name], settings.outcome_categories
        values[missing_name(name)] = np.where(column.isna(), 1.0, 0.0)  # codes of `PRESENCE`
        if categories is not None:
            column = column.map({category: code for code, category in enumerate(categories)})
        values[name] = column.to_numpy(dtype=float)
    return values


@dataclass(frozen=True)
class RivalSummary:
    """The plain numbers of a run of another synthesizer beside the map. Confidential.

    Attributes
    ----------
    who, counted : str
    epsilon : float or None
    share_squares : float
        As of `MapRun`.
    errors : dict of str to float
        By utility measure.
    n_cells : int
        Of the table that it modelled.
    """

    who: str
    epsilon: float | None
    seed: int
    counted: str
    share_squares: float
    errors: dict[str, float]
    n_cells: int
    seconds: float
    cached: bool


def summary_of(run: RivalRun, beside: MapRun) -> RivalSummary:
    """The plain numbers of a run."""
    return RivalSummary(
        beside.asked.who,
        beside.asked.epsilon,
        beside.asked.seed,
        beside.counted,
        beside.share_squares,
        dict(zip(run.names, run.errors.tolist(), strict=True)),
        run.n_cells,
        run.seconds,
        run.cached,
    )
