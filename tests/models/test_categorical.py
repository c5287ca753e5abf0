"""Multinomial logit against NumPy by hand, quadrature, a Dirichlet closed form and a logistic regression."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special, stats

from synth_core.engine.sampling import Sampler, sample
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import lipschitz_bounds
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import bounds_by_extremes
from synth_core.models import build_model
from synth_core.models import design_parts as design_parts_of_models
from synth_core.models.categories import RARE_RECORDS, WHITE, WHITE_RECORDS
from synth_core.models.coordinates import category_contrasts, penalised_shares
from synth_core.models.design_parts import design_parts
from tests.conftest import records_of

N, S, K = 60, 7, 4
CATEGORIES = tuple("abcd")
SKEWED = {"warmup": 300, "adapt_delta": 0.95}
SAMPLER = Sampler(chains=4, draws=2000, warmup=600, seed=5)


@pytest.fixture
def case(rng):
    z = np.column_stack([np.ones(N), rng.integers(0, 3, N), rng.normal(size=N).round(1)])
    draws = {"beta": rng.normal(0, 0.8, (S, 3 * K))}
    model = build_model("categorical", records_of(rng.integers(0, K, N), z), categories=CATEGORIES)
    shares = np.empty((S, N, K))
    for s in range(S):
        for i in range(N):
            logits = [z[i] @ draws["beta"][s, 3 * c : 3 * c + 3] for c in range(K)]
            shares[s, i] = np.exp(logits) / np.exp(logits).sum()
    return model, draws, shares


def test_log_lik_is_the_log_probability_of_the_record_s_own_category(case):
    model, draws, shares = case
    code = model.records.outcome.astype(int)
    expected = np.log(shares[:, np.arange(N), code])
    np.testing.assert_allclose(model.log_lik(draws, slice(0, N)), expected, rtol=1e-12)
    assert (expected <= 0).all()
    some = np.array([4, 4, 17])
    np.testing.assert_allclose(model.log_lik(draws, some), expected[:, some], rtol=1e-12)


def test_distribution_of_codes(case):
    model, draws, shares = case
    x, rows = model.records.outcome, slice(0, N)
    upto = np.cumsum(shares, axis=2)
    np.testing.assert_allclose(model.cdf(draws, x, rows), upto[:, np.arange(N), x.astype(int)], rtol=1e-12)
    assert (model.cdf(draws, np.full(N, -1.0), rows) == 0).all()
    np.testing.assert_allclose(model.cdf(draws, np.full(N, np.inf), rows), 1.0)
    lower, upper = x - 1.2, x + 0.9
    expected = [
        [sum(shares[s, i, c] for c in range(K) if lower[i] <= c <= upper[i]) for i in range(N)]
        for s in range(S)
    ]
    np.testing.assert_allclose(model.interval_mass(draws, lower, upper, rows), expected, rtol=1e-12)


def test_predictive_shares(case, rng):
    model, draws, shares = case
    drawn = np.array([model.predict({"beta": draws["beta"][2]}, rng) for _ in range(4000)])
    for c in range(K):
        error = np.abs((drawn == c).mean(axis=0) - shares[2, :, c])
        assert error.max() < 5 * np.sqrt(0.25 / 4000)


def test_bounds_by_kind_of_record_are_the_bounds(case, rng):
    model, draws, _ = case
    x, z = np.tile(model.records.outcome, 4), np.tile(model.records.design, (4, 1))
    model = build_model("categorical", records_of(x, z), categories=CATEGORIES)
    weights = rng.choice([0.0, 0.4, 1.0], 4 * N)

    def log_lik(some, rows):
        return model.log_lik({"beta": draws["beta"][some]}, rows)

    fast = bounds_by_extremes(log_lik, 4 * N, S, weights, model.alike)
    naive = lipschitz_bounds(lambda rows: log_lik(slice(None), rows), 4 * N, S, weights)
    assert model.alike is not None
    np.testing.assert_allclose(fast.lipschitz_bounds, naive.lipschitz_bounds)
    np.testing.assert_allclose(fast.growth(), naive.growth())


def test_estimate_is_the_mode_of_the_penalised_likelihood(rng):
    """Against SciPy's general minimiser, and its covariance against a numerical Hessian."""
    from scipy.optimize import approx_fprime, minimize

    rows = np.column_stack([np.ones(12), rng.normal(size=12)])
    counts, scale = rng.poisson(3.0, (12, 3)) * 0.7, np.array([5.0, 2.5])
    contrasts = category_contrasts(3)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-14)

    def loss(gamma):
        log_share = special.log_softmax(rows @ gamma.reshape(2, 2).T @ contrasts.T, axis=1)
        return 0.5 * ((gamma.reshape(2, 2) / scale) ** 2).sum() - (counts * log_share).sum()

    found, factor = penalised_shares(rows, counts, scale)
    best = minimize(loss, np.zeros(4), tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    hessian = approx_fprime(found, lambda at: approx_fprime(at, loss, 1e-6), 1e-4)
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(hessian), rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("some_zero", [False, True])
def test_stan_data_survives_extreme_weights(case, some_zero):
    model, weights = case[0], np.zeros(N)
    weights[0] = float(some_zero)
    for bound in (None, 2.5):
        data = model.stan_data(weights, bound and Censoring(bound))
        assert all(np.isfinite(np.asarray(v, dtype=float)).all() for v in data.values())


def fitted(x, k, weights=None, z=None, censoring=None, prior_scale=1.0):
    model = build_model("categorical", records_of(x, z), categories=CATEGORIES[:k], prior_scale=prior_scale)
    weights = np.ones(len(x)) if weights is None else weights
    fit = sample(model.executable(), model.stan_data(weights, censoring), model.parameters, SAMPLER)
    assert not fit.diagnostics.problems
    return model, fit


@pytest.mark.stan
def test_shares_of_a_large_sample_are_dirichlet():
    """Without predictors and under a vague prior the logits' posterior is nearly Dirichlet(weighted counts).

    A flat prior of the logits is Dirichlet(0) of the shares; N(0, 500) differs from it by less than Monte Carlo.
    """
    counts = np.array([400, 150, 60])
    x, weights = np.repeat([0.0, 1.0, 2.0], counts), np.full(counts.sum(), 0.5)
    _, fit = fitted(x, 3, weights, prior_scale=100.0)
    shares = special.softmax(fit.draws["beta"], axis=1)
    exact = stats.dirichlet(counts * 0.5)
    spread = np.sqrt(exact.var())
    # Monte Carlo error of a mean is about sd / sqrt(2,000 effective draws), of an sd sd / sqrt(2 * 2,000).
    np.testing.assert_allclose(shares.mean(axis=0), exact.mean(), atol=5 * spread.max() / np.sqrt(2000))
    np.testing.assert_allclose(shares.std(axis=0), spread, rtol=5 / np.sqrt(4000))


@pytest.mark.stan
@pytest.mark.parametrize("bound", [None, 0.6])
def test_posterior_of_two_categories_by_quadrature(bound):
    """Plain and clamped: the log odds d of a against b have prior N(0, sqrt(2) 5) and are integrated over."""
    x, weights = np.repeat([0.0, 1.0], [25, 9]), np.full(34, 0.6)

    def density(d):
        terms = 0.6 * np.array([special.log_expit(d), special.log_expit(-d)])
        terms = terms if bound is None else np.clip(terms, -bound, bound)
        return np.exp(25 * terms[0] + 9 * terms[1] + stats.norm(0, 5 * np.sqrt(2)).logpdf(d) + 12)

    total = integrate.quad(density, -20, 20, limit=400)[0]
    mean = integrate.quad(lambda d: d * density(d), -20, 20, limit=400)[0] / total
    spread = np.sqrt(integrate.quad(lambda d: (d - mean) ** 2 * density(d), -20, 20, limit=400)[0] / total)
    _, fit = fitted(x, 2, weights, censoring=None if bound is None else Censoring(bound))
    odds = fit.draws["beta"][:, 0] - fit.draws["beta"][:, 1]
    assert odds.mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(1500))
    assert odds.std() == pytest.approx(spread, rel=5 / np.sqrt(3000))


