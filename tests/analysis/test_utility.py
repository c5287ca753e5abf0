import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from synth_core.analysis.measures import measure_label
from synth_core.analysis.regression import interval_overlap
from synth_core.analysis.utility import (
    bootstrap_mean,
    bootstrap_quantile,
    ecdf_distance,
    percentile_words,
    statistic_words,
    statistics,
)
from synth_core.figures.parts import statistic_label
from synth_core.release.report import report

# few distinct values, so that ties within and between the samples are common
samples = arrays(float, st.integers(1, 30), elements=st.integers(-5, 5).map(float))


def naive_ecdf(confidential, synthetic):
    merged = np.concatenate([confidential, synthetic])
    d = np.array([np.mean(confidential <= v) - np.mean(synthetic <= v) for v in merged])
    return np.abs(d).max(), np.mean(d**2)


@given(samples, samples)
def test_ecdf_against_naive(a, b):
    found = ecdf_distance(a, b)
    largest, average = naive_ecdf(a, b)
    assert found.ecdf_max == pytest.approx(largest, abs=1e-12)
    assert found.ecdf_avg == pytest.approx(average, abs=1e-12)
    at = found.location
    assert abs(np.mean(a <= at) - np.mean(b <= at)) == pytest.approx(largest, abs=1e-12)


@given(samples)
def test_a_sample_is_at_no_distance_from_itself(a):
    found = ecdf_distance(a, a)
    assert found.ecdf_max == found.ecdf_avg == 0


