"""Count models against SciPy, the conjugate closed form and quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats

from synth_core.engine.sampling import Sampler, sample
from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.models.counts import MEAN_RATE, MEAN_SHAPE
from tests.conftest import records_of
from tests.models.test_pseudo_posterior import agree
from tests.support.marks import slow_but

N, S = 50, 6
SAMPLER = Sampler(chains=4, draws=2000, warmup=1000, seed=3)


@pytest.fixture(params=["poisson", "negative_binomial"])
def case(request, rng):
    z = np.column_stack([np.ones(N), rng.integers(0, 3, N), rng.normal(size=N).round(1)])
    draws = {"beta": rng.normal(0.5, 0.4, (S, 3)), "phi": rng.uniform(0.5, 30, S)}
    model = build_model(request.param, records_of(rng.poisson(6, N), z))

    def law(s, i=slice(None)):
        mean = np.exp(z[i] @ draws["beta"][s])
        if request.param == "poisson":
            return stats.poisson(mean)
        return stats.nbinom(draws["phi"][s], draws["phi"][s] / (draws["phi"][s] + mean))

    return model, draws, law


def test_against_scipy(case):
    model, draws, law = case
    x = model.records.outcome
    expected = [law(s).logpmf(x) for s in range(S)]
    np.testing.assert_allclose(model.log_lik(draws, slice(0, N)), expected, rtol=1e-8, atol=1e-10)
    some = np.array([4, 4, 17])
    np.testing.assert_allclose(model.log_lik(draws, some), np.array(expected)[:, some], rtol=1e-8)
    for values in (x, x + 0.5, np.full(N, -1.0), np.full(N, np.inf)):
        expected = [law(s).cdf(values) for s in range(S)]
        np.testing.assert_allclose(model.cdf(draws, values, slice(0, N)), expected, atol=1e-10)


def test_both_ends_of_an_interval_count(case):
    model, draws, law = case
    x, counts = model.records.outcome, np.arange(200)[:, None]
    for lower, upper in ((x, x), (0.4 * x, 1.8 * x), (x - 2, x + 0.9)):
        inside = (lower <= counts) & (counts <= upper)
        expected = [(law(s).pmf(counts) * inside).sum(axis=0) for s in range(S)]
        found = model.interval_mass(draws, lower, upper, slice(0, N))
        np.testing.assert_allclose(found, expected, atol=1e-9)
    everything = model.interval_mass(draws, np.full(N, -np.inf), np.full(N, np.inf), slice(0, N))
    assert (everything == 1).all()


def test_predictive_moments(case, rng):
    model, draws, law = case
    one = {k: v[0] for k, v in draws.items()}
    sims = np.array([model.predict(one, rng) for _ in range(3000)])
    for i in range(5):
        mean, variance = law(0, i).stats("mv")
        assert sims[:, i].mean() == pytest.approx(float(mean), abs=5 * np.sqrt(variance / 3000))
        assert (sims[:, i] % 1 == 0).all()


@pytest.mark.parametrize("outcome", [[1.0, 2.5] * 10, [1.0, -1.0] * 10])
def test_support(outcome):
    with pytest.raises(InputError, match="whole numbers from 0"):
        build_model("poisson", records_of(outcome))


@pytest.mark.stan
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [100, 1600])
def test_poisson_is_its_conjugate_closed_form(rng, n, weighted):
    """The pseudo posterior of the mean is Gamma(a + sum alpha x, b + sum alpha) (PPM, section 4.4)."""
    x = rng.poisson(100, n)
    weights = rng.random(n) if weighted else np.ones(n)
    model = build_model("poisson", records_of(x))
    fit = sample(model.executable(), model.stan_data(weights), model.parameters, SAMPLER)
    mean = np.exp(fit.draws["beta"][:, 0])
    law = stats.gamma(MEAN_SHAPE + weights @ x, scale=1 / (MEAN_RATE + weights.sum()))
    agree(mean, law.mean(), law.std(), fit.diagnostics.ess_bulk)
    assert stats.kstest(mean[::4], law.cdf).pvalue > 1e-4
    assert not fit.diagnostics.problems


@pytest.mark.stan
@pytest.mark.parametrize("censor", slow_but([4.5], [None, 4.5]))
def test_negative_binomial_against_quadrature(rng, censor):
    n = 60
    x = rng.poisson(rng.gamma(4.0, 20 / 4.0, n))
    weights = rng.random(n)
    model = build_model("negative_binomial", records_of(x))
    fit = sample(
        model.executable(), model.stan_data(weights, censor and Censoring(censor)), model.parameters, SAMPLER
    )
    beta, r = np.linspace(1.5, 4.5, 400), np.geomspace(0.01, 12, 400)
    b, q = np.meshgrid(beta, r, indexing="ij")
    phi = 1 / q
    terms = weights * stats.nbinom.logpmf(x, phi[..., None], (phi / (phi + np.exp(b)))[..., None])
    if censor is not None:
        assert (np.abs(terms[200, 200]) > censor).any() or (np.abs(terms) > censor).any()
        terms = np.clip(terms, -censor, censor)
    # beta given its scale is normal; the half-t scale is integrated out
    scale = np.geomspace(1e-3, 1e4, 2000)
    prior = integrate.trapezoid(stats.norm.pdf(beta[:, None], 0, scale) * 2 * stats.t.pdf(scale, 3), scale)
    log_target = terms.sum(-1) + np.log(prior)[:, None] + stats.cauchy.logpdf(q, 0, 5)
    target = np.exp(log_target - log_target.max())

    def moment(values):
        return integrate.simpson(integrate.simpson(values * target, x=r, axis=1), x=beta)

    total = moment(np.ones_like(b))
    for draws, grid in ((fit.draws["beta"][:, 0], b), (1 / fit.draws["phi"], q)):
        mean = moment(grid) / total
        agree(draws, mean, np.sqrt(moment(grid**2) / total - mean**2), fit.diagnostics.ess_bulk)


@pytest.mark.stan
def test_poisson_regression_censored_at_a_wide_bound_is_the_plain_one(rng):
    z = np.column_stack([np.ones(80), rng.normal(size=80)])
    x = rng.poisson(np.exp(z @ [2.0, 0.5]))
    weights = rng.random(80)
    model = build_model("poisson", records_of(x, z))
    plain = sample(model.executable(), model.stan_data(weights), model.parameters, SAMPLER)
    wide = sample(model.executable(), model.stan_data(weights, Censoring(1e6)), model.parameters, SAMPLER)
    error = (
        5
        * plain.draws["beta"].std(0)
        * np.sqrt(2 / min(plain.diagnostics.ess_bulk, wide.diagnostics.ess_bulk))
    )
    assert (np.abs(plain.draws["beta"].mean(0) - wide.draws["beta"].mean(0)) < error).all()


@pytest.mark.parametrize("some_zero", [False, True])
def test_stan_data_survives_extreme_weights(case, some_zero):
    model = case[0]
    weights = np.zeros(N)
    weights[0] = float(some_zero)
    for bound in (None, 2.5):
        data = model.stan_data(weights, bound and Censoring(bound))
        assert all(np.isfinite(np.asarray(v, dtype=float)).all() for v in data.values())


def test_interval_mass_keeps_its_digits_in_the_far_tail_and_its_ends():
    x = np.array([250.0, 600.0, 100.0])
    records = records_of(np.concatenate([x, np.full(10, 90.0)]))
    draws = {"beta": np.full((1, 1), np.log(100.0)), "phi": np.array([20.0])}
    law = {"poisson": stats.poisson(100), "negative_binomial": stats.nbinom(20, 20 / 120)}
    for name, of in law.items():
        model = build_model(name, records)
        found = model.interval_mass(draws, 0.8 * x, 1.2 * x, slice(0, 3))[0]
        expected = [of.pmf(np.arange(np.ceil(0.8 * v - 1e-9), np.floor(1.2 * v + 1e-9) + 1)).sum() for v in x]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        # 0.55 * 100 is 55.00000000000001 in floating point, and 55 is still an end
        inclusive = model.interval_mass(draws, 0.55 * x, 1.15 * x, slice(0, 3))[0, 2]
        assert inclusive == pytest.approx(of.pmf(np.arange(55, 116)).sum())
