"""Survey weights in every mechanism: what is promised with them, on exact grids; what they do to the estimates."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.analysis.survey_estimates import weighted_quantiles
from synth_core.data.survey_weights import scaled_weights
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import Cache

EPSILON, C, GRID = 1.0, 0.7, np.linspace(-4, 4, 801)
N, TOTAL, CAP = 40, 4000.0, 6.0


def log_posterior(codes, weights, total=TOTAL, clip_first=False):
    """Of a logit on a grid with a flat prior, its terms around an anchor at 0; a code of NaN is withheld."""
    there = ~np.isnan(codes)
    p = expit(GRID)[:, None]
    log_lik = np.log(np.where(codes[there] == 1, p, 1 - p))
    scaled = scaled_weights(weights, total, len(codes), CAP)[there]
    if clip_first:
        terms = scaled * weighted_terms(
            log_lik, np.full(there.sum(), C), Censoring(EPSILON / 2, np.log([0.5]))
        )
    else:
        terms = weighted_terms(log_lik, C * scaled, Censoring(EPSILON / 2, np.full(there.sum(), np.log(0.5))))
    found = terms.sum(axis=1)
    return found - logsumexp(found)


def tables():
    rng = np.random.default_rng(1)
    for share in (0.1, 0.5):
        codes, weights = (rng.random(N) < share).astype(float), rng.lognormal(4.2, 1.0, N)
        for own in (20.0, 900.0):  # the weight of the record that leaves
            yield codes, np.append(own, weights[1:])


def moved(one, other):
    return float(np.abs(one - other).max())


def withheld(codes):
    return np.append(np.nan, codes[1:])


def test_with_weights_no_value_moves_the_posterior_by_more_than_epsilon():
    one, replaced = [], []
    for codes, weights in tables():
        values = [np.append(x, codes[1:]) for x in (0.0, 1.0)]
        without = log_posterior(withheld(codes), weights)
        here = [log_posterior(x, weights) for x in values]
        one += [moved(each, without) for each in here]
        replaced.append(moved(*here))
    assert 0.8 * EPSILON < max(one) <= EPSILON + 1e-9
    assert max(replaced) <= 2 * EPSILON + 1e-9


def test_weights_after_the_clamp_break_it():
    """A mutant: w times the clamped term. The largest weight is 6, and a record moves by as much more."""
    worst = max(
        moved(
            log_posterior(np.append(x, c[1:]), w, clip_first=True),
            log_posterior(withheld(c), w, clip_first=True),
        )
        for c, w in tables()
        for x in (0.0, 1.0)
    )
    assert worst > 2 * EPSILON


def test_a_scale_that_is_taken_from_the_table_breaks_it():
    """A mutant: W the mean of the weights that are there. A record of a large weight moves the terms of all others."""

    def own_total(codes, weights):
        there = ~np.isnan(codes)
        return float(weights[there].mean() * len(codes))

    worst = 0.0
    for codes, weights in tables():
        here = log_posterior(codes, weights, own_total(codes, weights))
        there = withheld(codes)
        worst = max(worst, moved(here, log_posterior(there, weights, own_total(there, weights))))
    assert worst > EPSILON


# -- a sample in which large values are taken more often ------------------------------------------


def sampled(seed, n=600, size=30_000):
    """An informative sample: inclusion in proportion to the root of the value; the population, its weights, N."""
    rng = np.random.default_rng(seed)
    area = rng.choice(["north", "south"], size)
    pay = rng.lognormal(3 + 0.3 * (area == "north"), 0.7)
    chance = np.sqrt(pay) / np.sqrt(pay).sum()
    rows = rng.choice(size, n, p=chance, replace=True)
    frame = pd.DataFrame({"pay": pay[rows], "area": area[rows], "w": (1 / (n * chance[rows])).round(2)})
    return Table("sample", frame), pay, float(size)


def analysis(tmp_path, seed=1, total=None, **changes):
    table, population, size = sampled(seed)
    given = {"outcome": "pay", "model": "lognormal", "predictors": ("area",), "weight": "w", "epsilon": 5.0}
    given |= {"guess": (20.0, 1.0), "weight_total": size if total else None, "draws": 400, "warmup": 300}
    settings = make_settings(**given | changes)
    return Analysis(table, settings, Cache(tmp_path), noise=SeededNoise(seed)), population


def medians(result):
    found = next(each for each in result.population.statistics if each.name == "median")
    return found.synthetic, found.confidential_interval


@pytest.mark.slow
def test_measured_synthesis_counts_by_class_of_weight(tmp_path):
    """Weighted medians lie in the band of the confidential one in 3 of 3 samples; unweighted ones are 15 % off."""
    for seed in range(3):
        one, population = analysis(tmp_path / str(seed), seed)
        result = one.run("measured")
        middle, (low, high) = medians(result)
        assert low <= middle <= high and low <= np.median(population) <= high
        assert np.median(result.synthetic) > 1.15 * np.median(population)
        loose = one.with_settings(weight=None).run("measured").synthetic[0]
        assert (
            weighted_quantiles(loose, one.table.frame.w.to_numpy(), np.array([0.5]))[0] > high
        )  # values do not follow the weight
        assert result.epsilon == 5.0 and "2 of two columns" in result.anchor


@pytest.mark.stan
@pytest.mark.parametrize("key", ["unweighted", "anchored"])
def test_weights_in_the_likelihood_give_the_population(tmp_path, key):
    """The median of synthetic values by weights is the population's, and is not without them in the likelihood."""
    one, population = analysis(tmp_path, total=True)
    result, plain = one.run(key), one.with_settings(weight_total=None).run(key)
    truth = np.median(population)
    assert medians(result)[0] == pytest.approx(truth, rel=0.12)
    assert medians(plain)[0] > 1.12 * truth
    if key == "anchored":
        assert result.epsilon == 5.0 and result.n_censored < 0.02 * 600


