"""Everything that a seed decides, as checksums: run here, in a fresh process, or on a worker."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.experiments.studies.replicate import run_task
from synth_core.experiments.studies.study import task_of
from synth_core.system.cache import MemoryCache
from synth_core.system.entries import to_entry
from tests.support.studies import small

NAMES = ("unweighted", "weighted_e", "censored_weighted", "exponential", "count_weighted_final", "range_averaged",
         "range_truncated")  # fmt: skip
TASKS = ("simulated table", "comparison", "study")


def checksum(value: Any) -> str:
    """Of every byte of arrays, and of numbers as they are written; times do not count."""
    digest = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        elif isinstance(part, dict):
            for key in sorted(part):
                if "seconds" not in key:
                    digest.update(key.encode())
                    add(part[key])
        elif isinstance(part, list | tuple):
            for each in part:
                add(each)
        else:
            digest.update(json.dumps(part).encode())

    add(value)
    return digest.hexdigest()


def checksums(task: str, check: Callable[[], None] = lambda: None) -> dict[str, str]:
    """By name, what a seed gave in this process: nothing comes from a cache."""
    if task == "simulated table":
        return {task: checksum({n: c.to_numpy() for n, c in load_example("lognormal", 120, 5).frame.items()})}
    if task == "study":
        case = small().cases[0]
        found = [run_task(task_of(case, 1, r)) for r in range(2)]
        return {f"replicate {r}": checksum(each) for r, each in enumerate(found)}
    settings = make_settings(outcome="x", predictors=("z",), model="lognormal", bounds=(0.0, 1e6), draws=200,
                             warmup=200, seed=17, datasets=2)  # fmt: skip
    cache = MemoryCache()
    analysis = Analysis(load_example("lognormal", 120, 5), settings, cache)
    found = {name: checksum(to_entry(analysis.run(name))) for name in NAMES}
    fits = [entry for entry in cache._entries.values() if any(key.startswith("draws:") for key in entry)]
    assert len(fits) >= len(NAMES) - 2
    return found | {f"fit {i}": checksum(fit) for i, fit in enumerate(fits)}


if __name__ == "__main__":
    print(json.dumps({task: checksums(task) for task in sys.argv[1:]}))
