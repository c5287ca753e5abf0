"""Ordered logit of categories and of brackets: by hand in NumPy, by quadrature, and against a numerical Hessian."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.optimize import approx_fprime, minimize

from synth_core.engine.sampling import Sampler, sample
from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.models.bracketed import codes_of, values_within
from synth_core.models.coordinates import category_contrasts
from synth_core.models.ordered_coordinates import gaps, penalised_cuts
from tests.conftest import records_of

N, S, K = 50, 6, 4
EDGES = (-5.0, 0.0, 0.0, 10.0, 40.0)
SAMPLER = Sampler(chains=4, draws=2000, warmup=600, seed=5)


@pytest.fixture
def case(rng):
    z = np.column_stack([np.ones(N), rng.integers(0, 3, N), rng.normal(size=N).round(1)])
    zero = np.zeros((S, 1))
    draws = {
        "log_share": special.log_softmax(rng.normal(size=(S, K)), axis=1),
        "beta": np.hstack([zero, rng.normal(0, 0.5, (S, 2))]),
        "delta": np.hstack([zero, rng.normal(0, 0.2, (S, 2))]),
    }
    shares = np.empty((S, N, K))
    for s in range(S):
        upto = np.cumsum(np.exp(draws["log_share"][s]))[:-1]
        for i in range(N):
            odds = (special.logit(upto) - z[i] @ draws["beta"][s]) / np.exp(z[i] @ draws["delta"][s])
            shares[s, i] = np.diff(np.r_[0.0, special.expit(odds), 1.0])
    return z, draws, shares


@pytest.fixture
def with_zeros(case, rng):
    """Draws of brackets of which the second is the value 0 alone, and their shares."""
    z, draws, _ = case
    inner = draws | {"log_share": special.log_softmax(draws["log_share"][:, 1:], axis=1)}
    shares = np.empty((S, N, K))
    gamma = rng.normal(0, 0.7, (S, z.shape[1]))
    for s in range(S):
        upto = np.cumsum(np.exp(inner["log_share"][s]))[:-1]
        for i in range(N):
            odds = (special.logit(upto) - z[i] @ draws["beta"][s]) / np.exp(z[i] @ draws["delta"][s])
            zero = special.expit(z[i] @ gamma[s])
            others = (1 - zero) * np.diff(np.r_[0.0, special.expit(odds), 1.0])
            shares[s, i] = others[0], zero, others[1], others[2]
    return z, inner | {"gamma": gamma}, shares


def ordered(z, x):
    return build_model("ordered", records_of(x, z), categories=tuple("abcd"))


def bracketed(z, x, unit=2.0):
    return build_model("bracketed", records_of(x, z), bracket_edges=EDGES, unit=unit)


def test_log_lik_by_hand(case, with_zeros, rng):
    z, draws, shares = case
    code = rng.integers(0, K, N)
    expected = np.log(shares[:, np.arange(N), code])
    np.testing.assert_allclose(
        ordered(z, code.astype(float)).log_lik(draws, slice(0, N)), expected, rtol=1e-9
    )
    z, draws, shares = with_zeros
    expected = np.log(shares[:, np.arange(N), code])
    x = np.array([-2.0, 0.0, 4.0, 25.0])[code]
    # Uniform below 0 and from 0 to 10 (its lower edge is 0), the value 0 alone, a uniform logarithm above 10.
    within = np.array([1 / 5, 1 / 2, 1 / 10, 1 / (25 * np.log(4))])[code] * 2.0
    np.testing.assert_allclose(
        bracketed(z, x).log_lik(draws, slice(0, N)), expected + np.log(within), rtol=1e-9
    )


def test_shares_far_in_the_tails_are_not_rounded_away():
    """Brackets of a probability of 1e-30: logarithms against exact arithmetic of their small odds."""
    log_share = np.log(np.array([[1e-30, 3e-30, 1.0, 2e-30]]))
    cut, gap = gaps(log_share)
    np.testing.assert_allclose(cut[0], np.log([1e-30, 4e-30, 1 / 2e-30]), rtol=1e-12)
    np.testing.assert_allclose(gap[0, 0], np.log(4), rtol=1e-12)
    model = ordered(np.ones((4, 1)), np.arange(4.0))
    draws = {"log_share": log_share, "beta": np.zeros((1, 1)), "delta": np.zeros((1, 1))}
    np.testing.assert_allclose(model.log_lik(draws, slice(None))[0], log_share[0], rtol=1e-12, atol=1e-12)


def test_distribution_function_is_the_integral_of_the_density(with_zeros):
    z, draws, shares = with_zeros
    x = np.full(N, 7.0)
    model = bracketed(z, x, unit=1.0)
    found = model.cdf(draws, x, slice(0, N))
    np.testing.assert_allclose(found, shares[..., :2].sum(axis=2) + 0.7 * shares[..., 2], rtol=1e-9)
    assert (model.cdf(draws, np.full(N, -6.0), slice(0, N)) == 0).all()
    np.testing.assert_allclose(model.cdf(draws, np.full(N, 41.0), slice(0, N)), 1.0)

    def density(value):
        return np.exp(bracketed(z[:1], np.array([value]), unit=1.0).log_lik(draws, slice(0, 1)))[2, 0]

    inside = integrate.quad(density, 1.0, 10.0 - 1e-9)[0] + integrate.quad(density, 10.0, 30.0)[0]
    mass = model.interval_mass(draws, np.full(N, 1.0), np.full(N, 30.0), slice(0, N))
    np.testing.assert_allclose(mass[2, 0], inside, rtol=1e-8)
    # The value 0 belongs to an interval that ends at it.
    np.testing.assert_allclose(
        model.interval_mass(draws, np.zeros(N), np.zeros(N), slice(0, N)), shares[..., 1], rtol=1e-9
    )


@pytest.mark.slow
def test_predictive_draws_lie_in_their_brackets_as_often_as_they_should(with_zeros, rng):
    z, draws, shares = with_zeros
    model = bracketed(z, np.full(N, 7.0))
    one = {name: value[3] for name, value in draws.items()}
    drawn = np.array([model.predict(one, rng) for _ in range(4000)])
    codes = codes_of(np.array(EDGES), drawn)
    for c in range(K):
        assert np.abs((codes == c).mean(axis=0) - shares[3, :, c]).max() < 5 * np.sqrt(0.25 / 4000)
    high = drawn[codes == 3]
    assert stats.kstest(np.log(high / 10) / np.log(4), "uniform").pvalue > 1e-4
    assert (drawn[codes == 1] == 0).all()
    np.testing.assert_array_equal(
        codes_of(np.array(EDGES), values_within(np.array(EDGES), codes[0], rng.random(codes.shape[1]))),
        codes[0],
    )


def test_estimate_is_the_mode_of_the_penalised_likelihood(rng):
    rows = np.column_stack([rng.normal(size=15), rng.integers(0, 2, 15)])
    counts, scale = rng.poisson(4.0, (15, 3)) * 0.7, np.r_[5.0, 5.0, 2.5, 2.5, 0.5, 0.5]
    contrasts = category_contrasts(3)

    def loss(at):
        upto = np.cumsum(special.softmax(contrasts @ at[:2]))[:-1]
        odds = (special.logit(upto) - (rows @ at[2:4])[:, None]) * np.exp(-rows @ at[4:])[:, None]
        edge = np.zeros((15, 1))
        share = np.diff(np.hstack([edge, special.expit(odds), edge + 1]), axis=1)
        return 0.5 * ((at / scale) ** 2).sum() - (counts * np.log(share)).sum()

    found, factor = penalised_cuts(rows, counts, scale)
    best = minimize(loss, np.zeros(6), tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    hessian = approx_fprime(found, lambda at: approx_fprime(at, loss, 1e-6), 1e-4)
    # The expected information stands for the observed one: near it, and no more is asked of coordinates.
    np.testing.assert_allclose(np.diag(factor @ factor.T), np.diag(np.linalg.inv(hessian)), rtol=0.35)


def test_the_mode_is_found_where_a_predictor_nearly_decides(rng):
    """At average predictors some categories then have hardly any probability: none may be lost to rounding."""
    n, n_categories = 500, 12
    z = np.column_stack([np.ones(n), rng.exponential(1.0, n) - 1.0])
    x = np.clip(np.round(2.5 * (z[:, 1] + 1) + 0.1 * rng.normal(size=n)), 0, n_categories - 1)
    model = build_model("ordered", records_of(x, z), categories=tuple(map(str, range(n_categories))))
    data = model.stan_data(np.ones(n))

    def loss(at):
        terms = model.log_lik(model.from_coordinates(at[None], data), slice(None))
        return 0.5 * ((at / data["scale"]) ** 2).sum() - terms.sum()

    found, move = loss(data["center"]), 0.05 * data["basis"]
    assert all(loss(data["center"] + sign * step) > found for step in move.T for sign in (-1, 1))
    share = np.exp(model.from_coordinates(data["center"][None], data)["log_share"])
    assert share.min() < 1e-12
    best = minimize(loss, data["center"], tol=1e-9)
    assert best.fun == pytest.approx(found, abs=1e-4)


@pytest.mark.stan
def test_chains_meet_where_the_first_categories_of_earlier_variables_are_rare():
    """Shares are those of a record of these. Laid out about it, coordinates bend: effective sizes of 4, R-hat 1.46."""
    rng, n = np.random.default_rng(1), 4000
    one = rng.choice(10, n, p=np.r_[0.005, 0.005, np.full(8, 0.99 / 8)])
    other = rng.choice(5, n, p=np.r_[0.005, np.full(4, 0.995 / 4)])
    z = np.column_stack([np.ones(n), one[:, None] == np.arange(1, 10), other[:, None] == np.arange(1, 5)])
    level = 2.4 / 9 * one + 0.3 * other + rng.logistic(size=n) * np.exp(-one / 9)
    x = np.searchsorted(np.quantile(level, np.linspace(0, 1, 21)[1:-1]), level).astype(float)
    model = build_model("ordered", records_of(x, z.astype(float)), categories=tuple("abcdefghijklmnopqrst"))
    data = model.stan_data(np.ones(n))
    sampler = model.adapt_trajectories(
        model.sampler_settings(Sampler(2, seed=3), None), np.ones(n), None, data
    )
    found = sample(model.executable(), data, model.parameters, sampler).diagnostics
    assert found.rhat < 1.02 and found.ess_bulk > 400, found


def test_the_value_alone_is_a_logistic_regression_and_the_others_are_as_without_it(rng):
    """Estimates of brackets with a value of its own are those of its two parts, each by itself."""
    z = np.column_stack([np.ones(N), rng.integers(0, 3, N), rng.normal(size=N).round(1)])
    x = np.array([-2.0, 0.0, 4.0, 25.0])[rng.integers(0, K, N)]
    whole = bracketed(z, x).stan_data(np.ones(N))
    others = build_model("bracketed", records_of(x[x != 0], z[x != 0]), bracket_edges=(-5.0, 0.0, 10.0, 40.0))
    apart = others.stan_data(np.ones(len(others.records.outcome)))
    zero = build_model("categorical", records_of((x != 0).astype(float), z), categories=("0", "other"))
    logit = zero.stan_data(np.ones(N))
    np.testing.assert_allclose(whole["center"][:6], apart["center"], atol=1e-6)
    np.testing.assert_allclose(whole["center"][6:], np.sqrt(2) * logit["center"], atol=1e-6)
    np.testing.assert_allclose(whole["basis"][:6, :6], apart["basis"], atol=1e-6)
    np.testing.assert_allclose(whole["basis"][6:, 6:], np.sqrt(2) * logit["basis"], atol=1e-6)
    assert not whole["basis"][6:, :6].any()


@pytest.mark.parametrize("some_zero", [False, True])
def test_stan_data_survives_extreme_weights(case, some_zero, rng):
    model, weights = ordered(case[0], rng.integers(0, K, N).astype(float)), np.zeros(N)
    weights[0] = float(some_zero)
    for bound in (None, 2.5):
        data = model.stan_data(weights, bound and Censoring(bound))
        assert all(np.isfinite(np.asarray(v, dtype=float)).all() for v in data.values())


@pytest.mark.stan
@pytest.mark.parametrize("bound", [None, 0.6])
def test_posterior_of_two_categories_by_quadrature(bound):
    """Two categories and no predictor: the log odds have prior N(0, sqrt(2) 5), as in a multinomial logit."""
    x, weights = np.repeat([0.0, 1.0], [25, 9]), np.full(34, 0.6)
    model = build_model("ordered", records_of(x, None), categories=("a", "b"))
    data = model.stan_data(weights, None if bound is None else Censoring(bound))
    fit = sample(model.executable(), data, model.parameters, SAMPLER)
    odds = np.subtract(*fit.draws["log_share"].T)

    def density(d):
        terms = 0.6 * np.array([special.log_expit(d), special.log_expit(-d)])
        terms = terms if bound is None else np.clip(terms, -bound, bound)
        return np.exp(25 * terms[0] + 9 * terms[1] + stats.norm(0, 5 * np.sqrt(2)).logpdf(d) + 12)

    total = integrate.quad(density, -20, 20, limit=400)[0]
    mean = integrate.quad(lambda d: d * density(d), -20, 20, limit=400)[0] / total
    spread = np.sqrt(integrate.quad(lambda d: (d - mean) ** 2 * density(d), -20, 20, limit=400)[0] / total)
    # Monte Carlo error of a mean is about sd / sqrt(2,000 effective draws), of an sd sd / sqrt(2 * 2,000).
    assert odds.mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(2000))
    assert odds.std() == pytest.approx(spread, rel=5 / np.sqrt(4000))


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ((0.0, 10.0), "three or more"),
        ((0.0, 10.0, 5.0), "ascend"),
        ((0.0, 0.0, 0.0, 5.0), "ascend"),
        ((0.0, 5.0, np.inf), "finite"),
        ((0.0, 5.0, 20.0), "1 value lies outside the declared edges, 0 to 20 \\(first in row 2"),
    ],
)
def test_edges_that_cannot_be_used(edges, said):
    with pytest.raises(InputError, match=said):
        build_model("bracketed", records_of(np.array([1.0, 30.0, 20.0]), None), bracket_edges=edges)
