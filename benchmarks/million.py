"""One million records through the whole path, each stage timed; ten million for bounds and count weights.

Run in a process of its own, so that the memory measured is that of the path alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import Line, TreeMemory, claim, fresh_cache, sized, tree_processor

MECHANISMS = ("unweighted", "weighted", "weighted_e", "exponential", "count_weighted")
MEMORY_GIB = 3.0
_LEVELS = np.array(list("ABCDEFGH"))


def simulated(n: int, seed: int = 1) -> pd.DataFrame:
    """Incomes with two numeric predictors, so that no two design rows are equal, and two categories."""
    rng = np.random.default_rng(seed)
    age, hours = rng.uniform(18, 80, n).round(3), rng.gamma(8, 5, n).round(4)
    region, sex = rng.integers(0, 8, n), rng.integers(0, 2, n)
    location = 9 + 0.01 * age + 0.01 * hours + 0.05 * region + 0.2 * sex
    return pd.DataFrame(
        {
            "income": np.exp(location + 0.6 * rng.standard_normal(n)).round(2),
            "age": age,
            "hours": hours,
            "region": _LEVELS[region],
            "sex": np.array(["f", "m"])[sex],
        }
    )


def write_csv(n: int, directory: str) -> Path:
    """The simulated table as a file."""
    path = Path(directory) / f"simulated-{n}.csv"
    simulated(n).to_csv(path, index=False)
    return path


def _child(path: str) -> None:
    """The whole path on a file; prints one JSON list of [stage, seconds, GiB]."""
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.settings import make_settings
    from synth_core.analysis.summary import summary_of
    from synth_core.data.table import open_table
    from synth_core.figures.compare import compare_figures
    from synth_core.mechanisms.catalogue import find_mechanism

    stages: list[tuple[str, float, float, float]] = []
    cache = fresh_cache()

    def stage(name: str, work: Callable[[], Any]) -> Any:
        started, used = time.perf_counter(), tree_processor()
        answer = work()
        stages.append((name, time.perf_counter() - started, tree_processor() - used, memory.take()))
        print(name, *stages[-1][1:], file=sys.stderr, flush=True)
        return answer

    with TreeMemory() as memory:
        memory.take()
        table = stage("load the file", lambda: open_table(path))
        stage("describe its columns, fingerprint", lambda: (table.columns, table.fingerprint))
        settings = make_settings(outcome="income", predictors=("age", "hours", "region", "sex"), chains=1,
                                 model="lognormal")  # fmt: skip
        compared = Analysis(table, settings, cache)
        stage("design of 11 columns", lambda: compared.selection)
        stage(
            "model, distinct records", lambda: (compared.model.alike, compared.model.records.distinct_design)
        )
        stage("unweighted fit, 1,000 + 1,000", compared.fits.unweighted)
        stage("its bounds: 1e9 log-likelihoods", compared.fits.unweighted_bounds)
        found = {}
        for name in MECHANISMS:
            label = find_mechanism(name).label
            found[name] = stage(
                f"{label}: weights, fit, bounds, utility", lambda name=name: compared.run(name)
            )

        def draw() -> int:
            summaries = [summary_of(compared, each) for each in found.values()]
            labels = {name: find_mechanism(name).label for name in found}
            return len(json.dumps(compare_figures(summaries, labels, "income")))

        sent = stage("ECDF, statistics and figures of all", draw)
    cache.purge()
    claim(sent < 400_000, sent)
    epsilons = {name: each.epsilon for name, each in found.items()}
    claim(epsilons["weighted"] < epsilons["unweighted"], epsilons)
    print(json.dumps({"stages": stages, "sent": sent, "epsilons": epsilons}))


def _anchored_child(path: str) -> None:
    """Anchored with its pilot on a file, at ε = 1; prints what it took and found, as JSON."""
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.settings import make_settings
    from synth_core.data.table import open_table

    cache = fresh_cache()
    with TreeMemory() as memory:
        settings = make_settings(outcome="income", predictors=("age", "hours", "region", "sex"), chains=1,
                                 model="lognormal", epsilon=1.0, guess=(30_000.0, 0.8))  # fmt: skip
        compared = Analysis(open_table(path), settings, cache)
        compared.model  # noqa: B018 # read and designed before the clock starts
        started, used = time.perf_counter(), tree_processor()
        found = compared.run("anchored")
        seconds, processor = time.perf_counter() - started, tree_processor() - used
        peak = memory.take()
    cache.purge()
    fit = found.diagnostics  # of one chain: that it has settled is not asked as of a release
    claim(fit is not None and fit.rhat < 1.05 and not fit.divergences, fit)
    assert found.epsilon == 1.0 and found.lipschitz_bound <= 0.5, (found.epsilon, found.lipschitz_bound)
    print(json.dumps({"seconds": seconds, "processor": processor, "gib": peak, "ecdf_max": found.ecdf_max}))


def _in_child(kind: str, path: Path) -> Any:
    """What one of the above prints, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.million", kind, str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def anchored_million(n: int | None = None) -> list[Line]:
    """Anchored censoring with its pilot at ε = 1, through bounds and utility; four predictors, 11 columns."""
    n = n or sized(1_000_000, 10_000)
    with tempfile.TemporaryDirectory() as place:
        answer = _in_child("anchored", write_csv(n, place))
    claim(answer["gib"] < MEMORY_GIB, answer)
    claim(answer["ecdf_max"] < 0.05, answer)
    return [Line(f"anchored with its pilot, lognormal, n = {n:,}, one chain, ε = 1", answer["seconds"],
                 memory=answer["gib"], processor=answer["processor"],
                 note=f"largest distance of the ECDFs {answer['ecdf_max']:.4f}")]  # fmt: skip


