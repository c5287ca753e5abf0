"""One replicate of a Monte Carlo study: a simulated table, mechanisms run on it, plain numbers.

It runs in a worker process, here or on a cluster, and walks the same path as the app: a
`Analysis` whose fits are shared by all mechanisms of the replicate and forgotten after it.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synth_core.analysis.any_analysis import AnyResult, analysis_of
from synth_core.analysis.fits import Fits
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.risk_map import RiskMap, map_of
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.errors import FitError
from synth_core.experiments.studies.extra_measures import Extra, Numbers
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import Cache, MemoryCache
from synth_core.system.code_version import code_version

_NUMBERS = (
    "lipschitz_bound",
    "epsilon",
    "n_truncated",
    "n_censored",
    "n_zero_weight",
    "weight_mean",
    "bound_mean",
    "ecdf_max",
    "ecdf_avg",
    "overlap",
)  # of `ResultNumbers`
CODE = ("experiments/studies",)  # that decides a replicate's numbers: what is simulated, and what is measured
EARLIER = "earlier"
# The fit to an earlier table is made once: longer, so that it is not refused for a short chain's convergence.
EARLIER_SAMPLER = {"chains": 4, "draws": 2000, "warmup": 1000}


@dataclass(frozen=True)
class ReplicateTask:
    """What a worker is sent.

    Attributes
    ----------
    frame : DataFrame
        The simulated table.
    settings : dict
        Of `Settings`, with the sampler's seed.
    points : tuple of (mechanism, dict of settings that differ, what is measured beside)
    code : str
        The sender's `code_version`: a worker with other code would give other numbers.
    earlier : DataFrame, optional
        The table before this one: the settings' risk reference, and what may be anchored at.
    blocks : tuple of Block
        The sensitive variables of whole records; empty: the one of the settings.
    """

    frame: pd.DataFrame = field(repr=False)
    settings: dict[str, Any]
    points: tuple[tuple[str, dict[str, Any], tuple[Extra, ...]], ...]
    code: str
    earlier: pd.DataFrame | None = field(default=None, repr=False)
    blocks: tuple[Block, ...] = ()


def run_task(task: ReplicateTask, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
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
    if task.code != code_version(*CODE):
        raise FitError(
            "A worker has another version of synth_core than this machine; its numbers may differ."
        )
    started, before = time.perf_counter(), cpu_seconds()
    cache, found = MemoryCache(), []
    table = Table("simulated", task.frame, confidential=False)
    fits: Fits | None = None

    def tell(text: str, share: float) -> None:
        check()

    reference: Table | RiskMap | None = None
    if task.earlier is not None and task.blocks:
        reference = Table(EARLIER, task.earlier, confidential=False)
    elif task.earlier is not None:
        reference = _reference(task.earlier, task.settings, cache, check)
    for mechanism, changes, extras in task.points:
        check()
        settings = make_settings(**(task.settings | changes))
        # The seed of the noise: the table's and the point's own.
        context: dict[str, Any] = {"noise": SeededNoise(settings.seed, 51, round(1000 * settings.epsilon))}
        if not task.blocks:
            fits = fits or Fits(table, settings, cache, tell, contract_verified=True)
            context["prepared"] = fits
        analysis = analysis_of(table, settings, task.blocks, cache, reference, progress=tell, **context)
        result = analysis.run(mechanism)
        measured = numbers(result)
        if not task.blocks:
            [alone] = analysis.analyses(False)
            fits = alone.fits  # its columns and its model are not read again
        for extra in extras:
            measured |= extra(analysis, result)
        found.append(measured)
    return {"points": found, "seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - before}


def _reference(
    frame: pd.DataFrame, settings: dict[str, Any], cache: Cache, check: Callable[[], None]
) -> RiskMap:
    """The fit to an earlier table, as a frozen risk map."""
    longer = make_settings(**(settings | EARLIER_SAMPLER))
    table = Table(EARLIER, frame)
    return map_of(Fits(table, longer, cache, lambda text, share: check(), contract_verified=True))


def numbers(result: AnyResult) -> Numbers:
    """A result as plain numbers; NaN where the mechanism has none. Of several variables, also the largest difference of
    each."""
    flat, nan = result.summary_numbers, float("nan")
    fits = [each.diagnostics for each in flat.variables if each.diagnostics is not None]
    found: dict[str, float | None] = {name: getattr(flat, name) for name in _NUMBERS}
    for values, before in (("confidential", "data_"), ("synthetic", "")):
        for s in flat.statistics:
            lower, upper = getattr(s, f"{values}_interval")
            name = f"{before}{s.name}"
            found |= {name: getattr(s, values), f"{name}_lower": lower, f"{name}_upper": upper}
    if flat.joint is not None:
        found |= {f"ecdf_max of {each.name}": each.ecdf_max for each in flat.variables}
        found |= {"association": flat.joint.association, "k_marginal": flat.joint.k_marginal}
    found |= {
        "k": flat.tuned.get("k"),
        "scale": flat.tuned.get("scale"),
        "c": flat.tuned.get("c"),
        "rhat": max((each.rhat for each in fits), default=None),
        "ess": min((min(each.ess_bulk, each.ess_tail) for each in fits), default=None),
        "divergences": sum(each.divergences for each in fits),
        "problems": len(flat.problems),
    }
    return {name: nan if value is None else value for name, value in found.items()}


def cpu_seconds() -> float:
    """The processor time of this process and of the samplers that it started, in seconds."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return float(np.sum([each.ru_utime + each.ru_stime for each in used]))
