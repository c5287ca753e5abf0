"""Refits of the families: independent of n up to distinct values; the mixture against its naive form."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.measure import Line, claim, sized, tree_processor
from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.stan_data import write_data
from synth_core.engine.toolchain import compile_program
from synth_core.models import Model, Refit, build_model, zero_part
from synth_core.models.records import Records

HERE = Path(__file__).parent
SAMPLER = Sampler(1, 1000, 1000, 1)


def _records(outcome: np.ndarray, design: np.ndarray) -> Records:
    return Records(outcome, design, tuple(f"z{i}" for i in range(design.shape[1])))


def _refit_seconds(model: Model) -> float:
    """Median of data, sampling and parsing under new weights each time."""
    times = []
    for run in range(sized(3, 1)):
        weights = np.full(model.records.n, 0.5 + 0.1 * run)
        started = time.perf_counter()
        sampler = replace(SAMPLER, metric=model.metric)
        fit = sample(model.executable(), model.stan_data(weights), model.parameters, sampler)
        times.append(time.perf_counter() - started)
        claim(fit.diagnostics.rhat < 1.05 and not fit.diagnostics.divergences, fit.diagnostics)
    return float(np.median(times))


def counts() -> list[Line]:
    """Poisson and negative binomial: a refit costs what its distinct values cost."""
    rows = []
    for name, draw in {
        "poisson": lambda rng, n: rng.poisson(100.0, n),
        "negative_binomial": lambda rng, n: rng.poisson(rng.gamma(10.0, 10.0, n)),
    }.items():
        seconds = []
        for n in (2_000, 1_000_000)[: sized(2, 1)]:
            rng = np.random.default_rng(1)
            model = build_model(name, _records(draw(rng, n).astype(float), np.ones((n, 1))))
            seconds.append(_refit_seconds(model))
            rows.append(Line(f"{model.label} refit, n = {n:,}", seconds[-1],
                             note=f"{seconds[-1] / seconds[0]:.1f}x that of n = 2,000"))  # fmt: skip
    return rows


def categorical() -> list[Line]:
    """Beta and lognormal regression, n = 100,000, three categorical predictors (24 combinations)."""
    rows = []
    for name, options in {"lognormal": {}, "beta_regression": {"bounds": (0.0, 1.0)}}.items():
        seconds = []
        for n in (2_000, 100_000)[: sized(2, 1)]:
            rng = np.random.default_rng(2)
            codes = [rng.integers(0, levels, n) for levels in (2, 3, 4)]
            dummies = [(c[:, None] == np.arange(1, c.max() + 1)).astype(float) for c in codes]
            design = np.column_stack([np.ones(n), *[(d - d.mean(0)) / d.std(0) for d in dummies]])
            mean = 1 / (1 + np.exp(-(design @ np.linspace(-0.6, 0.5, design.shape[1]))))
            outcome = np.clip(rng.beta(6 * mean, 6 * (1 - mean)), 1e-6, 1 - 1e-6)
            model = build_model(name, _records(outcome, design), **options)
            seconds.append(_refit_seconds(model))
            rows.append(Line(f"{model.label} refit, categories, n = {n:,}", seconds[-1],
                             note=f"{seconds[-1] / seconds[0]:.1f}x that of n = 2,000"))  # fmt: skip
    return rows


def wide_categories() -> list[Line]:
    """Twelve categories given five categorical predictors, 165 parameters: 7 leapfrog steps against NUTS' choice."""
    rng = np.random.default_rng(4)
    n, labels = sized(20_000, 500), tuple("abcdefghijkl")
    columns = [rng.integers(0, levels, n) for levels in (8, 3, 3, 3, 2)]
    dummies = [column == level for column in columns for level in range(1, column.max() + 1)]
    design = np.column_stack([np.ones(n), *dummies]).astype(float)
    design[:, 1:] = (design[:, 1:] - design[:, 1:].mean(0)) / design[:, 1:].std(0)
    logits = design @ rng.normal(0, 0.3, (design.shape[1], 12))
    outcome = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1).astype(float)
    model = build_model("categorical", _records(outcome, design), categories=labels)
    ones, fits = np.ones(n), {}
    data = model.stan_data(ones)
    for label, sampler in {
        "ours": model.adapt_trajectories(
            model.sampler_settings(Sampler(2, sized(1000, 50)), None), ones, None, data
        ),
        "free": Sampler(2, sized(1000, 50), sized(300, 100), 1, 0.9, model.metric),
    }.items():
        fits[label] = sample(model.executable(), data, model.parameters, sampler)
    ours, free = fits["ours"], fits["free"]
    claim(not ours.diagnostics.problems, ours.diagnostics)
    claim(ours.diagnostics.ess_bulk > free.diagnostics.ess_bulk, ours.diagnostics, free.diagnostics)
    a, b = (fit.draws["beta"] for fit in (ours, free))
    error = np.sqrt((a.var(0) + b.var(0)) / 500)  # effective draws of each coefficient, at least
    claim((np.abs(a.mean(0) - b.mean(0)) < 5 * error).all())
    return [
        Line("multinomial logit of 12 categories, n = 20,000, 165 parameters, two chains", ours.seconds,
             free.seconds / ours.seconds,
             note=f"naive: NUTS' own number of steps; R-hat {ours.diagnostics.rhat:.4f} and "
             f"{free.diagnostics.rhat:.4f}, smallest effective size {ours.diagnostics.ess_bulk:.0f} and "
             f"{free.diagnostics.ess_bulk:.0f}"),
    ]  # fmt: skip


