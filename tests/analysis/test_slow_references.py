"""Fast code against slow references at random inputs: ranges, lambda, range bounds, quantiles, the bootstrap."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from synth_core.analysis.fits import Fits
from synth_core.analysis.settings import make_settings
from synth_core.analysis.utility import bootstrap_quantile, statistics
from synth_core.data.table import Table
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.mechanisms.ranges import intervals
from synth_core.system.cache import MemoryCache

values = arrays(float, st.integers(1, 25), elements=st.integers(-20, 20).map(lambda k: k / 4))
factors = st.tuples(st.floats(0, 0.99), st.floats(1.01, 6))
seeds = st.integers(0, 2**31)


def slow_intervals(x, relative, tail):
    """Record by record, as Range, sections 2 and 4.3, is written."""
    ordered = sorted(x)
    found = []
    for value in x:
        a, b = relative
        if tail is not None:
            percent, a_tail, b_tail = tail
            position = (len(x) - 1) * (1 - percent / 100)
            k = int(np.floor(position))
            above = ordered[min(k + 1, len(x) - 1)]
            start = ordered[k] + (position - k) * (above - ordered[k])
            if value >= start - 1e-12:
                a, b = a_tail, b_tail
        found.append(sorted((a * value, b * value)))
    return np.array(found)


@settings(deadline=None)
@given(values, factors, st.none() | st.tuples(st.floats(1, 99), st.floats(0, 0.9), st.floats(1.1, 9)))
def test_intervals(x, relative, tail):
    np.testing.assert_allclose(
        intervals(x, relative, tail), slow_intervals(x, relative, tail), rtol=1e-12, atol=1e-12
    )


@settings(deadline=None)
@given(values, st.lists(st.integers(-30, 30), min_size=2, max_size=8, unique=True))
def test_brackets(x, cuts):
    edges = [-40.0, *sorted(map(float, cuts)), 40.0]
    brackets = tuple(itertools.pairwise(edges))
    # An edge belongs to the bracket above it.
    slow = [next((low, high) for low, high in brackets if low <= value < high) for value in x]
    np.testing.assert_array_equal(intervals(x, (0.5, 2.0), brackets=brackets), slow)


def fits_with_draws(seed, n, n_draws, **more):
    """Fits of a small table, and draws that no sampler made, with the law of every record under each."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0, 1.5, n).round(3) + 0.001
    chosen = make_settings(outcome="x", predictors=("z",), model="lognormal", unit=2.5, **more)
    fits = Fits(
        Table("t", pd.DataFrame({"x": x, "z": rng.normal(size=n)})), chosen, MemoryCache(), lambda *_: None
    )
    draws = {"beta": rng.normal(0, 0.7, (n_draws, 2)), "sigma": rng.uniform(0.3, 2, n_draws)}
    posterior = Posterior(draws, Diagnostics(1.0, 1e3, 1e3, 0, 1, n_draws), 0.0)
    design = fits.model.records.design

    def law(s, i):
        return stats.lognorm(draws["sigma"][s], scale=np.exp(design[i] @ draws["beta"][s]))

    return fits, posterior, law, x / 2.5, rng


@settings(max_examples=12, deadline=None)
@given(seeds, st.integers(10, 18), st.integers(1, 6), factors)
def test_lambda_is_the_probability_of_leaving_the_range(seed, n, n_draws, relative):
    fits, posterior, law, x, _ = fits_with_draws(seed, n, n_draws, range=relative)
    fits.model.block_elements = 3 * n_draws  # several blocks
    slow = []
    for i in range(n):
        low, high = relative[0] * x[i], relative[1] * x[i]
        slow.append(np.mean([law(s, i).cdf(low) + law(s, i).sf(high) for s in range(n_draws)]))
    found = fits.outside((posterior, f"draws {seed}", fits.model))
    np.testing.assert_allclose(found, slow, atol=1e-12)


@settings(max_examples=12, deadline=None)
@given(seeds, st.integers(10, 18), st.integers(1, 6), st.booleans(), st.booleans())
def test_range_bounds_against_the_definition(seed, n, n_draws, truncated, printed):
    """max_s |alpha (l - log gamma)|; as printed |alpha l - log gamma|; without a range |alpha l|."""
    fits, posterior, law, x, rng = fits_with_draws(
        seed, n, n_draws, range=(0.5, 1.6), printed_truncation=printed
    )
    fits.model.block_elements = 4 * n_draws
    alpha = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    slow = np.zeros(n)
    for i in range(n):
        for s in range(n_draws):
            term = law(s, i).logpdf(x[i])
            low, high = 0.5 * x[i], 1.6 * x[i]
            tail = (
                law(s, i).sf if low > law(s, i).median() else law(s, i).cdf
            )  # the one that keeps its digits
            gamma = abs(tail(high) - tail(low))
            if not truncated:
                weighted = alpha[i] * term
            elif printed:
                weighted = alpha[i] * term - np.log(gamma)
            else:
                weighted = alpha[i] * (term - np.log(gamma))
            slow[i] = max(slow[i], abs(weighted))
    found = fits.bounds(posterior, f"draws {seed}", alpha, truncated)
    np.testing.assert_allclose(found.lipschitz_bounds, slow, rtol=1e-7, atol=1e-9)
    assert found.lipschitz_bound == found.lipschitz_bounds.max()


@pytest.mark.slow
@settings(deadline=None)
@given(
    arrays(float, st.integers(2, 30), elements=st.floats(-1e6, 1e6)),
    st.floats(0.5, 99.5),
    st.integers(1, 3),
    seeds,
)
def test_percentiles_against_the_formula(x, percentile, datasets, seed):
    """R type 7, written out; several data sets average theirs."""

    def slow(sample):
        ordered, position = sorted(sample), (len(sample) - 1) * percentile / 100
        k = int(position)
        above = ordered[min(k + 1, len(sample) - 1)]
        return ordered[k] + (position - k) * (above - ordered[k])

    sets = np.random.default_rng(seed).permuted(np.tile(x, (datasets, 1)) * 1.5, axis=1)
    found = statistics(x, sets, (percentile,), seed=1)[1]
    assert found.confidential == pytest.approx(slow(x), rel=1e-9, abs=1e-9)
    assert found.synthetic == pytest.approx(np.mean([slow(each) for each in sets]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.77])
def test_bootstrap_quantiles_against_every_resample(share):
    """All 5^5 resamples of 5 values give the exact distribution; chi-square at level 1e-4, seed fixed."""
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    exact = Counter(
        round(float(np.quantile(resample, share)), 9) for resample in itertools.product(x, repeat=5)
    )
    draws = Counter(np.round(bootstrap_quantile(x, share, np.random.default_rng(7), 40_000), 9).tolist())
    assert set(draws) <= set(exact)
    cells = sorted(exact)
    expected = np.array([exact[c] for c in cells]) / 5**5 * 40_000
    observed = np.array([draws[c] for c in cells])
    keep = expected >= 5
    observed, expected = (np.append(v[keep], v[~keep].sum()) for v in (observed, expected))
    if expected[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4