@pytest.mark.stan
def test_bounds_read_the_product_of_survey_and_privacy_weights(tmp_path):
    one, _ = analysis(tmp_path, total=True)
    mechanism = find_mechanism("weighted")
    alpha = one.with_settings(weight_total=None).weighted(mechanism).weights
    result = one.run("weighted")
    survey = scaled_weights(one.table.frame.w.to_numpy(), 30_000.0, 600, 5.0)
    np.testing.assert_allclose(result.weights, survey * alpha)
    posterior, _ = one.fits.posterior(result.weights)
    terms = survey * alpha * one.model.log_lik(posterior.draws, slice(None))
    assert result.epsilon == pytest.approx(2 * np.abs(terms).max())


@pytest.mark.parametrize(
    "key, why",
    [
        ("weighted_e", "truncation and re-weighting are solved on the fit without survey weights"),
        ("weighted_final", "truncation and re-weighting are solved"),
        ("range_averaged", "no proof covers a sensitive range with survey weights"),
        ("histogram", "survey weights do not enter them"),
    ],
)
@pytest.mark.stan
def test_what_has_no_proof_with_weights_is_refused(tmp_path, key, why):
    one, _ = analysis(tmp_path, total=True, bounds=(0.0, 2000.0))
    with pytest.raises(InputError, match=why):
        one.run(key)


def test_noisy_counts_are_no_anchor_beside_weights(tmp_path):
    one, _ = analysis(tmp_path, total=True, anchor="counts")
    with pytest.raises(InputError, match="Noisy counts are of the sample"):
        one.run("anchored")


def test_a_total_below_the_rows_and_a_bad_weight_are_refused(tmp_path):
    one, _ = analysis(tmp_path)
    with pytest.raises(InputError, match="the table alone has 600 rows"):
        one.with_settings(weight_total=10.0).run("unweighted")
    bad = replace(
        one.table, frame=one.table.frame.assign(w=np.where(np.arange(600) == 4, 0.0, one.table.frame.w))
    )
    with pytest.raises(InputError, match=r"0 or below \(first in row 5\)"):
        replace(one, table=bad, prepared=None).run("measured")


@pytest.mark.long
def test_of_a_hundred_samples_the_median_by_weights_is_in_the_band(tmp_path):
    """R = 100: in at least 95 of them counted by class, in at most 20 without, and never for the unweighted median."""
    by_class = without = unweighted = 0
    for seed in range(100, 200):
        one, _ = analysis(tmp_path / str(seed), seed)
        result = one.run("measured")
        middle, (low, high) = medians(result)
        by_class += low <= middle <= high
        unweighted += low <= np.median(result.synthetic) <= high
        loose = one.with_settings(weight=None).run("measured").synthetic[0]
        without += low <= weighted_quantiles(loose, one.table.frame.w.to_numpy(), np.array([0.5]))[0] <= high
    assert by_class >= 95 and without <= 20 and unweighted == 0