def mixture() -> list[Line]:
    """The mixture against its naive form, n = 1,000, two predictors, K = 3: the same posterior, sooner."""
    rng = np.random.default_rng(3)
    n = sized(1_000, 150)
    design = np.column_stack([np.ones(n), rng.normal(size=n), rng.normal(size=n)])
    first = rng.random(n) < 0.35
    y = np.where(first, 1.0 + 0.5 * design[:, 1], 3.0 - 0.4 * design[:, 2])
    y += np.where(first, 0.3, 0.6) * rng.normal(size=n)
    model = build_model("mixture", _records(np.exp(y), design), components=3)
    times: dict[str, float] = {}
    fits: dict[str, Any] = {}

    def timed(label: str, program: Path, prepare: Callable[[], tuple[Any, ...]], sampler: Sampler) -> None:
        started = time.perf_counter()
        data, parameters, start = prepare()  # the pilot run too
        fits[label] = sample(program, data, parameters, sampler, start=start, monitors=model.monitors)
        times[label] = time.perf_counter() - started

    def ours(alpha: Any) -> tuple[Any, ...]:
        data = model.stan_data(alpha)
        return data, model.parameters, model.start(Refit(alpha, 1, 1, data=data))

    naive = HERE / "stan" / "mixture_per_record.stan"
    by_record, vectorised = compile_program(naive), model.executable()
    ones = np.ones(n)
    data = {"n": n, "k": 3, "n_components": 3, "y": y, "z": design, "alpha": ones, "sigma_lower": 0.2}
    sampler = Sampler(1, sized(500, 50), sized(500, 100), 1, model.adapt_delta)
    timed("ours", vectorised, lambda: ours(ones), sampler)
    timed("naive", by_record, lambda: (data, ("pi_k", "beta", "sigma"), None), sampler)
    weights = rng.uniform(0.3, 1.0, n)
    timed("warm", vectorised, lambda: ours(weights), Sampler(1, 500, 200, 1, model.adapt_delta))
    a, b = (model.monitors(fits[label].draws) for label in ("ours", "naive"))
    error = np.sqrt(a.var(0) / 50 + b.var(0) / 50)  # at least fifty effective draws each
    claim((np.abs(a.mean(0) - b.mean(0)) < 5 * error).all(), a.mean(0), b.mean(0))
    return [
        Line("mixture, n = 1,000, K = 3, from a pilot run", times["ours"], times["naive"] / times["ours"],
             note=f"naive: per record, {times['naive']:.1f} s"),
        Line("mixture refit under weights", times["warm"], times["ours"] / times["warm"],
             note="naive: a cold fit"),
    ]  # fmt: skip


