import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from synth_core.analysis.measures import measure_label
from synth_core.analysis.utility import (
    bootstrap_mean,
    bootstrap_quantile,
    ecdf_distance,
    interval_overlap,
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
    assert found["q90"].relative_error == pytest.approx(np.quantile(y[0], 0.9) / np.quantile(x, 0.9) - 1)


def test_several_data_sets_average_their_quantiles(rng):
    x, y = rng.normal(10, 1, 500), rng.normal(10, 1, (7, 500))
    found = statistics(x, y, (90.0,), seed=3)[1]
    assert found.synthetic == pytest.approx(np.mean(np.quantile(y, 0.9, axis=1)))
    single = statistics(x, y[:1], (90.0,), seed=3)[1]
    width = np.ptp(found.synthetic_interval) / np.ptp(single.synthetic_interval)
    assert 0.6 < width < 1.6  # a barycenter averages quantile functions: no narrowing with m


def test_relative_error_of_zero():
    found = statistics(np.zeros(20), np.ones((1, 20)), (50.0,), seed=1)[1]
    assert found.relative_error == np.inf


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