def adapt_trajectories(model, weights, censoring, sampler=None):
    """The sampler of a fit of these records."""
    joined, *given = model.append_prior_records(weights, censoring)
    tuned = model.sampler_settings(sampler or Sampler(), censoring)
    return model.adapt_trajectories(tuned, weights, censoring, joined.stan_data(*given))


def test_trajectories_are_short_where_the_records_say_much_of_each_parameter(case):
    model = case[0]
    least = WHITE_RECORDS * 3 * (K - 1) / N  # a weight
    assert model.stan_data(np.ones(N))["center"].size == model.n_coordinates
    for weight, censoring, short in (
        (1.01 * least, None, True),
        (0.99 * least, None, False),
        (0.51 * least, Censoring(1.0, np.zeros(N), np.zeros(N), 0.51 * least), True),
        (0.51 * least, Censoring(1.0, np.zeros(N), np.zeros(N), 0.48 * least), False),
    ):
        expected = replace(Sampler(), metric="unit_e", **(WHITE if short else SKEWED))
        assert adapt_trajectories(model, np.full(N, weight), censoring) == expected
    assert adapt_trajectories(model, np.full(N, weight), None, Sampler(warmup=20)).warmup == 20
    unknown = adapt_trajectories(model, np.full(N, 100.0), Censoring(1.0))  # which terms are clamped
    assert unknown == replace(Sampler(), adapt_delta=SKEWED["adapt_delta"])