def survey() -> list[Line]:
    """Two-part model of a survey file: four categorical predictors and age, no two rows alike; few rows for many."""
    n, sampler = sized(65_000, 1_000), Sampler(1, sized(500, 50), sized(500, 100), 1)
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, levels, n) for levels in (4, 9, 7, 4)]
    dummies = [(c[:, None] == np.arange(1, c.max() + 1)).astype(float) for c in codes]
    dummies = [(d - d.mean(0)) / d.std(0) for d in dummies]
    design = np.column_stack([np.ones(n), *dummies, rng.normal(size=n)])
    logit = design @ np.r_[-1.9, rng.normal(0.0, 0.1, design.shape[1] - 2), -0.3]
    income = np.exp(10.0 + 0.2 * design[:, -1] + 0.8 * rng.normal(size=n))
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), 0.0, income)
    options = {"transformation": "asinh", "asinh_scale": 30_000.0, "unit": 10_000.0}
    model = build_model("two_part", _records(outcome, design), **options)
    times: dict[str, float] = {}
    fits: dict[str, Any] = {}
    for label, reach in {"few": zero_part.REACH, "all": 1e9}.items():  # at such a reach no row can be spared
        before = tree_processor()
        with patch.object(zero_part, "REACH", reach):
            data = model.stan_data(np.ones(n))
        fits[label] = sample(model.executable(), data, model.parameters, sampler)
        times[label] = tree_processor() - before
    for name in model.parameters:
        a, b = (fits[label].draws[name].reshape(sampler.draws, -1) for label in ("few", "all"))
        error = np.sqrt((a.var(0) + b.var(0)) / 200)  # at least two hundred effective draws each
        claim((np.abs(a.mean(0) - b.mean(0)) < 4 * error).all(), name)
        claim((np.abs(np.log(a.std(0) / b.std(0))) < 4 / np.sqrt(200)).all(), name)
    return [
        Line("two-part, asinh, n = 65,000, no two rows alike, one chain of 500 + 500", None,
             times["all"] / times["few"], processor=times["few"],
             note=f"naive: every row in every gradient, {times['all']:.1f} s of processor time")
    ]  # fmt: skip


def mixture_gradient() -> list[Line]:
    """A gradient of the mixture, K = 5 and 23 columns, against plain Stan: the same numbers, sooner."""
    import cmdstanpy

    rng = np.random.default_rng(6)
    n, k = sized(2_000, 200), 23
    design = np.column_stack([np.ones(n), rng.integers(0, 2, (n, k - 1)) - 0.5])
    response = design @ rng.normal(0.0, 0.2, k) + np.where(rng.random(n) < 0.3, 1.5, 0.4) * rng.normal(size=n)
    model, ones = build_model("mixture", _records(np.exp(response), design), components=5), np.ones(n)
    data = model.stan_data(ones)
    start = model.start(Refit(ones, 1, 1))
    assert start is not None
    scratch = Path(tempfile.mkdtemp(prefix="synth-bench-"))
    write_data(data, scratch / "data.json")
    programs = {"ours": model.executable(), "plain": compile_program(HERE / "stan" / "mixture_plain.stan")}
    gradients, times = {}, {}
    point = {name: np.asarray(value).tolist() for name, value in start.inits[0].items()}
    for label, executable in programs.items():
        program = cmdstanpy.CmdStanModel(exe_file=str(executable))
        gradients[label] = program.log_prob(point, data=data, sig_figs=17).to_numpy()[0, 1:]
        spent = []
        more = sized(40, 2)
        for draws in (1, 1 + more):  # the first: the data are read
            before = tree_processor()
            program.sample(
                data=str(scratch / "data.json"), chains=1, iter_warmup=0, iter_sampling=draws, seed=1,
                adapt_engaged=False, step_size=1e-4, max_treedepth=5, inits=point, show_progress=False,
            )  # fmt: skip
            spent.append(tree_processor() - before)
        # Steps so short that every tree is full. Of a tiny run the clock may tell nothing.
        times[label] = max(spent[1] - spent[0], 1e-3) / (more * 31)
    np.testing.assert_allclose(gradients["ours"], gradients["plain"], rtol=1e-8, atol=1e-8)
    return [
        Line(f"a gradient of the mixture, n = {n:,}, K = 5, 23 columns", None, times["plain"] / times["ours"],
             processor=times["ours"], note=f"naive: plain Stan, {1e3 * times['plain']:.2f} ms")
    ]  # fmt: skip
