"""`python -m benchmarks [NAME ...]`: one table of paths, times, ratios to naive, memory."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.cache import Cache
from synth_core.comparison import Comparison
from synth_core.examples import load_example
from synth_core.models import build_model
from synth_core.sampling import Sampler, sample
from synth_core.settings import make_settings
from synth_core.table import Table
from synth_core.toolchain import compile_program

HERE = Path(__file__).parent
Row = tuple[str, str, str]  # path, measured, asserted

SAMPLER = Sampler(chains=1, draws=1000, warmup=1000, seed=1)


def median_seconds(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Median wall time and the last answer."""
    times, answer = [], None
    for _ in range(runs):
        started = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - started)
    return statistics.median(times), answer


def fresh_cache() -> Cache:
    return Cache(Path(tempfile.mkdtemp(prefix="synth-bench-")))


def comparison(table: Table, cache: Cache, **more: Any) -> Comparison:
    defaults = {"outcome": "x", "model": "beta", "chains": 1}
    return Comparison(table, make_settings(**(defaults | more)), cache)


def refit() -> list[Row]:
    """One weighted refit with bounds, n = 2,000, against the papers' per-record program."""
    import cmdstanpy

    cmdstanpy.disable_logging()
    table, cache = load_example("beta", 2000), fresh_cache()
    first = comparison(table, cache)
    x = first.model.records.outcome
    ones = np.ones(len(x))
    unweighted, key = first.fits.posterior(ones)
    risk = first.fits.bounds(unweighted, key, ones).lipschitz_bounds
    baseline = cmdstanpy.CmdStanModel(exe_file=str(compile_program(HERE / "stan" / "beta_per_record.stan")))
    scales = iter(np.linspace(0.5, 0.99, 100))

    from synth_core.weights import likelihood_weights

    def fast() -> tuple[float, np.ndarray]:
        weights = likelihood_weights(risk, float(next(scales)))
        posterior, fit_key = first.fits.posterior(weights)
        return first.fits.bounds(posterior, fit_key, weights).lipschitz_bound, weights

    fast()  # imports
    fast_seconds, (delta, weights) = median_seconds(fast, 15)

    def naive() -> float:
        fit = baseline.sample(
            data={"n": len(x), "x": x, "alpha": weights, "censored": 0, "bound": 0.0},
            chains=1,
            iter_warmup=1000,
            iter_sampling=1000,
            seed=1,
            show_progress=False,
        )
        return float(np.abs(fit.stan_variable("log_lik") * weights).max())

    naive_seconds, naive_delta = median_seconds(naive, 3)
    assert abs(delta - naive_delta) < 0.15 * naive_delta, (delta, naive_delta)  # a maximum over draws
    ratio = naive_seconds / fast_seconds
    whole_seconds, _ = median_seconds(
        lambda: comparison(table, cache, scale=float(next(scales))).run("weighted"), 15
    )
    assert ratio >= 50, ratio
    assert whole_seconds <= 0.3, whole_seconds
    return [
        ("weighted refit + bounds, n = 2,000, per-record Stan program", f"{naive_seconds:.2f} s", ""),
        (
            "weighted refit + bounds, n = 2,000",
            f"{fast_seconds * 1000:.0f} ms",
            f"{ratio:.0f}x (at least 50x)",
        ),
        ("changed c to finished arrays, n = 2,000", f"{whole_seconds * 1000:.0f} ms", "at most 300 ms"),
    ]


