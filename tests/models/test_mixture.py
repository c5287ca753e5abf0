"""The mixture from the first fit to warm refits, with and without a part for zeros."""

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, special, stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table, open_table
from synth_core.models.mixture import pilot as pilot_module
from synth_core.models.mixture.em import fit_mixture, memberships
from synth_core.models.mixture.pilot import run_pilot
from tests.conftest import shared_file


@pytest.mark.slow
@pytest.mark.stan
@pytest.mark.parametrize(
    ("zero_part", "components"),
    [(False, 1), (True, 1), *(pytest.param(zeros, 3, marks=pytest.mark.long) for zeros in (False, True))],
)
def test_mechanisms_of_a_mixture(zero_part, components, cache, rng):
    predictors = ("z",) if components > 1 or zero_part else ()
    n = 150
    z = rng.normal(size=n)
    x = np.exp(np.where(rng.random(n) < 0.4, 1.0 + 0.4 * z, 3.0) + 0.4 * rng.normal(size=n))
    if zero_part:
        x[:20] = 0.0
    settings = make_settings(outcome="x", predictors=predictors, model="mixture", zero_part=zero_part, epsilon=4.0,
                             components=components, chains=2, draws=250, warmup=300)  # fmt: skip
    shown = []
    table = Table("t", pd.DataFrame({"x": x, "z": z}), False)
    analysis = Analysis(table, settings, cache, show_preview=shown.append)
    unweighted = analysis.run("unweighted")
    weighted = analysis.run("weighted")
    censored = analysis.run("censored")
    assert weighted.epsilon < unweighted.epsilon
    assert censored.lipschitz_bound <= 2.0
    for result in (unweighted, weighted, censored):
        assert result.diagnostics.rhat < 1.1  # short chains: gross errors only
        assert (result.synthetic == 0).any() == zero_part
    again = Analysis(table, settings, type(cache)(cache.directory / "other")).run("weighted")
    np.testing.assert_array_equal(again.synthetic, weighted.synthetic)  # whatever the cache held


@pytest.mark.slow
@pytest.mark.stan
def test_one_component_is_a_lognormal_regression(cache, rng):
    """Up to the priors, which say little beside 400 records."""
    z = rng.normal(size=400)
    table = Table("t", pd.DataFrame({"x": np.exp(1.0 + 0.5 * z + 0.6 * rng.normal(size=400)), "z": z}), False)
    draws = {}
    for model in ("lognormal", "mixture"):
        settings = make_settings(outcome="x", predictors=("z",), model=model, components=1, chains=2, draws=500,
                                 warmup=500)  # fmt: skip
        posterior, _ = Analysis(table, settings, cache).fits.unweighted()
        draws[model] = np.column_stack(
            [posterior.draws["beta"].reshape(1000, 2), posterior.draws["sigma"].ravel()]
        )
    a, b = draws.values()
    error = a.std(0) * np.sqrt(2 / 200)
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * error + 0.002).all()
    np.testing.assert_allclose(a.std(0), b.std(0), rtol=0.25)


@pytest.fixture
def short_pilot(monkeypatch):
    """Enough for two components that are far from empty."""
    monkeypatch.setattr(pilot_module, "SWEEPS", 2000)
    monkeypatch.setattr(pilot_module, "EVERY", 1)


@pytest.mark.slow
def test_a_pilot_run_empties_what_is_superfluous(short_pilot):
    """Two regressions, five components: a share of 0.7 and one of 0.3 on other slopes, the rest near zero."""
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(1500), rng.normal(size=1500)])
    first = rng.random(1500) < 0.7
    response = np.where(first, design @ [2.0, 0.5], design @ [-1.0, -0.5])
    response += np.where(first, 0.5, 0.8) * rng.normal(size=1500)
    start = fit_mixture(design, response, np.ones(1500), 5, 0.2, np.random.default_rng(0))
    pilots = [
        run_pilot(design, response, np.ones(1500), start, 0.2, 1.0, 1.0, np.random.default_rng(seed))
        for seed in (1, 2, 3)
    ]
    pilot = pilots[0]
    shares = np.sort(pilot.responsibilities.mean(axis=0))[::-1]
    assert np.sort(start.shares)[2] > 0.01  # EM alone occupies more than two
    np.testing.assert_allclose(shares[:2], [0.7, 0.3], atol=4 * np.sqrt(0.21 / 1500))
    superfluous = [np.sort(each.responsibilities.mean(axis=0))[:-2].sum() for each in pilots]
    assert np.median(superfluous) < 0.01  # now and then one is occupied for a while
    largest = np.argsort(pilot.responsibilities.mean(axis=0))[::-1][:2]
    for state in pilot.states[::100]:
        np.testing.assert_allclose(state.beta[:, largest].T, [[2.0, 0.5], [-1.0, -0.5]], atol=0.25)
        np.testing.assert_allclose(state.sigma[largest], [0.5, 0.8], atol=0.15)
    # Under weights: what weighs nothing is no component, and what remains keeps its label.
    weights = np.where(first, 0.5, 0.0)
    weighted = run_pilot(design, response, weights, pilot, 0.2, 1.0, 1.0, np.random.default_rng(2))
    state = weighted.states[-1]
    assert state.shares[largest[0]] > 0.97
    error = 0.5 / np.sqrt(0.5 * first.sum())
    np.testing.assert_allclose(state.beta[:, largest[0]], [2.0, 0.5], atol=5 * error)
    kept = np.array([each.beta[0, largest[0]] for each in weighted.states])
    assert 0.7 * error < kept.std() < 1.4 * error  # as of half the records


