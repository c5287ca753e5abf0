"""One replicate of a Monte Carlo study: a simulated table, mechanisms run on it, plain numbers.

It runs in a worker process, here or on a cluster, and walks the same path as the app: a
`Comparison` whose fits are shared by all mechanisms of the replicate and forgotten after it.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synth_core import histogram
from synth_core.cache import MemoryCache, code_version
from synth_core.comparison import Comparison
from synth_core.errors import FitError, InputError
from synth_core.result import Result
from synth_core.settings import make_settings
from synth_core.table import Table

Numbers = dict[str, float]


@dataclass(frozen=True)
class Task:
    """What a worker is sent.

    Attributes
    ----------
    frame : DataFrame
        The simulated table.
    settings : dict
        Of `Settings`, with the sampler's seed.
    points : tuple of (mechanism, dict of settings that differ)
    code : str
        The sender's `code_version`: a worker with other code would give other numbers.
    """

    frame: pd.DataFrame = field(repr=False)
    settings: dict[str, Any]
    points: tuple[tuple[str, dict[str, Any]], ...]
    code: str


def run_task(task: Task, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Run every point on the table.

    Parameters
    ----------
    check : callable
        Called often; raises Cancelled to stop.

    Returns
    -------
    dict
        "points", a list of numbers by name for each point, and "seconds" (wall) and "cpu_seconds"
        (with the samplers' own).
    """
    if task.code != code_version():
        raise FitError(
            "A worker has another version of synth_core than this machine; its numbers may differ."
        )
    started, before = time.perf_counter(), cpu_seconds()
    cache, found = MemoryCache(), []
    table = Table("simulated", task.frame, confidential=False)
    first: Comparison | None = None
    for mechanism, changes in task.points:
        check()
        settings = make_settings(**(task.settings | changes))
        # The seed of the noise: the table's and the point's own.
        noise = histogram.seeded_counts((settings.seed, 51, round(1000 * settings.epsilon)))
        comparison = Comparison(table, settings, cache, lambda text, share: check(), noise=noise)
        if first is not None:
            comparison.fits = first.fits.under(settings)
        first = first or comparison
        found.append(numbers(comparison.run(mechanism)))
    return {
        "points": found,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": cpu_seconds() - before,
    }


def numbers(result: Result) -> Numbers:
    """A result as plain numbers; NaN where the mechanism has none."""
    d, w = result.diagnostics, result.weights
    nan = float("nan")
    return {
        "lipschitz_bound": nan if result.lipschitz_bound is None else result.lipschitz_bound,
        "epsilon": result.epsilon,
        "n_truncated": result.n_truncated,
        "n_censored": result.n_censored,
        "n_zero_weight": result.n_zero_weight,
        "weight_mean": float(w.mean()) if w.size else nan,
        "bound_mean": float(result.lipschitz_bounds.mean()) if w.size else nan,
        "ecdf_max": result.ecdf_max,
        "ecdf_avg": result.ecdf_avg,
        "overlap": nan if result.overlap is None else result.overlap,
        **{f"data_{s.name}": s.confidential for s in result.statistics},
        **{f"data_{s.name}_lower": s.confidential_interval[0] for s in result.statistics},
        **{f"data_{s.name}_upper": s.confidential_interval[1] for s in result.statistics},
        **{s.name: s.synthetic for s in result.statistics},
        **{f"{s.name}_lower": s.synthetic_interval[0] for s in result.statistics},
        **{f"{s.name}_upper": s.synthetic_interval[1] for s in result.statistics},
        "k": result.tuned.get("k", nan),
        "scale": result.tuned.get("scale", nan),
        "rhat": nan if d is None else d.rhat,
        "ess": nan if d is None else min(d.ess_bulk, d.ess_tail),
        "divergences": 0 if d is None else d.divergences,
        "problems": len(result.problems),
    }


def ready() -> str | None:
    """What a worker lacks, in words; None when it can run tasks."""
    from synth_core import guard
    from synth_core.toolchain import ensure_cmdstan

    try:
        guard.warm_up()
        ensure_cmdstan()
    except (FitError, InputError) as error:
        return str(error)
    except ModuleNotFoundError as error:
        return f"the Python package '{error.name}' is not installed there."
    return None


def cpu_seconds() -> float:
    """Of this process and of the samplers that it started."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return float(np.sum([each.ru_utime + each.ru_stime for each in used]))
