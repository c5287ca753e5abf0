"""Clamped terms that are settled near the centre, and where the density of a clamped regression is largest."""

import cmdstanpy
import numpy as np
import pytest
from scipy import stats

from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.toolchain import compile_program
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Refit, build_model
from synth_core.models.clamp_screening import RADII, Terms, settle
from synth_core.models.clamped_mode import ClampedNormal
from tests.conftest import records_of

N = 400
CASES = [
    ("lognormal", 3.0, False),
    ("lognormal", 0.8, True),
    ("two_part", 2.0, False),
    ("two_part", 0.7, True),
]


def model_of(family, rng, n=N, unit=4.0, tied=N // 10):
    z = np.column_stack([np.ones(n), rng.integers(0, 3, n), rng.normal(size=n).round(1)])
    x = np.exp(z @ [1.0, 0.5, -0.3] + 0.6 * rng.standard_normal(n)).round(1) + 0.1
    x[:tied] = x[tied]
    z[:tied] = z[tied]
    if family == "two_part":
        x[::5] = 0.0
    return build_model(family, records_of(x, z), unit=unit)


def data_of(family, bound, anchored, rng):
    model = model_of(family, rng)
    weights = rng.choice([0.0, 0.4, 1.0], N)
    anchor = np.round(model.records.outcome % 1 - 1.5, 2) if anchored else None
    return model, weights, model.stan_data(weights, Censoring(bound, anchor))


def unsettled(data):
    """The same records, all of them looked at in every gradient."""
    k = data["k"] + 1
    nothing = {"settled_moments": np.zeros((0, k, k)), "settled_sums": np.zeros((0, 3))}
    return data | {"n_radii": 0, "radius": [], "settled_inside": [], "settled_beyond": []} | nothing


@pytest.mark.stan
@pytest.mark.parametrize(("family", "bound", "anchored"), CASES)
def test_settled_terms_are_their_sum(family, bound, anchored, rng):
    """Value and gradient against one pass over all records, near and far."""
    _, _, data = data_of(family, bound, anchored, rng)
    assert data["settled_inside"][0] > 20 and data["settled_beyond"][0] > 4
    program = cmdstanpy.CmdStanModel(exe_file=str(compile_program("lognormal.stan")))
    for distance in (0.0, 0.9, 3.0, 12.0, 60.0, 500.0):
        u, v = (rng.standard_normal(size) for size in (data["k"], data["zero_k"]))
        u, v = (distance * x / max(np.linalg.norm(x), 1e-9) for x in (u, v))
        stan = {"u": u.tolist(), "s": min(distance, 12.0) * rng.choice([-1.0, 1.0]), "v": v.tolist()}
        found, expected = (
            program.log_prob(stan, data=each, sig_figs=17).to_numpy() for each in (data, unsettled(data))
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-7)


@pytest.mark.stan
@pytest.mark.parametrize(("family", "bound", "anchored"), CASES[::3])
def test_settled_terms_give_the_same_posterior(family, bound, anchored, rng):
    model, _, data = data_of(family, bound, anchored, rng)
    sampler = Sampler(chains=4, draws=1000, warmup=500)
    fits = [sample(model.executable(), each, model.parameters, sampler) for each in (data, unsettled(data))]
    size = min(fit.diagnostics.ess_bulk for fit in fits)
    for name in model.parameters:
        a, b = (fit.draws[name].reshape(fit.n_draws, -1) for fit in fits)
        error = np.hypot(a.std(0), b.std(0)) / np.sqrt(size)
        assert (np.abs(a.mean(0) - b.mean(0)) < 4 * error).all()
        assert (np.abs(np.log(a.std(0) / b.std(0))) < 4 / np.sqrt(size)).all()


@pytest.mark.parametrize("zero_part", [False, True])
def test_settled_terms_stay_on_their_side(zero_part, rng):
    n, k, bound = 200, 4, 1.0
    rows = np.column_stack([rng.normal(size=n), 0.05 * rng.normal(size=(n, k))])
    weight, constant, logit = rng.choice([0.3, 1.0], n), rng.normal(0.5, 1.5, n), rng.normal(size=n)
    rows[:5], weight[:5], constant[:5], logit[:5] = 0.0, 1.0, bound, -50.0  # exactly on the bound
    toward = rng.normal(size=(n, 2))
    reach = 0.1 * np.linalg.norm(toward, axis=1)
    count = rng.integers(1, 4, n).astype(float)
    zero = {"logit": logit, "logit_reach": reach} if zero_part else {}
    order, data = settle(Terms(rows, constant, weight, count, bound, -0.1, 0.02, **zero))
    assert sorted(order) == list(range(n))
    assert data["settled_inside"][0] > 20 and data["settled_beyond"][0] > 20
    for j in range(0, len(RADII), 3):
        inside = order[: data["settled_inside"][j]]
        beyond = order[data["n_moving"] :][: data["settled_beyond"][j]]
        total = None
        for _ in range(20):
            u, v = (x / np.linalg.norm(x) * RADII[j] for x in (rng.normal(size=k), rng.normal(size=2)))
            log_sigma = -0.1 + 0.02 * RADII[j] * rng.uniform(-1, 1)
            residual = rows @ np.r_[1.0, u]
            part = np.log1p(np.exp(logit + 0.1 * toward @ v)) if zero_part else 0.0
            term = constant - weight * (log_sigma + 0.5 * (residual / np.exp(log_sigma)) ** 2 + part)
            assert (np.abs(term[inside]) <= bound).all()
            clamped = np.sign(term[beyond]) * (np.abs(term[beyond]) > bound)
            assert (clamped != 0).all()
            total = float(count[beyond] @ clamped * bound)
            assert data["settled_sums"][j, 2] == pytest.approx(total)
        both = (count * weight)[inside]
        np.testing.assert_allclose(
            data["settled_moments"][j], (rows[inside] * both[:, None]).T @ rows[inside], atol=1e-9
        )
        np.testing.assert_allclose(
            data["settled_sums"][j, :2], [both.sum(), (count * constant)[inside].sum()], atol=1e-9
        )


def density_of(rng, bound, n=N, each=1.0):
    """One group of records near 3 with sigma 0.3, and a smaller and narrower one near 0."""
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    small = rng.random(n) < 0.2
    y = np.where(small, 0.02, 0.3) * rng.standard_normal(n) + np.where(small, 0.0, 3.0)
    kept = np.zeros((2, 2)), np.zeros(2), 0.0, 0.0
    return ClampedNormal(
        z, y, np.full(n, -0.92), rng.choice([0.5, 1.0], n), bound, np.full(2, 10.0), 1.0, *kept, each
    )


def test_a_climb_ends_where_no_step_gains(rng):
    density = density_of(rng, 2.0)
    start = density.at(np.array([2.0, 0.1]), 1.0)
    found = density.climb(start.beta, start.sigma)
    assert found.log_density > start.log_density + 10
    basis, spread = density.scale(found)
    for _ in range(50):
        near = density.at(
            found.beta + 0.3 * basis @ rng.normal(size=2), found.sigma * np.exp(0.3 * spread * rng.normal())
        )
        assert near.log_density < found.log_density + 0.5


def test_without_clamping_a_climb_is_least_squares(rng):
    density = density_of(rng, 1e9)
    found = density.climb(np.zeros(2), 1.0)
    root = np.sqrt(density.weight)
    expected = np.linalg.lstsq(density.design * root[:, None], density.response * root)[0]
    np.testing.assert_allclose(found.beta, expected, atol=1e-2)
    assert density.share_inside(found) == 1.0


def test_a_search_finds_the_larger_of_two_modes(rng):
    """Under a narrow bound a record counts as much near the one as near the other."""
    density = density_of(rng, 0.6)
    local = density.climb(np.array([0.0, 0.0]), 0.02)
    found = density.search(np.array([2.4, 0.0]), 1.2, rng)
    assert local.beta[0] < 0.5 < 2.5 < found.beta[0]
    assert found.log_density > local.log_density + 5


def test_a_density_is_the_prior_and_the_clamped_sum(rng):
    density = density_of(rng, 1.5)

    def direct(beta, sigma):
        terms = (
            stats.norm.logpdf(density.response, density.design @ beta, sigma) + np.log(2 * np.pi) / 2 - 0.92
        )
        prior = stats.norm(0, 10).logpdf(beta).sum() + stats.t(3).logpdf(sigma) + np.log(sigma)
        return np.clip(density.weight * terms, -1.5, 1.5).sum() + prior

    points = [(np.array([1.0, 0.3]), 0.7), (np.array([2.9, 0.0]), 0.25)]
    found, expected = (
        [each(*point) for point in points] for each in (lambda *p: density.at(*p).log_density, direct)
    )
    assert np.diff(found) == pytest.approx(np.diff(expected))


@pytest.mark.stan
@pytest.mark.parametrize("family", ["lognormal", "two_part"])
def test_where_nearly_all_is_clamped_each_chain_starts_at_a_mode(family, rng):
    weights = np.ones(N)
    near = model_of(family, rng)
    assert (
        near.start(Refit(weights, 2, 1, None, Censoring(3.0), near.stan_data(weights, Censoring(3.0))))
        is None
    )
    model = model_of(family, rng, unit=0.05, tied=0)
    censoring = Censoring(2.0)
    data = model.stan_data(weights, censoring)
    start = model.start(Refit(weights, 3, 1, None, censoring, data))
    assert len({float(init["s"]) for init in start.inits}) == 3
    assert len(start.inv_metric) == data["k"] + 1 + data["zero_k"]
    density = model._density([], 0.0, model.beta_scale, weights, censoring)
    estimate = density.at(np.array([1.0, 0.5, -0.3]), 0.6).log_density
    for init in start.inits:  # two standard deviations away from a mode
        beta = data["center"] + data["basis"] @ init["u"]
        sigma = np.exp(data["log_sigma_center"] + data["log_sigma_scale"] * init["s"])
        assert density.at(beta, sigma).log_density > estimate
    again = model.start(Refit(weights, 3, 1, None, censoring, data))
    assert all(np.array_equal(a["u"], b["u"]) for a, b in zip(start.inits, again.inits, strict=True))


@pytest.mark.parametrize("bound", [0.4, 1.5, 20.0])
def test_coordinates_of_a_clamped_beta_are_laid_at_its_mode(bound, rng):
    """The density on a grid of the coordinates: largest near the centre, and of about unit spread."""
    n = 600
    x = np.clip(rng.beta(0.5, 3, n), 1e-9, None)
    model = build_model("beta", records_of(x), bounds=(0.0, 1.0))
    weights = rng.choice([0.5, 1.0], n)
    data = model.stan_data(weights, Censoring(bound))
    side = np.linspace(-6, 6, 49)
    u = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    at = data["center"] + u @ data["basis"].T
    precision, phi = 0.1 + np.exp(at[:, 1]), 1 / (1 + np.exp(-at[:, 0]))
    terms = weights[:, None] * stats.beta(precision * phi, precision * (1 - phi)).logpdf(x[:, None])
    target = np.clip(terms, -bound, bound).sum(axis=0) + stats.pareto(1.5, scale=0.1).logpdf(precision)
    target += np.log(phi * (1 - phi)) + at[:, 1]
    assert target[len(u) // 2] > target.max() - 0.3
    mass = np.exp(target - target.max())
    mass /= mass.sum()
    deviation = np.sqrt(mass @ (u - mass @ u) ** 2)
    assert (deviation > 0.6).all() and (deviation < 1.7).all()