def test_a_nearly_empty_category_is_walked_in_small_steps(case):
    """At acceptance 0.8, or with 7 steps, 8 of 8 such fits had divergences, or an effective size of 76."""
    model = case[0]
    weights = np.full(N, 100.0)
    assert adapt_trajectories(model, weights, None).adapt_delta == WHITE["adapt_delta"]
    of_d = model.code == 3
    weights[of_d] = 0.99 * RARE_RECORDS / of_d.sum()
    assert adapt_trajectories(model, weights, None).adapt_delta == SKEWED["adapt_delta"]
    prior = Censoring(1.0, np.zeros(N), np.full(N, 3.0), np.full(N, 0.02 * RARE_RECORDS / N))
    assert adapt_trajectories(model, weights, prior).adapt_delta == WHITE["adapt_delta"]


@pytest.fixture
def decided():
    """A design of twenty groups, ever rarer, of 7,000 records: each group knows few of the twelve categories."""
    rng = np.random.default_rng(1)
    share = 0.8 ** np.arange(20)
    group = rng.choice(20, 7000, p=share / share.sum())
    x = np.clip(np.round(0.6 * group + rng.normal(0, 0.6, 7000)), 0, 11)
    raw = (group[:, None] == np.arange(1, 20)).astype(float)
    deviation = raw.std(axis=0)
    return x, np.column_stack([np.ones(7000), (raw - raw.mean(axis=0)) / deviation]), deviation


def test_where_predictors_decide_the_mode_is_found_and_steps_are_small(decided):
    """Whole steps of Newton's method are far too long there; then the coordinates were laid about no mode."""
    x, design, _ = decided
    model = build_model("categorical", records_of(x, design), categories=tuple("abcdefghijkl"))
    rows, counts = model.rows, model.counts(np.ones(7000))
    scale, contrasts = np.r_[5.0, np.full(19, 2.5)], category_contrasts(12)
    gamma, _ = penalised_shares(rows, counts, scale)
    expected = counts.sum(axis=1)[:, None] * special.softmax(
        rows @ gamma.reshape(11, 20).T @ contrasts.T, axis=1
    )
    slope = (rows.T @ (counts - expected) @ contrasts).T.ravel() - gamma / np.tile(scale, 11) ** 2
    assert np.abs(slope).max() < 1e-6
    # Records enough for short trajectories, of every category: but the prior says most of many coordinates.
    weights = np.full(7000, 10.0)
    assert np.bincount(model.code, weights).min() > RARE_RECORDS
    assert adapt_trajectories(model, weights, None) == replace(Sampler(), metric="unit_e", **SKEWED)


def test_a_rare_category_of_a_predictor_has_no_wider_a_prior(decided):
    """2.5 between two categories, whatever their shares; two standard deviations of a number are as much."""
    x, design, deviation = decided
    records = replace(records_of(x, design), steps=np.r_[2.0, 1 / deviation])
    for model in (
        build_model("categorical", records, categories=tuple("abcdefghijkl")),
        build_model("bracketed", records, bracket_edges=(0.0, 0.0, 2.0, 11.0)),
    ):
        assert model.logit_scale(None) == pytest.approx(np.r_[5.0, 2.5 * deviation])
    assert records.digest != records_of(x, design).digest


def test_what_is_no_declared_category_is_refused_in_words():
    with pytest.raises(InputError, match="two declared categories"):
        build_model("categorical", records_of([0.0, 1.0, 0.0]))
    with pytest.raises(InputError, match="codes from 0 to 1"):
        build_model("categorical", records_of([0.0, 2.0, 0.0]), categories=("a", "b"))


@pytest.mark.parametrize("most", [1, 6, 1000])
def test_a_design_in_parts_is_the_design(most, monkeypatch, rng):
    """A linear predictor summed over cells and other columns equals the product with all columns."""
    monkeypatch.setattr(design_parts_of_models, "MOST_CELLS", most)
    n = 200
    rows = np.column_stack(
        [np.ones(n), rng.integers(0, 2, (n, 4)), rng.normal(size=n), rng.integers(0, 3, n)]
    )
    found = design_parts(rows)
    assert found["n_groups"] == {1: 6, 6: 3, 1000: 1}[most] and found["other"].tolist() == [6]
    beta = rng.normal(size=(7, 3))
    cells = found["cell"].reshape(n, found["n_groups"]) - 1
    summed = (found["cells"] @ beta)[cells].sum(axis=1) + found["others"] @ beta[found["other"] - 1]
    np.testing.assert_allclose(summed, rows @ beta, atol=1e-12)
