"""Simulation-based calibration (Talts et al. 2018): parameters drawn from the prior rank uniformly among
the posterior draws of data simulated from them. Priors are written here a second time.

The weighted fits repeat every record, under random weights that sum to 1: their pseudo posterior is then the
posterior of the single records, so that ranks must be uniform too. `prior_scale` keeps the vague priors from
simulating values that no computer holds.
"""

import numpy as np
import pytest
from scipy import special, stats

from synth_core.engine.sampling import Sampler, sample
from synth_core.models import Refit, build_model
from tests.conftest import records_of

N, DRAWS, BINS = 40, 500, 5
COPIES = 3


def half_t(rng, scale, size=None):
    return np.abs(scale * rng.standard_t(3, size))


def correlation(rng, k, eta):
    """A draw of LKJ(eta) by the onion of canonical partial correlations."""
    beta = eta + (k - 2) / 2
    factor = np.eye(k)
    for i in range(1, k):
        y = rng.beta(i / 2, beta)
        direction = rng.standard_normal(i)
        factor[i, :i] = np.sqrt(y) * direction / np.linalg.norm(direction)
        factor[i, i] = np.sqrt(1 - y)
        beta -= 0.5
    return factor @ factor.T


def lognormal(rng, s, z):
    beta = rng.normal(0, np.r_[20 * s, np.full(z.shape[1] - 1, 5 * s)])
    return {"beta": beta, "sigma": half_t(rng, s)}


def two_part(rng, s, z):
    gamma = np.r_[rng.logistic(0, s), rng.normal(0, 2.5 * s, z.shape[1] - 1)]
    return lognormal(rng, s, z) | {"gamma": gamma}


def beta(rng, s, z):
    phi, precision = rng.random(), 0.1 * (1 + rng.pareto(1.5 / s))
    return {"a": precision * phi, "b": precision * (1 - phi)}


def beta_regression(rng, s, z):
    slopes = rng.normal(0, 2.5 * s, z.shape[1] - 1)
    return {"beta": np.r_[rng.logistic(0, s), slopes], "lambda": 0.1 * (1 + rng.pareto(1.5 / s))}


def poisson(rng, s, z):
    return {"beta": np.r_[np.log(rng.gamma(1.0, s / 1e-3)), rng.normal(0, 5 * s, z.shape[1] - 1)]}


def negative_binomial(rng, s, z):
    k = z.shape[1]
    scales = half_t(rng, s, k)
    covariance = scales[:, None] * correlation(rng, k, 6.0) * scales
    while (reciprocal := np.abs(5 * s * rng.standard_cauchy())) < 1e-4:
        pass
    return {"beta": rng.multivariate_normal(np.zeros(k), covariance), "phi": 1 / reciprocal}


def mixture(rng, s, z):
    k = z.shape[1]
    concentration = rng.gamma(5.0, 1 / 5)
    scales = half_t(rng, s, k)
    covariance = scales[:, None] * correlation(rng, k, 1.0) * scales
    logs = np.log(rng.gamma(concentration / 2 + 1, size=2)) + np.log(rng.random(2)) / (concentration / 2)
    sigma = np.array([next(v for v in iter(lambda: half_t(rng, s), None) if v > 0.2) for _ in range(2)])
    return {"pi_k": special.softmax(logs), "beta": rng.multivariate_normal(np.zeros(k), covariance, 2).T,
            "sigma": sigma}  # fmt: skip


def categorical(rng, s, z):
    """Normal on every coefficient, less its mean over the categories: the same law as by contrasts."""
    each = rng.normal(0, s * np.r_[5.0, np.full(z.shape[1] - 1, 1.25)][:, None], (z.shape[1], 3))
    return {"beta": (each - each.mean(axis=1, keepdims=True)).ravel(order="F")}


def ordered(rng, s, z):
    logits, slopes = rng.normal(0, s * 5.0, 3), z.shape[1] - 1
    none = np.zeros(1)
    return {
        "log_share": special.log_softmax(logits),  # the logits' mean is free: it does not enter
        "beta": np.r_[none, rng.normal(0, s * 2.5, slopes)],
        "delta": np.r_[none, rng.normal(0, s * 0.5 / np.sqrt(max(slopes, 1)), slopes)],
    }


