"""Every fast path of a model beside its plain one, which SYNTH_PLAIN chooses: the same target, and the same bounds."""

from dataclasses import replace

import cmdstanpy
import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.engine.toolchain import compile_program
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.system.cache import results_cache
from synth_core.system.plain_paths import VARIABLE
from tests.conftest import records_of
from tests.models.test_stan_targets import FAMILIES, SCALE
from tests.support.marks import slow_but

N = 300
# What a fast path leaves to a gradient, by family: the size of some data for Stan.
LEFT = {
    "lognormal": lambda data: (
        data["n_censored"] if not len(data["radius"]) else int(data["settled_inside"][0] == 0)
    ),
    "two_part": lambda data: data["n_zero_nodes"],
    "mixture": lambda data: data["n_zero_nodes"],
    "beta": lambda data: data["n_moving"],
    "categorical": lambda data: data["n_others"],
    "ordered": lambda data: data["n_others"],
    "bracketed": lambda data: data["n_others"],
}


def model_and_censoring(family, rng):
    z = np.column_stack([np.ones(N), rng.normal(size=N), rng.integers(0, 2, N)])
    if family in ("categorical", "ordered", "bracketed"):
        z[:, 1] = rng.integers(0, 3, N)
    x = rng.poisson(5.0, N) + rng.random(N) + 1.0
    if family in ("two_part", "mixture"):
        x[::4] = 0.0
    if family in ("categorical", "ordered"):
        x = np.floor(x) % 4
    if family == "bracketed":
        x = np.clip(x, 0.1, 20.0)
    model = build_model(family, records_of(x, z), prior_scale=SCALE, **FAMILIES[family][1])
    censored = (
        None if family in ("two_part", "mixture") else Censoring(2.0)
    )  # of them the rows of an unclamped sum
    return model, censored


@pytest.mark.stan
@pytest.mark.parametrize("family", slow_but(LEFT.keys() - {"mixture"}, LEFT))
def test_the_target_is_the_same_near_the_centre_and_far_from_it(family, rng, monkeypatch):
    model, censoring = model_and_censoring(family, rng)
    weights = rng.choice([0.0, 0.4, 1.0], N)
    data = {}
    for name, value in (("fast", ""), ("plain", "1")):
        monkeypatch.setenv(VARIABLE, value)
        data[name] = model.stan_data(weights, censoring)
    assert LEFT[family](data["fast"]) < LEFT[family](data["plain"]), "no fast path was taken"
    program = cmdstanpy.CmdStanModel(exe_file=str(compile_program(model.program)))
    point, lp = FAMILIES[family][0], {name: [] for name in data}
    for place in range(6):
        _, stan, _ = point(rng, data["fast"], model.records.design.shape[1])
        if place % 2 and "u" in stan:  # at the centre, where everything is settled that can be
            stan["u"] = np.asarray(stan["u"]) * 0.02
        stan = {name: np.asarray(value).tolist() for name, value in stan.items()}
        for name, each in data.items():
            at = program.log_prob(stan, data=each, jacobian=False, sig_figs=17)
            lp[name].append(at["lp__"].iloc[0])
    np.testing.assert_allclose(np.diff(lp["fast"]), np.diff(lp["plain"]), rtol=1e-9, atol=1e-7)


@pytest.mark.stan
@pytest.mark.parametrize(
    ("example", "model"), [("beta", "beta"), ("poisson", "poisson"), ("lognormal", "lognormal")]
)
def test_bounds_of_all_draws_are_those_of_the_extreme_ones(example, model, monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    settings = make_settings(outcome="x", model=model, draws=200, warmup=200, chains=1)
    results = {}
    for value in ("", "1"):
        monkeypatch.setenv(VARIABLE, value)
        cache = results_cache()
        assert cache.directory.name == ("plain" if value else tmp_path.name)
        results[value] = Analysis(load_example(example, 400, 1), settings, cache).run("weighted")
        assert not results[value].cached
    np.testing.assert_allclose(results[""].lipschitz_bounds, results["1"].lipschitz_bounds, rtol=1e-12)
    np.testing.assert_array_equal(results[""].synthetic, results["1"].synthetic)
    assert results[""].epsilon_replace == pytest.approx(results["1"].epsilon_replace, rel=1e-12)


def test_trajectories_are_the_sampler_s_own_where_plain_is_asked_for(rng, monkeypatch):
    x = rng.integers(0, 3, 4000).astype(float)
    model = build_model("categorical", records_of(x, np.ones((4000, 1))), categories=("a", "b", "c"))
    sampler = make_settings(outcome="x", model="categorical", categories=("a", "b", "c")).sampler
    ones = np.ones(4000)
    data = model.stan_data(ones)
    assert model.adapt_trajectories(sampler, ones, None, data) != sampler
    monkeypatch.setenv(VARIABLE, "1")
    assert model.adapt_trajectories(sampler, ones, None, data) == replace(sampler)
