"""Mechanisms on whole records and rivals, at several budgets and seeds: what each releases, judged alike.

Every cell (who, budget, seed) is stored when it is finished, and read when it is asked for again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from synth_core.analysis.records.blocks import Block, as_predictors
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.measures import k_marginal_score
from synth_core.analysis.records.numbers import mean_of_numbers
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.result_numbers import error_name
from synth_core.data.table import Table
from synth_core.errors import FitError, InputError
from synth_core.experiments.rivals.budget import COUNTED, Budget, refuse_units
from synth_core.experiments.rivals.cells import Edges
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic, problem_of
from synth_core.experiments.rivals.registry import RIVALS, RivalSpec, all_asked, make_rival
from synth_core.experiments.rivals.slopes import slopes
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism, require_several
from synth_core.models import family
from synth_core.system.cache import Cache, content_key
from synth_core.system.code_version import code_version

MAX_SEEDS = 1000
AT = "@"  # between an anchored mechanism and what it is anchored at: a rival's release, or
COUNTS = "counts"  # noisy counts of its own
ANCHOR_SHARE = 0.5  # of the budget, for that release
TellProgress = Callable[[int, int, str], None]  # done, all, what is next
Keep = Callable[[RivalSpec, RecordsAnalysis, RivalSynthetic], None]  # what is done with each synthetic table


@dataclass(frozen=True)
class RivalStudy:
    """What is compared.

    Attributes
    ----------
    common : dict
        Settings of all blocks, without epsilon and seed.
    edges : dict
        Declared edges of bins, by column.
    epsilons : tuple of float
    counted : str
        See `Budget`.
    replicates : int
        Seeds; the first is `seed`.
    """

    table: Table = field(repr=False)
    blocks: tuple[Block, ...]
    common: dict[str, Any]
    mechanisms: tuple[str, ...]
    rivals: tuple[str, ...]
    epsilons: tuple[float, ...]
    replicates: int
    seed: int = 1
    edges: Edges = field(default_factory=dict)
    counted: str = COUNTED[0]


@dataclass(frozen=True)
class Cell:
    """One cell and what was found.

    Attributes
    ----------
    numbers : dict of str to float
        `k_marginal`, `sample_share`, `pmse_ratio`, `association`, `percentile_error`, `percentile_distance`, `overlap`,
        `meeting`, `slope` (of the synthetic over that of the confidential table, where a number depends most on another
        variable), `impossible`, `seconds`, and `epsilon_found`: what the mechanism promised in sum over blocks, or
        measured. NaN for what there is not.
    details : dict
        `error` of each statistic by variable, `slope` of each number on each other variable, `distance` (total
        variation) of each column and pair,
        `disclosure` of each variable (empirical), and `problems`; `problems` alone where there is no result.
    stored : bool
        Whether it had been computed before.
    """

    asked: RivalSpec
    numbers: dict[str, float]
    details: dict[str, Any]
    stored: bool


def check_study(study: RivalStudy) -> None:
    """Refuse before anything is computed; raises InputError."""
    if not (study.mechanisms or study.rivals):
        raise InputError("Name a mechanism (--mechanism) or a rival (--rival).")
    _check_names(study)
    for epsilon in study.epsilons:
        Budget(epsilon, study.counted)
    if not 1 <= study.replicates <= MAX_SEEDS:
        raise InputError(
            f"--replicates must lie between 1 and {MAX_SEEDS:,} here (given: {study.replicates})."
        )
    refuse_units(study.common)
    known = {*(block.name for block in study.blocks), *study.common.get("predictors", ())}
    for name in study.edges:
        if name not in known:
            raise InputError(f"Edges are given (--edges) of '{name}', which is no block and no predictor.")


def _check_names(study: RivalStudy) -> None:
    """Refuse mechanisms and rivals that are none, or that cannot run here."""
    needed = list(study.rivals)
    for name in study.mechanisms:
        point, paid = _mechanism(name)
        require_several(point)
        if paid is None:
            continue
        if paid != COUNTS:
            needed.append(paid)
        private = paid == COUNTS or (paid in RIVALS and RIVALS[paid].private)
        if paid in (COUNTS, *RIVALS) and not (private and point.likelihood.anchors):
            raise InputError(
                f"{name}: an anchored mechanism can be anchored at noisy counts, anchored{AT}{COUNTS}, or at what a "
                f"rival with a guarantee released, such as anchored{AT}mst."
            )
    for name in needed:
        if name not in RIVALS:
            raise InputError(f"There is no rival '{name}'; there are: {', '.join(RIVALS)}.")
        RIVALS[name].check()


def _mechanism(name: str) -> tuple[Mechanism, str | None]:
    """A mechanism, and what it is anchored at: "anchored@counts", or a rival's release, "anchored@mst"."""
    key, _, paid = name.partition(AT)
    return find_mechanism(key), paid or None


