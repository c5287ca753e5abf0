"""Exact limits of a probability against SciPy's search, and against the tails that define them."""

import numpy as np
import pytest
from scipy import stats

from synth_core.experiments.proportions import clopper_pearson, lower_limit, upper_limit


def counts(trials):
    return sorted({0, 1, trials // 3, trials - 1, trials})


@pytest.mark.parametrize("trials", [1, 7, 200, 10_000])
def test_one_sided_limits_are_those_of_a_two_sided_interval(trials):
    for count in counts(trials):
        exact = stats.binomtest(count, trials).proportion_ci(0.96, "exact")
        assert lower_limit(count, trials, 0.02) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
        assert upper_limit(count, trials, 0.02) == pytest.approx(exact.high, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("count", "trials"), [(0, 1), (0, 100), (3, 100), (57, 400), (100, 100)])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_clopper_pearson_against_scipy(count, trials, level):
    expected = stats.binomtest(count, trials).proportion_ci(level, method="exact")
    assert clopper_pearson(count, trials, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("trials", [1, 10, 100, 5_000])
def test_clopper_pearson_is_the_quantile_of_a_beta_distribution(trials, level):
    """Against the two forms by which studies and tuning once had it."""
    tail = (1 - level) / 2
    for k in counts(trials):
        low, high = clopper_pearson(k, trials, level)
        assert low == pytest.approx(stats.beta.ppf(tail, k, trials - k + 1) if k else 0.0, abs=1e-12)
        for quantile, at in ((stats.beta.ppf, 1 - tail), (stats.beta.isf, tail)):
            assert high == pytest.approx(quantile(at, k + 1, trials - k) if k < trials else 1.0, abs=1e-12)


def test_clopper_pearson_against_the_binomial_tails():
    for met, n in ((0, 5), (5, 5), (3, 9), (91, 100)):
        lower, upper = clopper_pearson(met, n)
        if met:
            assert stats.binom.sf(met - 1, n, lower) == pytest.approx(0.025)
        if met < n:
            assert stats.binom.cdf(met, n, upper) == pytest.approx(0.025)
    assert clopper_pearson(0, 5)[0] == 0
    assert clopper_pearson(5, 5)[1] == 1


def test_an_array_of_counts_gives_what_one_count_gives():
    k = np.arange(31)
    for limit in (lower_limit, upper_limit):
        np.testing.assert_array_equal(limit(k, 30, 0.01), [limit(int(each), 30, 0.01) for each in k])