@pytest.mark.slow
def test_coordinates_know_what_overlap_takes_away(short_pilot):
    """A_k of two that overlap is what another run's draws of beta_k vary by, not what known components would say."""
    rng = np.random.default_rng(3)
    design = np.column_stack([np.ones(800), rng.normal(size=800)])
    response = np.where(rng.random(800) < 0.5, 0.0, 1.6) + 0.6 * rng.normal(size=800)
    start = fit_mixture(design, response, np.ones(800), 2, 0.2, np.random.default_rng(0))
    pilot, other = (
        run_pilot(design, response, np.ones(800), start, 0.2, 1.0, 1.0, np.random.default_rng(seed))
        for seed in (1, 2)
    )
    for j in range(2):
        level = np.array([state.beta[0, j] for state in other.states])
        variance = linalg.inv(pilot.precision[j])[0, 0]
        given = pilot.sigma[j] ** 2 / pilot.responsibilities[:, j].sum()
        assert level.var() > 4 * given  # what would be said if the components were known
        assert 1 / 3 < variance / level.var() < 3  # 400 draws, strongly autocorrelated
        at = linalg.solve(pilot.precision[j], pilot.shift[:, j])
        assert abs(at[0] - level.mean()) < 2 * level.std()


@pytest.mark.parametrize("mean", [1.0, 40.0])
def test_concentration_of_a_pilot_run_against_quadrature(mean):
    log_shares = np.log([0.6, 0.3, 0.08, 0.015, 0.005])
    grid = np.linspace(1e-3, 2 * mean + 5, 40_001)
    log_density = stats.gamma(5 * mean, scale=1 / 5).logpdf(grid)
    log_density += special.gammaln(grid) - 5 * special.gammaln(grid / 5) + grid / 5 * log_shares.sum()
    density = np.exp(log_density - log_density.max())
    expected = [np.average(grid**power, weights=density) for power in (1, 2)]
    rng, a, kept = np.random.default_rng(4), mean, []
    for _ in range(20_000):
        a = pilot_module._concentration(a, log_shares, mean, rng)
        kept.append(a)
    kept = np.array(kept)
    for power, wanted in zip((1, 2), expected, strict=True):
        error = (kept**power).std() / np.sqrt(20_000 / 10)  # autocorrelation over fewer than ten sweeps
        assert abs((kept**power).mean() - wanted) < 4 * error


def test_memberships_against_a_loop(rng):
    design, response = np.column_stack([np.ones(20), rng.normal(size=20)]), rng.normal(size=20)
    shares, beta, sigma = np.array([0.5, 0.3, 0.2]), rng.normal(size=(2, 3)), np.array([0.4, 1.0, 2.0])
    found, log_terms = memberships(design, response, shares, beta, sigma)
    for i in range(20):
        parts = [shares[k] * stats.norm.pdf(response[i], design[i] @ beta[:, k], sigma[k]) for k in range(3)]
        np.testing.assert_allclose(found[i], np.array(parts) / sum(parts))
        assert log_terms[i] - 0.5 * np.log(2 * np.pi) == pytest.approx(np.log(sum(parts)))


@pytest.mark.long
@pytest.mark.stan
def test_consumer_expenditure_converges(cache):
    """5,633 incomes with heaps, six categorical predictors, 23 columns, K = 5, all occupied; half an hour."""
    table = open_table(str(shared_file("ce_2014q1_rpms010.csv.gz")))
    predictors = ("BLS_URBN", "SMSASTAT", "SEX_REF", "EDUC_REF", "FAM_TYPE", "CUTENURE")
    settings = make_settings(outcome="FINCBTAX", predictors=predictors, categorical=predictors, model="mixture",
                             zero_part=True, transformation="asinh", asinh_scale=30_000.0, unit=10_000.0,
                             concentration=100.0, scale=0.6, shift=-0.1)  # fmt: skip
    analysis = Analysis(table, settings, cache)
    results = [analysis.run(mechanism) for mechanism in ("unweighted", "weighted")]
    assert all(result.problems == () for result in results)
    assert results[1].lipschitz_bound < results[0].lipschitz_bound / 3  # PPM Table 2: 78.7 and 7.30
