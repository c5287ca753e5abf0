"""Likelihoods, distribution functions and predictive draws against SciPy."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from tests.conftest import records_of
from tests.support.marks import slow_but

N, S = 60, 7


@pytest.fixture
def beta_case(rng):
    draws = {"a": rng.uniform(0.3, 2, S), "b": rng.uniform(1, 4, S)}
    model = build_model("beta", records_of(rng.uniform(-4.9, 4.9, N)), (-5.0, 5.0))
    return model, draws, lambda s, i: stats.beta(draws["a"][s], draws["b"][s]), 10.0


@pytest.fixture
def lognormal_case(rng):
    z = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    draws = {"beta": rng.normal(0.5, 0.5, (S, 3)), "sigma": rng.uniform(0.5, 2, S)}
    model = build_model("lognormal", records_of(rng.lognormal(size=N), z), unit=2.5)
    return (
        model,
        draws,
        lambda s, i: stats.lognorm(draws["sigma"][s], scale=np.exp(z[i] @ draws["beta"][s])),
        2.5,
    )


@pytest.fixture
def beta_regression_case(rng):
    z = np.column_stack([np.ones(N), rng.integers(0, 3, N), rng.normal(size=N).round(1)])
    draws = {"beta": rng.normal(0, 0.5, (S, 3)), "lambda": rng.uniform(0.5, 8, S)}
    model = build_model("beta_regression", records_of(rng.uniform(-4.9, 4.9, N), z), (-5.0, 5.0))

    def law(s, i):
        mean = special.expit(z[i] @ draws["beta"][s])
        return stats.beta(draws["lambda"][s] * mean, draws["lambda"][s] * (1 - mean))

    return model, draws, law, 10.0


@pytest.fixture
def mixture_case(rng):
    z = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    draws = {
        "pi_k": rng.dirichlet([1.0, 2.0, 3.0], S),
        "beta": rng.normal(0.5, 0.5, (S, 3, 3)),
        "sigma": rng.uniform(0.5, 2, (S, 3)),
    }
    model = build_model("mixture", records_of(rng.lognormal(size=N), z), unit=2.5, components=3)

    class Law:
        def __init__(self, s, i):
            parts = zip(draws["pi_k"][s], draws["sigma"][s], draws["beta"][s].T, strict=True)
            self.parts = [(p, stats.lognorm(sd, scale=np.exp(z[i] @ b))) for p, sd, b in parts]

        def logpdf(self, x):
            return np.log(sum(p * law.pdf(x) for p, law in self.parts))

        def cdf(self, x):
            return sum(p * law.cdf(x) for p, law in self.parts)

    return model, draws, Law, 2.5


CASES = ["beta_case", "lognormal_case", "beta_regression_case", "mixture_case"]
EVERY = slice(None)  # record


def scaled(model, values):
    """Values on the scale of the density."""
    if model.options.bounds:
        return (values - model.bounds[0]) / (model.bounds[1] - model.bounds[0])
    return values / model.options.unit


@pytest.mark.parametrize("case", CASES)
def test_log_lik_and_cdf_against_scipy(case, request):
    model, draws, law, _ = request.getfixturevalue(case)
    x = scaled(model, model.records.outcome)
    expected = np.array([law(s, EVERY).logpdf(x) for s in range(S)])
    np.testing.assert_allclose(model.log_lik(draws, slice(0, N)), expected, rtol=1e-9)
    some = np.array([3, 1, 40])
    np.testing.assert_allclose(model.log_lik(draws, some), expected[:, some], rtol=1e-9)
    values = model.records.outcome * 1.1
    expected = np.array([law(s, EVERY).cdf(scaled(model, values)) for s in range(S)])
    np.testing.assert_allclose(model.cdf(draws, values, slice(0, N)), expected, atol=1e-12)
    lower = model.records.outcome - 0.3 * np.abs(model.records.outcome)
    below = np.array([law(s, EVERY).cdf(scaled(model, lower)) for s in range(S)])
    upper = np.maximum(values, lower)
    above = np.array([law(s, EVERY).cdf(scaled(model, upper)) for s in range(S)])
    np.testing.assert_allclose(
        model.interval_mass(draws, lower, upper, slice(0, N)), above - below, atol=1e-12
    )


@pytest.mark.parametrize("case", CASES)
def test_predictive_draws_follow_the_cdf(case, request, rng):
    model, draws, _, _ = request.getfixturevalue(case)
    one = {k: v[:1] for k, v in draws.items()}
    single = {k: v[0] for k, v in draws.items()}
    uniform = np.concatenate([model.cdf(one, model.predict(single, rng), slice(0, N))[0] for _ in range(60)])
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize(("transformation", "offset"), [("log", 40.0), ("asinh", 0.0)])
def test_zeros_and_losses(components, transformation, offset, rng):
    """The two-part models: masses and densities add up to 1, and the cdf is their integral."""
    x = np.r_[np.zeros(12), rng.normal(5.0, 12.0, 48)]
    z = np.column_stack([np.ones(N), rng.normal(size=N)])
    more = {"transformation": transformation, "offset": offset, "asinh_scale": 3.0, "unit": 2.0}
    if components:
        model = build_model("mixture", records_of(x, z), components=components, zero_part=True, **more)
        draws = {"pi_k": rng.dirichlet([1.0, 2.0], S), "beta": rng.normal(0.5, 0.5, (S, 2, 2))}
        draws["sigma"] = rng.uniform(0.3, 1, (S, 2))
    else:
        model = build_model("two_part", records_of(x, z), **more)
        draws = {"beta": rng.normal(0.5, 0.5, (S, 2)), "sigma": rng.uniform(0.3, 1, S)}
    draws["gamma"] = rng.normal(-1, 0.5, (S, 2))
    rows = np.array([0, 20, 50])
    zero = special.expit(draws["gamma"] @ z[rows].T)
    np.testing.assert_allclose(model.log_lik(draws, rows)[:, 0], np.log(zero[:, 0]), rtol=1e-12)

    def density(value, s, i):
        other = build_model(model.name, records_of(np.r_[np.full(N - 1, value), 0.0], z), components=components,
                            zero_part=True, **more)  # fmt: skip
        one = {k: v[[s]] for k, v in draws.items()}
        return np.exp(other.log_lik(one, np.array([i]))[0, 0]) / more["unit"]

    start = -39.999 if transformation == "log" else -500.0
    for s, i in ((0, 0), (3, 20)):
        upper = 7.0
        pieces = [start, -30.0, -5.0, -1e-9] if transformation == "log" else [start, -50.0, -5.0, -1e-9]
        below = (
            sum(integrate.quad(density, a, b, (s, i), limit=200)[0] for a, b in itertools.pairwise(pieces))
            + integrate.quad(density, 1e-9, upper, (s, i), limit=200)[0]
        )
        mass = special.expit(draws["gamma"][s] @ z[i])
        found = model.cdf({k: v[[s]] for k, v in draws.items()}, np.array([upper]), np.array([i]))[0, 0]
        assert found == pytest.approx(mass + below, abs=2e-5)
        inside = model.interval_mass(
            {k: v[[s]] for k, v in draws.items()}, np.array([-1.0]), np.array([upper]), np.array([i])
        )[0, 0]
        less = (
            integrate.quad(density, -1.0, -1e-9, (s, i))[0] + integrate.quad(density, 1e-9, upper, (s, i))[0]
        )
        assert inside == pytest.approx(mass + less, abs=2e-5)
    draw = {k: v[0] for k, v in draws.items()}
    zeros = np.mean([model.predict(draw, rng) == 0 for _ in range(400)], axis=0)
    expected = special.expit(z @ draw["gamma"])
    assert np.abs(zeros - expected).max() < 5 * np.sqrt(0.25 / 400)
    single = {k: v[:1] for k, v in draws.items()}
    simulated = np.array([model.predict(draw, rng)[50] for _ in range(2000)])
    expected = model.cdf(single, np.quantile(simulated, [0.3, 0.8]), np.array([50, 50]))[0]
    np.testing.assert_allclose([np.mean(simulated <= q) for q in np.quantile(simulated, [0.3, 0.8])], expected,
                               atol=5 * np.sqrt(0.25 / 2000))  # fmt: skip


def test_lognormal_statistics_do_not_depend_on_coordinates(rng):
    """The quadratic that Stan gets equals the weighted residual sum of squares."""
    z = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    model = build_model("lognormal", records_of(rng.lognormal(size=N), z))
    weights = rng.random(N)
    data = model.stan_data(weights)
    u = rng.normal(size=3)
    beta = data["center"] + data["basis"] @ u
    expected = np.sum(weights * (model.response - z @ beta) ** 2)
    found = data["rss"] - 2 * data["rss_slope"] @ u + u @ data["rss_curvature"] @ u
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("case", slow_but(CASES[:3], CASES))
@pytest.mark.parametrize("some_zero", [False, True])
def test_stan_data_survives_extreme_weights(case, some_zero, request):
    model = request.getfixturevalue(case)[0]
    weights = np.zeros(N)
    if some_zero:
        weights[0] = 1.0
    for bound in (None, 2.5):
        data = model.stan_data(weights, bound and Censoring(bound))
        assert all(np.isfinite(np.asarray(v, dtype=float)).all() for v in data.values())


def test_support_is_checked_in_words():
    with pytest.raises(InputError, match="zero or negative"):
        build_model("lognormal", records_of([1.0, 0.0, 2.0]))
    with pytest.raises(InputError, match="declared bounds"):
        build_model("beta", records_of([0.1, 1.0, 0.2]))
    with pytest.raises(InputError, match="no model"):
        build_model("nothing", records_of([0.1, 1.0, 0.2]))
