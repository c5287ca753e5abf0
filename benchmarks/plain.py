"""What each fast path gains end to end: a mechanism from its weights to its utility, with the path and without it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.measure import Line, analysis, fresh_cache, sized, tree_processor
from synth_core.analysis import fits
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.models import beta_coordinates, categories, clamp_screening, design_parts, zero_part


@dataclass(frozen=True)
class Case:
    """A fast path, and a run that takes it.

    Attributes
    ----------
    module : module
        Whose `plain` decides whether it is taken.
    table : callable
        The table of the run.
    """

    path: str
    module: Any
    table: Callable[[], Table]
    mechanism: str
    settings: dict[str, Any]


def _simulated(frame: dict[str, Any]) -> Table:
    return Table("simulated", pd.DataFrame(frame))


def _shares() -> Table:
    """The example of beta values."""
    return load_example("beta", sized(100_000, 1_000))


def _incomes() -> Table:
    """Amounts with five continuous predictors."""
    rng = np.random.default_rng(7)
    z = rng.standard_normal((sized(100_000, 1_000), 5))
    x = np.exp(3.0 + z @ np.array([0.3, -0.2, 0.1, 0.0, 0.4]) + 0.5 * rng.standard_normal(len(z)))
    return _simulated({"x": x} | {f"z{j}": z[:, j] for j in range(5)})


def _survey() -> Table:
    """Incomes with zeros, four categorical predictors and a continuous age."""
    rng, n = np.random.default_rng(5), sized(65_000, 1_000)
    age, codes = rng.normal(size=n), [rng.integers(0, levels, n) for levels in (4, 9, 7, 4)]
    income = np.exp(10.0 + 0.2 * age + 0.8 * rng.normal(size=n))
    x = np.where(rng.random(n) < 0.15, 0.0, income)
    return _simulated({"x": x, "age": age} | {f"z{j}": c.astype(str) for j, c in enumerate(codes)})


def _people() -> Table:
    """People: five categories given ten categorical predictors."""
    rng, n = np.random.default_rng(4), sized(50_000, 1_000)
    codes = [rng.integers(0, levels, n) for levels in (2, 5, 4, 3, 2, 4, 3, 2, 3, 2)]
    logits = sum(np.outer(c, rng.normal(0, 0.2, 5)) for c in codes) + rng.gumbel(size=(n, 5))
    x = np.array(list("abcde"))[np.asarray(logits).argmax(axis=1)]
    return _simulated({"x": x} | {f"z{j}": c.astype(str) for j, c in enumerate(codes)})


def _columns(*names: str) -> dict[str, Any]:
    return {"predictors": names}


TEN = _columns(*(f"z{j}" for j in range(10))) | {"model": "categorical", "categories": tuple("abcde")}
CASES = (
    Case("screening of clamped terms, lognormal, n = 100,000", clamp_screening, _incomes, "censored",
         _columns(*(f"z{j}" for j in range(5))) | {"model": "lognormal", "unit": 25.0, "epsilon": 6.0}),
    Case("screening of clamped terms, beta, n = 100,000", beta_coordinates,
         _shares, "censored", {"bounds": (0.0, 1.0), "epsilon": 3.0}),
    Case("Gauss rules of a zero part, n = 65,000", zero_part, _survey, "unweighted",
         _columns("age", "z0", "z1", "z2", "z3")
         | {"model": "two_part", "transformation": "asinh", "asinh_scale": 3e4, "unit": 1e4}),
    Case("design in parts, five categories, n = 50,000", design_parts, _people, "unweighted", TEN),
    Case("trajectories of 7 steps, the same", categories, _people, "unweighted", TEN),
    Case("bounds from the draws that can be extreme, beta, n = 100,000", fits,
         _shares, "weighted", {"bounds": (0.0, 1.0)}),
    Case("the same, lognormal with continuous predictors", fits, _incomes, "weighted",
         _columns(*(f"z{j}" for j in range(5))) | {"model": "lognormal"}),
)  # fmt: skip


@contextmanager
def _without(module: Any) -> Iterator[None]:
    with patch.object(module, "plain", lambda: True):
        yield


def plain() -> list[Line]:
    """Processor seconds of whole runs, the path and the plain form in turns, medians."""
    os.environ.pop("SYNTH_PLAIN", None)
    lines, draws = [], {"draws": sized(1_000, 100), "warmup": sized(1_000, 200)}
    for case in CASES:
        table = case.table()
        used: dict[bool, list[float]] = {True: [], False: []}
        wall: list[float] = []
        for _ in range(sized(3, 1)):
            for fast in (True, False):
                context: AbstractContextManager[None] = nullcontext() if fast else _without(case.module)
                with context:
                    run = analysis(table, fresh_cache(), **draws, **case.settings)
                    _ = run.model  # reading the table and making a design are no part of any path
                    before, started = tree_processor(), time.perf_counter()
                    run.run(case.mechanism)
                    used[fast].append(tree_processor() - before)
                    if fast:
                        wall.append(time.perf_counter() - started)
        own, naive = (float(np.median(used[fast])) for fast in (True, False))
        lines.append(
            Line(
                case.path,
                float(np.median(wall)),
                naive / own,
                processor=own,
                note=f"end to end; without it {naive:.2f} s",
            )
        )
    return lines
