"""A Monte Carlo study: many small fits, on as many processes as cores."""

from __future__ import annotations

import os
import time

import numpy as np

from benchmarks.measure import Line, claim, sized
from synth_core.experiments.studies.run_study import run_study
from synth_core.jobs.warm_up import warm_up
from synth_core.replication.censor import CASE, censor_4, label
from synth_core.system.backend import open_backend
from synth_core.system.cache import MemoryCache
from synth_core.system.scratch import temporary_files


def study() -> list[Line]:
    """`study censor-4` with a fifth of its 100 replicates: 22 results and about 16 fits in each."""
    replicates = sized(20, 1)
    with temporary_files(), open_backend(None, warm_up) as backend:
        started = time.perf_counter()
        found = run_study(censor_4(), replicates, 1, backend, MemoryCache())
        seconds = time.perf_counter() - started
    for epsilon in (5, 4, 3):  # what is promised holds in every replicate
        for name in ("Censor_w", "Censor_uw"):
            bounds = found.values(CASE, label(name, epsilon), "lipschitz_bound")
            assert (bounds <= epsilon / 2 + 1e-12).all(), (name, epsilon, bounds.max())
    weighted, unweighted = (
        found.values(CASE, name, "lipschitz_bound") for name in ("Weighted", "Unweighted")
    )
    claim((weighted < unweighted).all())
    claim(2 < np.median(weighted) < 3.5 and 7.5 < np.median(unweighted) < 15)  # as in the paper's figures
    each = found.cpu_seconds / replicates
    return [Line(f"study censor-4, R = {replicates}, on {os.cpu_count()} cores", seconds, processor=found.cpu_seconds,
                 note=f"{each:.2f} s of processor time a replicate; R = 100 takes {100 / replicates:.0f} times as "
                 f"long")]  # fmt: skip