def _label(name: str) -> str:
    if name in RIVALS:
        return RIVALS[name].label
    point, paid = _mechanism(name)
    if paid is None:
        return point.label
    return f"{point.label} at {'noisy counts' if paid == COUNTS else RIVALS[paid].label}"


def cells_asked(study: RivalStudy) -> list[RivalSpec]:
    """Every cell, seed by seed, so that a study that is stopped has all of them for the first seeds."""
    names = dict.fromkeys((*study.mechanisms, *study.rivals))
    spending = {
        n for n in names if (RIVALS[n].private if n in RIVALS else "epsilon" in _mechanism(n)[0].tuning)
    }
    return all_asked({n: _label(n) for n in names}, spending, study.epsilons, study.seed, study.replicates)


def run_rivals(
    study: RivalStudy,
    cache: Cache,
    report: TellProgress = lambda done, total, what: None,
    keep: Keep | None = None,
) -> list[Cell]:
    """Run what is not stored yet.

    Parameters
    ----------
    keep : callable, optional
        Given each synthetic table with the analysis that judges it; all are made again then, since none is stored.

    Raises
    ------
    InputError
        Naming who cannot be run; what was finished is stored. A fit that fails leaves a cell without numbers.
    """
    check_study(study)
    runner = _Runner(study, cache, keep)
    for name in study.rivals:
        RIVALS[name].check_problem(runner.problem)
    asked = cells_asked(study)
    cells = []
    for done, each in enumerate(asked):
        at = "" if each.epsilon is None else f" at ε = {each.epsilon:g}"
        report(done, len(asked), f"{each.label}{at}, seed {each.seed}")
        cells.append(runner.cell(each))
    report(len(asked), len(asked), "")
    return cells