# family: prior, scale of the priors, options, replicates
FAMILIES = {
    "lognormal": (lognormal, 0.1, {}, 100),
    "two_part": (two_part, 0.1, {"transformation": "asinh"}, 100),
    "beta": (beta, 3.0, {"bounds": (0.0, 1.0)}, 100),
    "beta_regression": (beta_regression, 1.5, {"bounds": (0.0, 1.0)}, 100),
    "poisson": (poisson, 0.02, {}, 100),
    "negative_binomial": (negative_binomial, 0.3, {}, 100),
    "categorical": (categorical, 0.5, {"categories": ("a", "b", "c")}, 100),
    "ordered": (ordered, 0.3, {"categories": ("a", "b", "c")}, 100),
    "mixture": (mixture, 0.7, {"components": 2}, 40),
}


def quantities(model, draws):
    """What is ranked, of shape (n_draws, n_quantities): label-free for the mixture."""
    if model.monitors(draws) is not None:
        return model.monitors(draws)[:, [0, 3, 7]]
    return np.column_stack([np.reshape(v, (len(v), -1)) for v in draws.values()])


def ranks(family, weighted, replicate):
    prior, scale, options, _ = FAMILIES[family]
    rng = np.random.default_rng([20261121, replicate, weighted, *map(ord, family)])
    z = np.column_stack([np.ones(N), rng.standard_normal(N)])
    shape = np.where(np.arange(N) % 2, 0.25, 0.75)  # any values that the family takes
    while True:
        truth = prior(rng, scale, z)
        outcome = (
            np.zeros(N) if family in ("categorical", "ordered") else shape if "beta" in family else shape * 4
        )
        template = build_model(family, records_of(outcome, z), **options)
        x = template.predict(truth, rng)
        # Values that floating point cannot tell from a bound are drawn again: ranks stay uniform, because the
        # posterior given the data is the same whatever data are left out.
        inside = "beta" not in family or (x.min() > 1e-300 and x.max() < 1 - 1e-12)
        if np.isfinite(x).all() and np.abs(x).max() < 1e15 and np.ptp(x) > 0 and inside:
            break
    weights, copies = np.ones(N), 1
    if weighted:
        weights, copies = rng.dirichlet(np.ones(COPIES), N).T.ravel(), COPIES
    model = build_model(
        family, records_of(np.tile(x, copies), np.tile(z, (copies, 1))), prior_scale=scale, **options
    )
    sampler = Sampler(1, DRAWS, 700, replicate + 1, max(0.9, model.adapt_delta))
    start = model.start(Refit(weights, 1, replicate))
    fit = sample(model.executable(), model.stan_data(weights), model.parameters, sampler, start=start)
    draws = {name: fit.draws[name] for name in truth}
    mine = quantities(model, {name: np.asarray(value)[None] for name, value in truth.items()})
    thinned = quantities(model, {name: value[::10] for name, value in draws.items()})
    below = (thinned < mine).sum(axis=0) + rng.random(mine.shape[1]) * (thinned == mine).sum(axis=0)
    return below / len(thinned)


@pytest.mark.long
@pytest.mark.stan
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_are_uniform(family, weighted):
    found = np.array([ranks(family, weighted, r) for r in range(FAMILIES[family][3])])
    for column in found.T:
        counts = np.histogram(column, np.linspace(0, 1, BINS + 1))[0]
        # About 40 columns in all: at 1e-4 each, a false alarm once in 250 runs.
        assert stats.chisquare(counts).pvalue > 1e-4, f"{family}: {counts}"


@pytest.mark.stan
@pytest.mark.parametrize("family", ["lognormal", "beta_regression", "two_part", "categorical", "ordered"])
def test_truth_lies_inside_most_posteriors(family):
    """The same, a few replicates: gross errors show at once."""
    found = np.array([ranks(family, True, r) for r in range(6)])
    assert ((found > 0) & (found < 1)).mean() > 0.8
