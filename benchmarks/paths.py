"""The paths of one table: refits, bounds, weights, all mechanisms, growth with n; each beside its naive form."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Line, analysis, claim, fresh_cache, households, median_seconds, sized
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.toolchain import compile_program
from synth_core.mechanisms.bounds import Rows, lipschitz_bounds
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import bounds_by_extremes
from synth_core.models import build_model

HERE = Path(__file__).parent

WEIGHTED_RATIO, CENSORED_RATIO = 50, 8  # that a refit must at least be faster than the papers' program
SAMPLER = Sampler(chains=1, draws=1000, warmup=1000, seed=1)


def refit() -> list[Line]:
    """One weighted refit with bounds, n = 2,000, against the papers' per-record program."""
    import cmdstanpy

    cmdstanpy.disable_logging()
    table, cache = load_example("beta", sized(2000, 200)), fresh_cache()
    first = analysis(table, cache)
    x = first.model.records.outcome
    ones = np.ones(len(x))
    unweighted, key = first.fits.posterior(ones)
    risk = first.fits.bounds(unweighted, key, ones).lipschitz_bounds
    baseline = cmdstanpy.CmdStanModel(exe_file=str(compile_program(HERE / "stan" / "beta_per_record.stan")))
    scales = iter(np.linspace(0.5, 0.99, 100))

    from synth_core.mechanisms.weights import likelihood_weights

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
        lambda: analysis(table, cache, scale=float(next(scales))).run("weighted"), 15
    )
    claim(ratio >= WEIGHTED_RATIO, ratio)
    return [
        Line(
            "weighted refit + bounds, n = 2,000",
            fast_seconds,
            ratio,
            note=f"naive: the papers' per-record Stan program, {naive_seconds:.2f} s; at least {WEIGHTED_RATIO}x",
        ),
        Line("changed c to finished arrays, n = 2,000", whole_seconds, naive_seconds / whole_seconds),
    ]


def censored() -> list[Line]:
    """One censored refit with bounds, n = 2,000, against the printed per-record program."""
    import cmdstanpy

    first = analysis(load_example("beta", sized(2000, 200)), fresh_cache())
    x = first.model.records.outcome
    weights = np.linspace(0.5, 1, len(x))
    bounds = iter(np.linspace(2.0, 3.0, 100))
    baseline = cmdstanpy.CmdStanModel(exe_file=str(compile_program(HERE / "stan" / "beta_per_record.stan")))

    def fast() -> np.ndarray:
        bound = float(next(bounds))
        posterior, key = first.fits.posterior(weights, Censoring(bound))
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
    claim(ratio >= CENSORED_RATIO, ratio)
    return [
        Line(
            "censored refit + bounds, n = 2,000",
            fast_seconds,
            ratio,
            note=f"naive: the papers' per-record Stan program, {naive_seconds:.2f} s; at least {CENSORED_RATIO}x",
        ),
    ]


def count() -> list[Line]:
    """Count weights at n = 1,000,000 against the double loop at n = 2,000, per record pair."""
    from synth_core.mechanisms.weights import isolation_risk

    rng = np.random.default_rng(1)
    small, large = rng.lognormal(size=sized(2000, 100)), rng.lognormal(size=sized(1_000_000, 1_000))

    def naive() -> np.ndarray:
        return np.array([sum(not (v - 0.2 * abs(v) <= w <= v + 0.2 * abs(v)) for w in small) for v in small])

    naive_seconds, slow = median_seconds(naive, 1)
    assert np.allclose(isolation_risk(small, 0.2), slow / len(small))
    small_seconds, _ = median_seconds(lambda: isolation_risk(small, 0.2), 15)
    large_seconds, _ = median_seconds(lambda: isolation_risk(large, 0.2), 3)
    return [
        Line(
            "count weights, n = 2,000",
            small_seconds,
            naive_seconds / small_seconds,
            note="naive: a double loop",
        ),
        Line("count weights, n = 1,000,000", large_seconds),
    ]


def twelve() -> list[Line]:
    """All twelve mechanisms on 401ksubs, cold and cached, on as many processes as cores."""
    import os

    from synth_core.jobs.manager import JobManager
    from synth_core.jobs.task import TaskInput
    from synth_core.jobs.tasks import MechanismTask
    from synth_core.mechanisms.catalogue import MECHANISMS

    os.environ["SYNTH_RESULTS_DIR"] = tempfile.mkdtemp(prefix="synth-bench-")
    settings = make_settings(outcome="inc", predictors=("age", "marr", "male", "fsize"),
                             model="lognormal", bounds=(0.0, 1000.0), guess=(40.0, 0.8))  # fmt: skip
    table, times = households(300), []
    for _ in range(2):
        manager = JobManager()
        small = load_example("beta", 50), make_settings(outcome="x", model="beta")
        warm = manager.submit("warm", [MechanismTask(TaskInput.of(*small), "unweighted")])
        warm[0].finished.wait(120)
        started = time.perf_counter()
        jobs = manager.submit(
            "bench", [MechanismTask(TaskInput.of(table, settings), key) for key in MECHANISMS]
        )
        while not all(job.finished.wait(1.0) for job in jobs):
            manager.touch(jobs)
        times.append(time.perf_counter() - started)
        assert all(job.state == "done" for job in jobs), [job.error for job in jobs]
        manager.close()
    return [
        Line("all twelve mechanisms, 401ksubs, 4 predictors, cold", times[0]),
        Line("all twelve mechanisms, 401ksubs, 4 predictors, cached", times[1], times[0] / times[1],
             note="naive: cold"),
    ]  # fmt: skip


