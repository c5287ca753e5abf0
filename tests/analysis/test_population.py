"""Weighted estimates against the table in which every record stands as often as it weighs, and against simulation."""

import numpy as np
import pytest

from synth_core.analysis.population import (
    furthest_in_population,
    missing_words,
    population_of,
    population_words,
    populations_words,
)
from synth_core.analysis.survey_estimates import quantile_with_interval, standard_error, weighted_quantiles
from synth_core.analysis.utility import AT_ZERO, ecdf_distance
from synth_core.cli.compare_output import population_json
from synth_core.data.survey_weights import Survey


def expanded(values, weights):
    return np.repeat(values, weights.astype(int))


def test_whole_weights_are_records_that_stand_several_times():
    rng = np.random.default_rng(1)
    x, y = rng.lognormal(size=80), rng.lognormal(size=80).round(1)
    v, w = (rng.integers(1, 9, 80).astype(float) for _ in range(2))
    shares = np.array([0.1, 0.5, 0.9, 1.0])
    expected = np.quantile(expanded(y, w), shares, method="inverted_cdf")
    np.testing.assert_array_equal(weighted_quantiles(y, w, shares), expected)
    found = population_of("pay", "w", (x, Survey(v)), [(y, Survey(w))], (50.0,))
    assert found.ecdf_max == pytest.approx(ecdf_distance(expanded(x, v), expanded(y, w)).ecdf_max)
    assert found.statistics[0].confidential == pytest.approx(expanded(x, v).mean())
    assert found.statistics[0].synthetic == pytest.approx(expanded(y, w).mean())
    assert [each.name for each in found.statistics] == ["mean", "median"]


def test_shares_of_categories():
    codes, weights = np.array([0.0, 1, 1, 2]), Survey(np.array([6.0, 1, 1, 2]))
    found = population_of(
        "msp", "w", (codes, weights), [(codes, Survey(np.ones(4)))] * 2, (), ("a", "b", "c")
    )
    assert [each.confidential for each in found.statistics] == pytest.approx([0.6, 0.2, 0.2])
    assert found.ecdf_max == pytest.approx(0.35)  # 0.6 for 0.25
    assert populations_words([found, found]) == (
        "In the population, by w: msp off by at most 35.0 points on average over the 2 data sets, 3 of 3 estimates in "
        "the 95 % band; msp off by at most 35.0 points on average over the 2 data sets, 3 of 3 estimates in the "
        "95 % band."
    )
    near = population_of("edu", "w", (codes, weights), [(codes, weights)], (), ("a", "b", "c"))
    # A line, and not a list.
    said = "In the population, by w, msp is furthest off, by at most 35.0 points on average over the 2 data sets."
    assert furthest_in_population([near, found]) == said
    assert furthest_in_population([found]) == populations_words([found])


def test_the_share_at_the_zeros_counts_once_among_the_estimates():
    """Of several percentiles at the zeros one share is compared."""
    pay = np.concatenate([np.zeros(60), np.arange(1.0, 41.0)])
    same = pay, Survey(np.ones(100))
    found = population_of("pay", "w", same, [same], (10.0, 20.0, 50.0, 90.0))
    assert len(found.statistics) == 5
    assert [each.compared.name for each in found.estimates] == ["mean", AT_ZERO, "q90"]
    assert population_words(found).count("share at or below 0") == 1
    assert population_words(found).endswith("3 of 3 estimates in the 95 % band")


def test_the_weighted_share_that_is_missing_is_estimated_too():
    """Two of four records lack their pay, and six of ten in the population: it stood nowhere."""
    weights, there = np.array([5.0, 1, 2, 2]), np.array([False, False, True, True])
    pay = np.array([3.0, 5.0])
    sides = [(pay, Survey(weights[there])), (pay, Survey(weights[~there]))]
    absent = [((~there).astype(float), Survey(weights)), (there.astype(float), Survey(weights))]
    found = population_of("pay", "w", sides[0], sides[1:], (50.0,), None, absent)
    share = found.estimates[-1]
    assert (share.confidential, share.synthetic) == pytest.approx((0.6, 0.4))
    assert share.error == pytest.approx(-0.2) and share.unit == "points"
    assert share.confidential_error == pytest.approx(standard_error(absent[0][0], Survey(weights)))
    assert "share missing -20.0 points" in population_words(found).replace("−", "-")
    assert missing_words([found]) == "By w there is missing: 60.0 % of pay, and 40.0 % of the synthetic one."
    assert population_json(found)["difference_of_share_missing"]["share missing"] == pytest.approx(-0.2)
    whole = [(np.zeros(4), Survey(weights))] * 2
    none = population_of("pay", "w", sides[0], sides[1:], (50.0,), None, whole)
    assert len(none.estimates) == 2 and missing_words([none]) == missing_words([]) == ""


def test_equal_weights_have_the_usual_standard_error():
    x = np.random.default_rng(2).normal(size=50)
    assert standard_error(x, Survey(np.full(50, 7.0))) == pytest.approx(x.std(ddof=1) / np.sqrt(50))


def test_intervals_of_a_weighted_median_hold_as_often_as_they_say():
    """Sampling in proportion to the value, 300 samples: .95, standard error .013; the unweighted one holds in none."""
    population = np.random.default_rng(3).lognormal(0, 0.8, 20_000)
    truth, rng = float(np.median(population)), np.random.default_rng(4)
    chance = population / population.sum()
    held, naive = 0, 0
    for _ in range(300):
        rows = rng.choice(len(population), 400, p=chance)
        x = population[rows]
        low, high = quantile_with_interval(x, Survey(1 / chance[rows]), 0.5)[1]
        held += low <= truth <= high
        low, high = quantile_with_interval(x, Survey(np.ones(400)), 0.5)[1]
        naive += low <= truth <= high
    assert 0.91 < held / 300 < 0.985 and naive == 0
