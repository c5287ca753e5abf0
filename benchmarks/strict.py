"""Strict refits: censored and anchored beside the weighted one, and what a clamped sum costs on many records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.measure import (
    Line,
    analysis,
    claim,
    fresh_cache,
    households,
    median_seconds,
    sized,
    tree_processor,
)
from synth_core.data.examples import load_example
from synth_core.engine.sampling import Posterior, Sampler, sample
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Model, build_model
from synth_core.models.records import Records

COLUMNS = ("age", "marr", "male", "fsize", "e401k")


def many() -> int:
    """Records of the large tables."""
    return sized(100_000, 1_000)


def four_chains() -> Sampler:
    """The sampler of the comparisons."""
    return Sampler(chains=4, draws=sized(2000, 100), warmup=sized(1000, 100), seed=1)


def strict() -> list[Line]:
    """Refits of 401ksubs under the three likelihoods, and a censored beta model of 100,000 records."""
    lines = [*_households(), _continuous()]
    few, large = (_beta(rows) for rows in (sized(2000, 500), many()))
    scales = iter(np.linspace(0.5, 0.99, 100))
    one = replace(four_chains(), chains=1, draws=sized(1000, 100))

    def refit(model: Model, censoring: Censoring | None) -> None:
        weights = np.full(model.records.n, float(next(scales)))
        sample(model.executable(), model.stan_data(weights, censoring), model.parameters, one)

    refit(few, None)  # imports
    seconds, _ = median_seconds(lambda: refit(large, Censoring(1.5)), 5)
    plain, _ = median_seconds(lambda: refit(large, None), 5)
    _the_same_posterior(few)
    note = "one pass over the records in every gradient gives the same posterior at n = 2,000, within 4 standard errors"
    name = f"censored refit, beta, n = {many():,}, one chain"
    return [*lines, Line(name, seconds, seconds / plain, note=f"ratio to the weighted one; {note}")]


def _households() -> list[Line]:
    table, shared = households(1_000), {"outcome": "inc", "predictors": COLUMNS, "model": "lognormal"}
    usual = analysis(table, fresh_cache(), **shared)
    wide = analysis(table, fresh_cache(), **shared, unit=25.0, epsilon=6.0)
    near = analysis(table, fresh_cache(), **shared, epsilon=1.0, guess=(40.0, 0.8))
    anchored, ones = near.anchored, np.ones(table.rows)
    scales = iter(np.linspace(0.5, 0.99, 100))
    usual.fits.posterior(ones)
    plain, _ = median_seconds(lambda: usual.fits.posterior(ones * float(next(scales))), 9)
    part = np.where(anchored.part, anchored.weight, 0.0)
    found = {
        "unit 25, ε = 6": median_seconds(
            lambda: wide.fits.posterior(ones * float(next(scales)), Censoring(3.0)), 5
        ),
        "ε = 1": median_seconds(
            lambda: near.fits.posterior(part * float(next(scales)), anchored.censoring), 5
        ),
    }
    kinds = zip(("censored", "anchored"), found.items(), strict=True)
    return [
        Line("weighted refit, lognormal, n = 9,275", plain),
        *(
            Line(
                f"{kind} refit, lognormal, n = 9,275, {at}",
                seconds,
                seconds / plain,
                note="ratio to the weighted",
            )
            for kind, (at, (seconds, _)) in kinds
        ),
    ]


def _continuous() -> Line:
    """Censored lognormal with predictors of which no two rows agree, beside one pass over the records a gradient."""
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(many()), rng.standard_normal((many(), 5))])
    outcome = np.exp(design @ np.array([3.0, 0.3, -0.2, 0.1, 0.0, 0.4]) + 0.5 * rng.standard_normal(many()))
    model = build_model("lognormal", Records(outcome, design, tuple(f"z{i}" for i in range(6))), unit=25.0)
    sampler, before = replace(four_chains(), chains=1, draws=sized(1000, 100)), tree_processor()
    data = model.stan_data(np.ones(many()), Censoring(3.0))
    fit = sample(model.executable(), data, model.parameters, sampler)
    used = tree_processor() - before
    claim(not fit.diagnostics.problems, fit.diagnostics)
    k = data["k"] + 1
    unsettled = {"n_radii": 0, "radius": np.empty(0), "settled_inside": [], "settled_beyond": []}
    unsettled |= {"settled_moments": np.empty((0, k, k)), "settled_sums": np.empty((0, 3))}
    before = tree_processor()
    naive = sample(model.executable(), data | unsettled, model.parameters, replace(sampler, seed=2))
    naive_used = tree_processor() - before
    _alike(fit, naive, model.parameters)
    path = f"censored refit, lognormal, five continuous predictors, n = {many():,}, one chain, unit 25, ε = 6"
    note = "naive: one pass over the records in every gradient"
    return Line(path, None, naive_used / used, processor=used, note=note)


def _beta(rows: int) -> Model:
    return analysis(load_example("beta", rows), fresh_cache()).model


def _the_same_posterior(model: Model) -> None:
    """Settled terms against one pass over all records: means and variances."""
    data = model.stan_data(np.ones(model.records.n), Censoring(1.5))
    assert 0 < data["n_moving"] < data["n_censored"] / 2
    # A box of no edges holds everything, and nothing is settled in it.
    everything = {"n_moving": data["n_censored"], "box": np.zeros((3, 3))}
    everything |= {"settled_features": np.zeros(3), "settled_constant": 0.0}
    fits = [
        sample(model.executable(), each, model.parameters, replace(four_chains(), seed=seed))
        for seed, each in enumerate((data, data | everything), 1)
    ]
    _alike(*fits, model.parameters)


def _alike(one: Posterior, other: Posterior, parameters: tuple[str, ...]) -> None:
    """Means and variances of two fits to one posterior."""
    size = min(fit.diagnostics.ess_bulk for fit in (one, other))
    for name in parameters:
        a, b = (fit.draws[name].reshape(fit.n_draws, -1) for fit in (one, other))
        error = np.hypot(a.std(axis=0), b.std(axis=0)) / np.sqrt(size)
        claim((np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error).all(), name)
        claim((np.abs(np.log(a.std(axis=0) / b.std(axis=0))) < 4 / np.sqrt(size)).all(), name)