def naive_bounds() -> list[Line]:
    """Streamed bounds against the double loop of the papers' scripts."""
    records = load_example("beta", 300)
    first = analysis(records, fresh_cache())
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

    fast_seconds, fast = median_seconds(
        lambda: lipschitz_bounds(lambda rows: model.log_lik(draws, rows), n, 200).lipschitz_bound, 15
    )
    naive_seconds, slow = median_seconds(loop, 1)
    assert abs(fast - slow) < 1e-9
    return [
        Line(
            "streamed bounds, n = 300, 200 draws",
            fast_seconds,
            naive_seconds / fast_seconds,
            note="naive: a double loop",
        )
    ]


def extremes() -> list[Line]:
    """Bounds from the draws that can be extreme, against all draws: equal, and how much sooner."""
    rng = np.random.default_rng(1)
    return [
        _extremes("beta", np.clip(rng.beta(0.5, 3, sized(2_000, 200)), 1e-12, 1 - 1e-12)),
        _extremes("beta", np.clip(rng.beta(0.5, 3, sized(100_000, 500)), 1e-12, 1 - 1e-12)),
        _extremes("lognormal", rng.lognormal(10, 1, sized(100_000, 500))),
        _extremes("poisson", rng.poisson(100.0, sized(100_000, 500)).astype(float)),
    ]


def _extremes(name: str, outcome: np.ndarray) -> Line:
    n, weights = len(outcome), np.random.default_rng(2).random(len(outcome))
    first = analysis(Table("simulated", pd.DataFrame({"x": outcome})), fresh_cache(), model=name)
    posterior, _ = first.fits.unweighted()
    model = first.model

    def log_lik(some: Rows, rows: Rows) -> np.ndarray:
        return model.log_lik({k: v[some] for k, v in posterior.draws.items()}, rows)

    full_seconds, full = median_seconds(
        lambda: lipschitz_bounds(lambda rows: log_lik(slice(None), rows), n, posterior.n_draws, weights),
        3,
        time.process_time,
    )
    fast_seconds, fast = median_seconds(
        lambda: bounds_by_extremes(
            log_lik, n, posterior.n_draws, weights, model.alike, model.family(posterior.draws)
        ),
        5,
        time.process_time,
    )
    for part in ("lipschitz_bounds", "draw_max", "draw_min"):
        assert np.allclose(getattr(fast, part), getattr(full, part), rtol=1e-13, atol=0), part
    return Line(f"bounds, {name}, n = {n:,}, 1,000 draws", fast_seconds, full_seconds / fast_seconds,
                note=f"processor time; naive: every draw at every record, {full_seconds:.3f} s")  # fmt: skip


def _scale_child(n: int) -> None:
    """Runs in a process of its own, so that its peak memory is its own."""
    rng = np.random.default_rng(1)
    table = Table("simulated", pd.DataFrame({"x": np.clip(rng.beta(0.5, 3, n), 1e-12, 1 - 1e-12)}))
    cache = fresh_cache()
    compile_program("beta.stan")
    compared = analysis(table, cache)
    started = time.perf_counter()
    unweighted, weighted = compared.run("unweighted"), compared.run("weighted")
    seconds = time.perf_counter() - started
    assert weighted.lipschitz_bound < unweighted.lipschitz_bound
    cache.purge()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{seconds} {peak}")


def scale() -> list[Line]:
    """Unweighted, weights, refit and bounds as n grows: no faster than n."""
    rows: list[Line] = []
    found = {}
    for n in (10_000, 100_000, 1_000_000)[: sized(3, 1)]:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.paths", str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, peak = map(float, done.stdout.split())
        found[n] = seconds
        rows.append(Line(f"unweighted and weighted, beta, n = {n:,}, 1 x 1,000 draws", seconds, memory=peak))
        if n == 1_000_000:
            claim(peak < 2, peak)
    return rows


def lognormal_refit() -> list[Line]:
    """Lognormal regression on the 401ksubs example: a refit costs the same at any n."""
    table, cache = households(300), fresh_cache()
    s = {"outcome": "inc", "predictors": ("age", "marr", "male", "fsize"), "model": "lognormal"}
    first = analysis(table, cache, **s)
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
            big.executable(),
            big.stan_data(np.full(big.records.n, float(next(scales)))),
            big.parameters,
            SAMPLER,
        ),
        9,
    )
    return [
        Line("lognormal refit, n = 9,275, 4 predictors", seconds),
        Line(
            "lognormal refit, n = 185,500, 4 predictors",
            big_seconds,
            note=f"{big_seconds / seconds:.1f}x that of n = 9,275",
        ),
    ]


if __name__ == "__main__":
    _scale_child(int(sys.argv[1]))