def censored() -> list[Row]:
    """One censored refit with bounds, n = 2,000, against the printed per-record program."""
    import cmdstanpy

    first = comparison(load_example("beta", 2000), fresh_cache())
    x = first.model.records.outcome
    weights = np.linspace(0.5, 1, len(x))
    bounds = iter(np.linspace(2.0, 3.0, 100))
    baseline = cmdstanpy.CmdStanModel(exe_file=str(compile_program(HERE / "stan" / "beta_per_record.stan")))

    def fast() -> np.ndarray:
        bound = float(next(bounds))
        posterior, key = first.fits.posterior(weights, bound)
        assert first.fits.bounds(posterior, key, weights).clamped(bound).lipschitz_bound <= bound
        return posterior.draws["a"]

    fast()
    fast_seconds, a = median_seconds(fast, 9)

    def naive() -> np.ndarray:
        fit = baseline.sample(
            data={"n": len(x), "x": x, "alpha": weights, "censored": 1, "bound": 2.1},
            chains=1, iter_warmup=1000, iter_sampling=1000, seed=1, show_progress=False,
        )  # fmt: skip
        return fit.stan_variable("lambda") * fit.stan_variable("phi")

    naive_seconds, b = median_seconds(naive, 3)
    assert abs(a.mean() - b.mean()) < 0.05, (a.mean(), b.mean())
    ratio = naive_seconds / fast_seconds
    assert ratio >= 8, ratio
    return [
        ("censored refit + bounds, n = 2,000, per-record Stan program", f"{naive_seconds:.2f} s", ""),
        (
            "censored refit + bounds, n = 2,000",
            f"{fast_seconds * 1000:.0f} ms",
            f"{ratio:.0f}x (at least 8x)",
        ),
    ]


def count() -> list[Row]:
    """Count weights at n = 1,000,000 against the double loop at n = 2,000, per record pair."""
    from synth_core.weights import isolation_risk

    rng = np.random.default_rng(1)
    small, large = rng.lognormal(size=2000), rng.lognormal(size=1_000_000)

    def naive() -> np.ndarray:
        return np.array([sum(not (v - 0.2 * abs(v) <= w <= v + 0.2 * abs(v)) for w in small) for v in small])

    naive_seconds, slow = median_seconds(naive, 1)
    assert np.allclose(isolation_risk(small, 0.2), slow / len(small))
    small_seconds, _ = median_seconds(lambda: isolation_risk(small, 0.2), 15)
    large_seconds, _ = median_seconds(lambda: isolation_risk(large, 0.2), 3)
    return [
        (
            "count weights, n = 2,000",
            f"{small_seconds * 1000:.2f} ms",
            f"{naive_seconds / small_seconds:.0f}x a double loop",
        ),
        ("count weights, n = 1,000,000", f"{large_seconds:.2f} s", ""),
    ]


def twelve() -> list[Row]:
    """All twelve mechanisms on 401ksubs, cold and cached, on as many processes as cores."""
    import os

    from synth_core.jobs import JobManager
    from synth_core.points import MECHANISMS

    os.environ["SYNTH_RESULTS_DIR"] = tempfile.mkdtemp(prefix="synth-bench-")
    settings = make_settings(outcome="inc", predictors=("age", "marr", "male", "fsize"),
                             model="lognormal", bounds=(0.0, 1000.0))  # fmt: skip
    table, times = load_example("401ksubs"), []
    for _ in range(2):
        manager = JobManager()
        warm = manager.request(
            "warm", load_example("beta", 50), make_settings(outcome="x", model="beta"), ["unweighted"]
        )
        warm[0].finished.wait(120)
        started = time.perf_counter()
        jobs = manager.request("bench", table, settings, list(MECHANISMS))
        while not all(job.finished.wait(1.0) for job in jobs):
            manager.touch(jobs)
        times.append(time.perf_counter() - started)
        assert all(job.state == "done" for job in jobs), [job.error for job in jobs]
        manager.close()
    assert times[0] < 60, times
    assert times[1] < 1, times
    return [
        ("all twelve mechanisms, 401ksubs, 4 predictors, cold", f"{times[0]:.1f} s", "at most 60 s"),
        ("all twelve mechanisms, 401ksubs, 4 predictors, cached", f"{times[1]:.2f} s", "at most 1 s"),
    ]