class _Runner:
    """Computes cells; the table, its codes and its design are prepared once."""

    def __init__(self, study: RivalStudy, cache: Cache, keep: Keep | None = None):
        self.study, self.cache, self.keep = study, cache, keep
        self.whole = self._analysis(study.epsilons[0] if study.epsilons else 1.0, study.seed)

    @cached_property
    def problem(self) -> Problem:
        frame = self.whole.table.frame
        categorical = self.whole.settings.categorical
        problem = problem_of(frame, self.study.blocks, self.whole.predictors, self.study.edges, categorical)
        return replace(problem, balanced=self.whole.settings.drawing == "balanced")

    def _analysis(
        self, epsilon: float, seed: int, anchor: Table | None = None, counts: bool = False
    ) -> RecordsAnalysis:
        common = self.study.common | {"epsilon": epsilon, "seed": seed}
        if counts:
            common["anchor"] = COUNTS
        if anchor is not None:
            common["anchor"] = f"release:{anchor.name}"
        return RecordsAnalysis(self.study.table, self.study.blocks, common, self.cache, anchor=anchor)

    def cell(self, asked: RivalSpec) -> Cell:
        study = self.study
        key = content_key(
            kind="rivals",
            asked=asdict(asked),
            table=study.table.fingerprint,
            blocks=[asdict(block) for block in study.blocks],
            common=study.common,
            edges=dict(study.edges),
            counted=study.counted,
            made_by=code_version("experiments/rivals"),
        )
        entry = self.cache.get(key) if self.keep is None else None
        if entry is None:
            try:
                entry = self._computed(asked)
            except InputError as error:
                raise InputError(f"{asked.label}: {error}") from None
            except FitError as error:  # the others may go well; it is tried again when it is asked for again
                return Cell(asked, {}, {"problems": [str(error)]}, False)
            self.cache.put(key, entry)
            return Cell(asked, entry["numbers"], entry["details"], False)
        return Cell(asked, entry["numbers"], entry["details"], True)

    def _computed(self, asked: RivalSpec) -> dict[str, Any]:
        started = time.perf_counter()
        problems: list[str] = []
        if asked.who in RIVALS:
            made, epsilon = make_rival(asked, self.problem, self.study.counted), asked.epsilon
        else:
            made, epsilon, problems = self._ours(asked)
        seconds = time.perf_counter() - started
        if self.keep is not None:
            self.keep(asked, self.whole, made)
        numbers, details = self._judged(made)
        values = numbers | {"seconds": seconds, "epsilon_found": float("nan") if epsilon is None else epsilon}
        return {"numbers": values, "details": details | {"problems": problems}}

    def _ours(self, asked: RivalSpec) -> tuple[RivalSynthetic, float, list[str]]:
        """A mechanism's synthetic records, with the epsilon that it measured or promised in sum, and its problems."""
        point, paid = _mechanism(asked.who)
        shares = [part.share for part in self.whole.parts]
        budget, anchor = Budget(asked.epsilon or 1.0, self.study.counted), None
        if paid not in (None, COUNTS):
            anchor = self._released(paid, budget.part(ANCHOR_SHARE), asked.seed)
            budget = budget.part(1 - ANCHOR_SHARE)
        # Tables are counted of all blocks at once; draws are of each, and their rho add up.
        epsilon = budget.of_blocks(shares) if point.likelihood.samples else budget.epsilon
        analysis = self._analysis(epsilon, asked.seed, anchor, paid == COUNTS)
        result = analysis.run(point.key)
        return RivalSynthetic(result.synthetic[0]), result.epsilon, list(result.problems)

    def _released(self, paid: str, budget: Budget, seed: int) -> Table:
        """A rival's release, beside the predictors: it was paid for, so anchors may be made of it."""
        made = RIVALS[paid].make(self.problem, budget, np.random.default_rng([seed, 82]))
        public = self.whole.table.frame[list(self.whole.predictors)]
        return Table(RIVALS[paid].label, pd.concat([public, made.frame], axis=1), confidential=False)

    def _judged(self, made: RivalSynthetic) -> tuple[dict[str, float], dict[str, Any]]:
        judged = self.whole.judge(made.frame, made.rows)
        measures, numbers = judged.measures, judged.numbers
        nan = float("nan")
        tables = self.whole.judge.discretised(made.frame, made.rows)
        steepest = slopes(
            self.whole.table.frame,
            made.frame,
            as_predictors(self.whole.parts),
            [block.name for block in self.study.blocks if family(block.model).ordered_categories],
            tables.weights,
        )
        mine, theirs = next(iter(steepest.values()), (nan, nan))
        scores = {
            "k_marginal": measures.k_marginal,
            "sample_share": measures.sample_share,
            "pmse_ratio": measures.pmse_ratio,
            "association": measures.association,
            **{
                name: mean_of_numbers(numbers, name)
                for name in ("percentile_error", "percentile_distance", "overlap", "meeting")
            },
            "slope": theirs / mine if mine else nan,
            "impossible": nan if measures.impossible is None else measures.impossible,
        }
        details = {
            "error": {each.name: {error_name(s): s.error for s in each.statistics} for each in numbers},
            "slope": {name: {"confidential": a, "synthetic": b} for name, (a, b) in steepest.items()},
            "distance": self._distances(tables),
            "disclosure": [asdict(each) for each in judged.disclosure],
        }
        return scores, details

    def _distances(self, tables: DiscretisedTables) -> dict[str, float]:
        """Total variation of the shares of each column and each pair that has a sensitive one."""
        n_public = len(self.whole.predictors)
        sets = [
            columns
            for size in (1, 2)
            for columns in itertools.combinations(range(len(tables.names)), size)
            if max(columns) >= n_public
        ]
        return {
            " × ".join(tables.names[i] for i in columns): 1
            - k_marginal_score(
                tables.confidential, tables.synthetic, tables.n_codes, [columns], tables.weights
            )
            / 1000
            for columns in sets
        }


def by_who(cells: list[Cell]) -> Mapping[tuple[str, float | None], list[Cell]]:
    """Cells of all seeds of each synthesizer at each epsilon, in the order of the study."""
    cells_by_who: dict[tuple[str, float | None], list[Cell]] = {}
    for cell in cells:
        cells_by_who.setdefault((cell.asked.who, cell.asked.epsilon), []).append(cell)
    return cells_by_who
