"""Sampled pseudo posteriors against quadrature: an independent computation of the same law."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from synth_core.engine.sampling import Sampler, sample
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from tests.conftest import records_of

pytestmark = pytest.mark.stan
SAMPLER = Sampler(chains=4, draws=2000, warmup=1000, seed=7)


def agree(draws, mean, sd, ess):
    """Mean within 4.5 and deviation within 5 Monte Carlo errors."""
    assert np.mean(draws) == pytest.approx(mean, abs=4.5 * sd / np.sqrt(ess))
    assert np.std(draws) == pytest.approx(sd, rel=5 / np.sqrt(2 * ess))


@pytest.mark.parametrize("censor", [None, 1.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_beta_against_quadrature(rng, weighted, censor):
    n = 60
    x = np.clip(rng.beta(0.5, 3, n), 1e-9, 1 - 1e-9)
    weights = rng.random(n) if weighted else np.ones(n)
    model = build_model("beta", records_of(x))
    fit = sample(
        model.executable(), model.stan_data(weights, censor and Censoring(censor)), ("phi", "lambda"), SAMPLER
    )

    phi = np.linspace(0.02, 0.9, 400)
    lam = np.geomspace(0.1001, 200, 500)
    p, m = np.meshgrid(phi, lam, indexing="ij")
    a, b = m * p, m * (1 - p)
    terms = weights * (
        (a[..., None] - 1) * np.log(x) + (b[..., None] - 1) * np.log1p(-x) - special.betaln(a, b)[..., None]
    )
    if censor is not None:
        terms = np.clip(terms, -censor, censor)
    log_target = terms.sum(-1) + stats.pareto.logpdf(m, 1.5, scale=0.1)
    target = np.exp(log_target - log_target.max())

    def moment(values):
        inner = integrate.simpson(values * target, x=lam, axis=1)
        return integrate.simpson(inner, x=phi)

    total = moment(np.ones_like(p))
    ess = fit.diagnostics.ess_bulk
    for name, grid in (("phi", p), ("lambda", m)):
        mean = moment(grid) / total
        sd = np.sqrt(moment(grid**2) / total - mean**2)
        agree(fit.draws[name], mean, sd, ess)
    assert not fit.diagnostics.problems


def gaussian_given_sigma(design, y, weights, scales, sigma):
    """Law of beta given sigma under normal priors, and the log marginal likelihood of sigma."""
    precision = (design * weights[:, None]).T @ design / sigma**2 + np.diag(scales**-2.0)
    covariance = np.linalg.inv(precision)
    mean = covariance @ ((design * weights[:, None]).T @ y) / sigma**2
    log_marginal = (
        -weights.sum() * np.log(sigma)
        - 0.5 * weights @ y**2 / sigma**2
        + 0.5 * mean @ precision @ mean
        - 0.5 * np.linalg.slogdet(precision)[1]
    )
    return mean, covariance, log_marginal


@pytest.mark.parametrize("weighted", [False, True])
def test_lognormal_against_quadrature(rng, weighted):
    """beta given sigma is normal in closed form; sigma is integrated on a grid."""
    n = 40
    z = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    x = np.exp(z @ [1.0, 0.8, -0.5] + 0.7 * rng.normal(size=n))
    weights = rng.random(n) if weighted else np.ones(n)
    model = build_model("lognormal", records_of(x, z))
    fit = sample(model.executable(), model.stan_data(weights), model.parameters, SAMPLER)
    sigma = np.geomspace(0.2, 4, 600)
    parts = [gaussian_given_sigma(z, np.log(x), weights, model.beta_scale, s) for s in sigma]
    log_target = np.array([p[2] for p in parts]) + stats.t.logpdf(sigma, 3)
    target = np.exp(log_target - log_target.max())
    target /= integrate.simpson(target, x=sigma)

    ess = fit.diagnostics.ess_bulk
    mean = integrate.simpson(sigma * target, x=sigma)
    agree(fit.draws["sigma"], mean, np.sqrt(integrate.simpson(sigma**2 * target, x=sigma) - mean**2), ess)
    for j in range(3):
        mean = integrate.simpson([p[0][j] for p in parts] * target, x=sigma)
        second = integrate.simpson([p[1][j, j] + p[0][j] ** 2 for p in parts] * target, x=sigma)
        agree(fit.draws["beta"][:, j], mean, np.sqrt(second - mean**2), ess)


def test_lognormal_censored_at_a_wide_bound_is_the_plain_one(rng):
    n = 50
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    x = np.exp(z @ [1.0, 0.8] + 0.7 * rng.normal(size=n))
    weights = rng.random(n)
    model = build_model("lognormal", records_of(x, z))
    plain = sample(model.executable(), model.stan_data(weights), model.parameters, SAMPLER)
    censored = sample(model.executable(), model.stan_data(weights, Censoring(1e6)), model.parameters, SAMPLER)
    for name in model.parameters:
        np.testing.assert_allclose(plain.draws[name].mean(0), censored.draws[name].mean(0), atol=0.02)


def test_lognormal_censored_target_is_the_clamped_sum(rng):
    """Against quadrature with an intercept only."""
    n = 40
    x = rng.lognormal(1.0, 0.8, n)
    weights = rng.random(n)
    bound = 1.8  # below it the far tails, where every term is clamped, would hold real mass
    model = build_model("lognormal", records_of(x))
    fit = sample(
        model.executable(), model.stan_data(weights, bound and Censoring(bound)), model.parameters, SAMPLER
    )
    mu, sigma = np.linspace(-4, 8, 500), np.geomspace(0.1, 40, 500)
    m, s = np.meshgrid(mu, sigma, indexing="ij")
    terms = weights * stats.lognorm.logpdf(x, s[..., None], scale=np.exp(m[..., None]))
    log_target = (
        np.clip(terms, -bound, bound).sum(-1)
        + stats.t.logpdf(s, 3)
        + stats.norm.logpdf(m, 0, model.beta_scale[0])
    )
    target = np.exp(log_target - log_target.max())
    assert (np.abs(terms[250, 180]) > bound).any()  # censoring bites near the centre

    def moment(values):
        return integrate.simpson(integrate.simpson(values * target, x=sigma, axis=1), x=mu)

    total = moment(np.ones_like(m))
    ess = fit.diagnostics.ess_bulk
    for draws, grid in ((fit.draws["beta"][:, 0], m), (fit.draws["sigma"], s)):
        mean = moment(grid) / total
        agree(draws, mean, np.sqrt(moment(grid**2) / total - mean**2), ess)


def test_weights_are_powers(rng):
    """Weight 2 on a record equals the record twice; weight 0 removes it."""
    x = rng.lognormal(1.0, 0.8, 30)
    twice = build_model("lognormal", records_of(np.concatenate([x, x[:5]])))
    weights = np.ones(30)
    weights[:5] = 2.0
    a = twice.stan_data(np.ones(35))
    b = build_model("lognormal", records_of(x)).stan_data(weights)
    for key in ("weight_sum", "rss", "rss_slope", "rss_curvature", "center"):
        np.testing.assert_allclose(a[key], b[key], rtol=1e-9, atol=1e-9)