def test_ecdf_maximum_is_the_two_sample_kolmogorov_smirnov_statistic(rng):
    a, b = rng.normal(size=300), rng.normal(0.2, 1, size=200)
    assert ecdf_distance(a, b).ecdf_max == pytest.approx(stats.ks_2samp(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("share", [0.15, 0.5, 0.9, 0.999])
def test_bootstrap_quantiles_have_the_distribution_of_resampling(rng, share):
    x = np.sort(rng.lognormal(size=101))
    fast = bootstrap_quantile(x, share, rng, 4000)
    slow = np.array([np.quantile(rng.choice(x, len(x)), share) for _ in range(4000)])
    # The draws are discrete; Kolmogorov-Smirnov is conservative then. Level 1e-4.
    assert stats.ks_2samp(fast, slow).pvalue > 1e-4


def test_bootstrap_means(rng):
    x = rng.exponential(size=400)
    draws = bootstrap_mean(x, rng, 4000)
    error = x.std() / np.sqrt(400)
    assert draws.mean() == pytest.approx(x.mean(), abs=5 * error / np.sqrt(4000))
    assert draws.std() == pytest.approx(error, rel=0.06)  # 5 Monte Carlo errors of a deviation


def test_statistics_use_numpy_quantiles(rng):
    x, y = rng.normal(10, 1, 500), rng.normal(10, 1, (1, 500))
    found = {s.name: s for s in statistics(x, y, (15.0, 50.0, 90.0), seed=3)}
    assert found["mean"].confidential == x.mean()
    assert found["q15"].synthetic == np.quantile(y[0], 0.15)
    assert found["median"].confidential == np.median(x)
    low, high = found["q90"].confidential_interval
    assert low < np.quantile(x, 0.9) < high
    assert found["q90"].error == pytest.approx(np.quantile(y[0], 0.9) / np.quantile(x, 0.9) - 1)


def test_several_data_sets_average_their_quantiles(rng):
    x, y = rng.normal(10, 1, 500), rng.normal(10, 1, (7, 500))
    found = statistics(x, y, (90.0,), seed=3)[1]
    assert found.synthetic == pytest.approx(np.mean(np.quantile(y, 0.9, axis=1)))
    single = statistics(x, y[:1], (90.0,), seed=3)[1]
    width = np.ptp(found.synthetic_interval) / np.ptp(single.synthetic_interval)
    assert 0.6 < width < 1.6  # a barycenter averages quantile functions: no narrowing with m


def test_a_mean_of_zero_has_no_relative_error():
    found = statistics(np.zeros(20), np.ones((1, 20)), (50.0,), seed=1)
    assert found[0].error == np.inf
    assert found[1].error == -1.0  # none of the synthetic values is at or below 0, and all of the others are


def incomes(rng, n, zeros, losses=0.0):
    """Incomes of which some are 0 and some below."""
    values = rng.lognormal(10, 1, n)
    values[: round(n * zeros)] = 0.0
    values[round(n * zeros) : round(n * (zeros + losses))] *= -0.1
    return rng.permutation(values)


def test_a_percentile_at_the_zeros_gives_way_to_the_share_at_or_below_zero(rng):
    """An income of which 14 % are 0 stood beside one with 16 % as "-100.0 % (15th percentile)" of every mechanism."""
    x, y = incomes(rng, 2_000, 0.14), incomes(rng, 2_000, 0.16)[None, :]
    assert np.quantile(x, 0.15) > 0 and np.quantile(y, 0.15) == 0
    found = {s.name: s for s in statistics(x, y, (10.0, 15.0, 50.0, 90.0), seed=3)}
    for name in ("q10", "q15"):
        one = found[name]
        assert one.error == pytest.approx(np.mean(y <= 0) - np.mean(x <= 0)) == pytest.approx(0.02)
        assert (one.words, one.unit) == ("share at or below 0", "points")
        assert one.confidential == np.quantile(x, int(name[1:]) / 100)  # the value itself stays
    assert found["q90"].error == pytest.approx(np.quantile(y, 0.9) / np.quantile(x, 0.9) - 1)
    assert (found["median"].words, found["median"].unit, found["mean"].instead) == ("median", "%", None)
    # The bootstrap of a share is binomial: 1.96 standard errors, within 5 Monte Carlo errors of 500 draws' quantiles.
    low, high = found["q15"].instead.confidential_interval
    half = 1.96 * np.sqrt(0.14 * 0.86 / 2_000)
    assert low == pytest.approx(0.14 - half, abs=0.25 * half) and high == pytest.approx(
        0.14 + half, abs=0.25 * half
    )


@pytest.mark.parametrize("zeros, losses", [(0.0, 0.0), (0.003, 0.0), (0.14, 0.05), (0.6, 0.0)])
def test_which_percentiles_are_at_the_zeros(rng, zeros, losses):
    """Against the definition in words: 0 itself, or the zeros grown by their share, at most 5 points, reach it."""
    x = incomes(rng, 1_000, zeros, losses)
    percentiles = tuple(float(p) for p in range(1, 100))
    found = statistics(x, x[None, :], percentiles, seed=1)[1:]
    grown = min(0.05, zeros)
    for p, each in zip(percentiles, found, strict=True):
        reached = zeros > 0 and losses - grown - 1e-9 <= p / 100 <= losses + zeros + grown + 1e-9
        assert (each.instead is not None) == (reached or np.quantile(x, p / 100) == 0), p


def naive_overlap(confidential, synthetic, design):
    def intervals(y):
        beta = np.linalg.lstsq(design, y, rcond=None)[0]
        s2 = np.sum((y - design @ beta) ** 2) / (len(y) - design.shape[1])
        se = np.sqrt(s2 * np.diag(np.linalg.inv(design.T @ design)))
        return [(b - 1.959963984540054 * e, b + 1.959963984540054 * e) for b, e in zip(beta, se, strict=True)]

    values = []
    for (lc, hc), (ls, hs) in list(zip(intervals(confidential), intervals(synthetic), strict=True))[1:]:
        shared = min(hc, hs) - max(lc, ls)
        values.append(0.5 * (shared / (hc - lc) + shared / (hs - ls)))
    return np.mean(values)


def test_interval_overlap_against_naive(rng):
    z = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    x = z @ [1, 2, 3, 4] + rng.normal(size=200)
    y = z @ [1, 2.1, 3, 4] + rng.normal(size=200)
    assert interval_overlap(x, y, z) == pytest.approx(naive_overlap(x, y, z))
    assert interval_overlap(x, x, z) == pytest.approx(1.0)
    assert interval_overlap(x, y, z[:, :1]) is None


def test_percentiles_in_words():
    """Against the endings as they are spoken."""
    endings = {1: "st", 2: "nd", 3: "rd"} | {n: "th" for n in (0, *range(4, 20))}
    for p in range(1, 100):
        assert percentile_words(float(p)) == f"{p}{endings[p if p < 20 else p % 10]} percentile"
    assert [statistic_words(name) for name in ("mean", "median", "q1", "q97.5")] == [
        "mean",
        "median",
        "1st percentile",
        "97.5th percentile",
    ]


def test_every_place_that_names_a_percentile_says_it_so():
    """The results table and the public report once said "1th percentile"."""
    assert statistic_label("q1") == "1st percentile"
    assert (statistic_label("mean"), statistic_label("median")) == ("Mean", "Median")
    assert report._measure_words("relative error of the q1") == "relative error of the 1st percentile"
    assert report._measure_words("relative error of the mean") == "relative error of the mean"
    assert measure_label("q2.5") == "Error of the 2.5th percentile"
    assert measure_label("median") == "Error of the median"