def million(n: int | None = None) -> list[Line]:
    """Load, fit, weights, five mechanisms, bounds, utility and figures with four predictors."""
    n = n or sized(1_000_000, 1_000)
    with tempfile.TemporaryDirectory() as place:
        path = write_csv(n, place)
        size = path.stat().st_size / 1024**2
        answer = _in_child("all", path)
    stages = answer["stages"]
    peak = max(gib for *_, gib in stages)
    claim(peak < MEMORY_GIB, peak)
    rows = [Line(f"n = {n:,}: {name}", wall, memory=gib, processor=used) for name, wall, used, gib in stages]
    total, processor = (sum(stage[i] for stage in stages) for i in (1, 2))
    return [
        *rows,
        Line(f"n = {n:,}: the whole path", total, memory=peak, processor=processor,
             note=f"a file of {size:.0f} MB; figures of {answer['sent'] / 1024:.0f} KiB"),
    ]  # fmt: skip


def ten_million(n: int | None = None) -> list[Line]:
    """Bounds of a beta fit and count weights, n = 10,000,000: memory bounded by a few arrays of n."""
    n = n or sized(10_000_000, 1_000)
    from synth_core.mechanisms.fast_bounds import bounds_by_extremes
    from synth_core.mechanisms.weights import count_weights, isolation_risk
    from synth_core.models import build_model
    from synth_core.models.records import Records

    rng = np.random.default_rng(1)
    outcome = np.clip(rng.beta(0.5, 3, n), 1e-12, 1 - 1e-12)
    rows = []
    with TreeMemory() as memory:
        memory.take()
        started = time.perf_counter()
        used = tree_processor()
        weights = count_weights(isolation_risk(outcome, 0.2))
        seconds = time.perf_counter() - started
        rows.append(Line(f"count weights, n = {n:,}", seconds, memory=memory.take(),
                         processor=tree_processor() - used))  # fmt: skip
        model = build_model("beta", Records(outcome, np.ones((n, 1)), ("(intercept)",)))
        # Draws as wide as a posterior of so many records.
        draws = {name: rng.normal(at, 2 * at / np.sqrt(n), 1000) for name, at in (("a", 0.5), ("b", 3.0))}
        started, used = time.perf_counter(), tree_processor()
        found = bounds_by_extremes(
            lambda some, rows: model.log_lik({k: v[some] for k, v in draws.items()}, rows),
            n, 1000, weights, model.alike, model.family(draws),
        )  # fmt: skip
        seconds = time.perf_counter() - started
        rows.append(Line(f"bounds, beta, n = {n:,}, 1,000 draws", seconds, memory=memory.take(),
                         processor=tree_processor() - used))  # fmt: skip
    few = rng.integers(0, n, 200)
    full = np.abs(model.log_lik(draws, few) * weights[few]).max(axis=0)
    assert np.allclose(found.lipschitz_bounds[few], full, rtol=1e-12)
    return rows


if __name__ == "__main__":
    {"all": _child, "anchored": _anchored_child}[sys.argv[1]](sys.argv[2])