def naive_bounds() -> list[Row]:
    """Streamed bounds against the double loop of the papers' scripts."""
    records = load_example("beta", 300)
    first = comparison(records, fresh_cache())
    rng = np.random.default_rng(1)
    draws = {"a": rng.uniform(0.4, 0.6, 200), "b": rng.uniform(2.5, 3.5, 200)}
    model, n = first.model, 300

    def loop() -> float:
        from scipy import stats

        largest = 0.0
        for s in range(200):
            for i in range(n):
                value = stats.beta.logpdf(model.records.outcome[i], draws["a"][s], draws["b"][s])
                largest = max(largest, abs(value))
        return largest

    from synth_core.bounds import lipschitz_bounds

    fast_seconds, fast = median_seconds(
        lambda: lipschitz_bounds(lambda rows: model.log_lik(draws, rows), n, 200).lipschitz_bound, 15
    )
    naive_seconds, slow = median_seconds(loop, 1)
    assert abs(fast - slow) < 1e-9
    return [
        (
            "bounds, n = 300, 200 draws, against a double loop",
            f"{fast_seconds * 1000:.2f} ms",
            f"{naive_seconds / fast_seconds:.0f}x",
        )
    ]


def _scale_child(n: int) -> None:
    """Runs in a process of its own, so that its peak memory is its own."""
    rng = np.random.default_rng(1)
    table = Table(
        "simulated", __import__("pandas").DataFrame({"x": np.clip(rng.beta(0.5, 3, n), 1e-12, 1 - 1e-12)})
    )
    cache = fresh_cache()
    compile_program("beta.stan")
    compared = comparison(table, cache)
    started = time.perf_counter()
    unweighted, weighted = compared.run("unweighted"), compared.run("weighted")
    seconds = time.perf_counter() - started
    assert weighted.lipschitz_bound < unweighted.lipschitz_bound
    cache.purge()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{seconds} {peak}")


def scale() -> list[Row]:
    """Unweighted, weights, refit and bounds as n grows: no faster than n."""
    rows: list[Row] = []
    found = {}
    for n in (10_000, 100_000, 1_000_000):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", "--scale-child", str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, peak = map(float, done.stdout.split())
        found[n] = seconds
        rows.append(
            (
                f"unweighted and weighted, beta, n = {n:,}, 1 x 1,000 draws",
                f"{seconds:.2f} s",
                f"{peak:.2f} GiB",
            )
        )
        if n == 1_000_000:
            assert seconds < 30, seconds
            assert peak < 2, peak
    assert found[1_000_000] / found[100_000] < 10 * 1.3, found
    return rows


def lognormal_refit() -> list[Row]:
    """Lognormal regression on the 401ksubs example: a refit costs the same at any n."""
    table, cache = load_example("401ksubs"), fresh_cache()
    s = {"outcome": "inc", "predictors": ("age", "marr", "male", "fsize"), "model": "lognormal"}
    first = comparison(table, cache, **s)
    ones = np.ones(first.model.records.n)
    scales = iter(np.linspace(0.5, 0.99, 100))
    seconds, _ = median_seconds(lambda: first.fits.posterior(ones * float(next(scales))), 15)
    big = build_model(
        "lognormal",
        type(first.model.records)(
            np.tile(first.model.records.outcome, 20),
            np.tile(first.model.records.design, (20, 1)),
            first.model.records.design_names,
        ),
    )
    big_seconds, _ = median_seconds(
        lambda: sample(
            big.program, big.stan_data(np.full(big.records.n, float(next(scales)))), big.parameters, SAMPLER
        ),
        9,
    )
    return [
        ("lognormal refit, n = 9,275, 4 predictors", f"{seconds * 1000:.0f} ms", ""),
        (
            "lognormal refit, n = 185,500, 4 predictors",
            f"{big_seconds * 1000:.0f} ms",
            f"{big_seconds / seconds:.1f}x the smaller",
        ),
    ]


BENCHMARKS = {f.__name__: f for f in (refit, censored, naive_bounds, lognormal_refit, count, twelve, scale)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"of {', '.join(BENCHMARKS)}, counts, categorical, mixture, browser"
    )
    parser.add_argument("--scale-child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.scale_child:
        _scale_child(args.scale_child)
        return 0
    from benchmarks.browser import browser
    from benchmarks.models import categorical, counts, mixture

    known = BENCHMARKS | {f.__name__: f for f in (counts, categorical, mixture)} | {"browser": browser}
    for name in args.names or known:
        for path, measured, note in known[name]():
            print(f"{path:<66} {measured:>10}  {note}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
