"""What the sampler's command line draws, against the theory of a Gaussian of several dimensions."""

import cmdstanpy
import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats

from synth_core.engine.toolchain import compile_program
from tests.engine.test_toolchain import GAUSSIAN

pytestmark = pytest.mark.stan
K, CHAINS, DRAWS, LEVEL = 6, 4, 2500, 1e-4  # the seed is fixed: the level says how unlucky a seed may be
MU = np.array([0.0, 1.0, -3.0, 10.0, 0.5, -0.5])


@pytest.fixture(scope="module")
def theory():
    """Correlations to 0.9 and standard deviations over two orders of magnitude."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(K, K))
    sigma = root @ root.T + 0.5 * np.eye(K)
    scale = np.geomspace(0.1, 10, K) / np.sqrt(np.diag(sigma))
    return scale[:, None] * sigma * scale


@pytest.fixture(scope="module")
def fit(theory, tmp_path_factory):
    cmdstanpy.disable_logging()
    source = tmp_path_factory.mktemp("stan") / "gaussian.stan"
    source.write_text(GAUSSIAN)
    model = cmdstanpy.CmdStanModel(exe_file=str(compile_program(source)))
    return model.sample(
        data={"k": K, "mu": MU.tolist(), "sigma": theory.tolist(), "n": 0, "given": []},
        chains=CHAINS,
        iter_warmup=1500,
        iter_sampling=DRAWS,
        seed=20261121,
        sig_figs=17,
        show_progress=False,
    )


def by_chain(fit):
    return np.moveaxis(fit.stan_variable("x").reshape(CHAINS, DRAWS, K), 2, 0)  # quantity, chain, draw


def test_moments_within_their_monte_carlo_error(fit, theory):
    x = by_chain(fit)
    centred = x - MU[:, None, None]
    products = {(i, j): centred[i] * centred[j] for i in range(K) for j in range(i + 1)}
    scores = []
    for values, truth in [
        *((x[i], MU[i]) for i in range(K)),
        *((p, theory[i, j]) for (i, j), p in products.items()),
    ]:
        ess = array_stats.ess(values, method="mean", chain_axis=-2, draw_axis=-1)
        scores.append((values.mean() - truth) / (values.std() / np.sqrt(ess)))
    # The largest of 27 scores, by Bonferroni.
    assert np.abs(scores).max() < stats.norm.isf(LEVEL / 2 / len(scores))


def test_distances_and_margins_have_their_laws(fit, theory):
    x = by_chain(fit)
    white = np.linalg.solve(np.linalg.cholesky(theory), x.reshape(K, -1) - MU[:, None]).reshape(x.shape)
    distance = (white**2).sum(axis=0)
    for values, law in [(distance, stats.chi2(K)), *((w, stats.norm()) for w in white)]:
        ess = float(array_stats.ess(values, method="bulk", chain_axis=-2, draw_axis=-1))
        step = max(1, int(np.ceil(2 * values.size / ess)))  # thinned until nearly independent
        assert stats.kstest(values[:, ::step].ravel(), law.cdf).pvalue > LEVEL


def test_the_reported_density_is_the_density(fit, theory):
    x = fit.stan_variable("x")
    lp = fit.method_variables()["lp__"].T.ravel()
    true = stats.multivariate_normal(MU, theory).logpdf(x)
    np.testing.assert_allclose(lp - lp[0], true - true[0], rtol=0, atol=1e-8)


def test_chains_are_independent(fit):
    """The same quantity in two chains, thinned: no correlation beyond chance (Fisher's z, Bonferroni)."""
    first = by_chain(fit)[0]
    ess = float(array_stats.ess(first, method="mean", chain_axis=-2, draw_axis=-1))
    thin = first[:, :: max(1, int(np.ceil(first.size / ess)))]
    pairs = [(i, j) for i in range(CHAINS) for j in range(i)]
    assert min(stats.pearsonr(thin[i], thin[j]).pvalue for i, j in pairs) > LEVEL / len(pairs)
