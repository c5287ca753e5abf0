import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synth_core.mechanisms.weights import (
    WEIGHT_FUNCTIONS,
    count_weights,
    isolation_risk,
    likelihood_weights,
    range_averaged_weights,
    relative_risk,
    reweight,
    scalar_weight,
    truncate,
)
from synth_core.system import limits

bounds_arrays = arrays(float, st.integers(2, 40), elements=st.floats(0, 1e6).map(lambda v: round(v, 6)))
scales, shifts = st.floats(*limits.SCALE), st.floats(*limits.SHIFT)


def naive_weights(f, scale, shift):
    """Record by record, as Reweight Algorithm 1 is written."""
    finite = [v for v in f if np.isfinite(v)]
    low, high = min(finite), max(finite)
    out = []
    for v in f:
        if not np.isfinite(v):
            out.append(0.0)
            continue
        risk = (v - low) / (high - low) if high > low else 0.0
        out.append(min(1.0, max(0.0, scale * (1 - risk) + shift)))
    return np.array(out)


@given(bounds_arrays, scales, shifts)
def test_against_naive(f, scale, shift):
    np.testing.assert_allclose(
        likelihood_weights(f, scale, shift), naive_weights(f, scale, shift), atol=1e-12
    )


@given(bounds_arrays, scales, shifts)
def test_in_unit_interval_and_decreasing_in_risk(f, scale, shift):
    weights = likelihood_weights(f, scale, shift)
    assert ((weights >= 0) & (weights <= 1)).all()
    assert (np.diff(weights[np.argsort(f)]) <= 1e-12).all()


@given(bounds_arrays)
def test_untuned_weights_reach_zero_and_one(f):
    weights = likelihood_weights(f)
    assert weights.max() == 1.0
    if np.ptp(f) > 0:
        assert weights.min() == 0.0


@given(bounds_arrays, st.tuples(scales, scales), shifts)
def test_smaller_scale_never_raises_a_weight(f, pair, shift):
    low, high = sorted(pair)
    assert (likelihood_weights(f, low, shift) <= likelihood_weights(f, high, shift) + 1e-12).all()


@given(bounds_arrays, st.randoms(use_true_random=False))
def test_permutation_and_duplicates(f, random):
    order = list(range(len(f)))
    random.shuffle(order)
    np.testing.assert_array_equal(likelihood_weights(f)[order], likelihood_weights(f[order]))
    doubled = likelihood_weights(np.concatenate([f, f]))
    np.testing.assert_array_equal(doubled[: len(f)], doubled[len(f) :])


def test_non_finite_bounds_get_weight_zero_and_stay_out_of_the_range():
    f = np.array([1.0, np.inf, 3.0, np.nan])
    np.testing.assert_array_equal(likelihood_weights(f), [1.0, 0.0, 0.0, 0.0])
    assert np.isnan(relative_risk(f)[[1, 3]]).all()


def test_all_non_finite():
    assert (likelihood_weights(np.array([np.inf, np.inf])) == 0).all()


@pytest.mark.parametrize("value", [0.0, 4.2])
def test_equal_bounds_mean_no_risk(value):
    assert (likelihood_weights(np.full(5, value)) == 1).all()


@pytest.mark.parametrize("risk_map", sorted(WEIGHT_FUNCTIONS))
@given(f=bounds_arrays, scale=scales, shift=shifts)
def test_every_risk_map_decreases(risk_map, f, scale, shift):
    weights = likelihood_weights(f, scale, shift, risk_map)
    assert ((weights >= 0) & (weights <= 1)).all()
    assert (np.diff(weights[np.argsort(f)]) <= 1e-12).all()


def test_risk_maps_at_points():
    f = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(likelihood_weights(f, risk_map="reciprocal"), [1, 2 / 3, 1 / 2])
    np.testing.assert_allclose(likelihood_weights(f, risk_map="threshold", threshold=0.5), [1, 0, 0])
    np.testing.assert_allclose(likelihood_weights(f, risk_map="threshold", threshold=0.6), [1, 1, 0])


def test_a_frozen_span_makes_each_weight_depend_on_its_record_alone():
    f = np.array([0.5, 1.0, 3.0, 9.0])
    frozen = likelihood_weights(f, span=(1.0, 5.0))
    np.testing.assert_allclose(frozen, [1.0, 1.0, 0.5, 0.0])
    for i in range(4):
        np.testing.assert_array_equal(likelihood_weights(f[[i]], span=(1.0, 5.0)), frozen[[i]])


# values with ties, zeros and negatives
value_arrays = arrays(float, st.integers(1, 30), elements=st.integers(-6, 6).map(lambda k: k / 2))


@given(value_arrays, st.floats(0.01, 3))
def test_isolation_risk_against_the_definition(x, radius):
    naive = [np.mean([not (xi - radius * abs(xi) <= xj <= xi + radius * abs(xi)) for xj in x]) for xi in x]
    np.testing.assert_allclose(isolation_risk(x, radius), naive, atol=1e-12)


@given(value_arrays, st.floats(0.01, 3), scales, shifts)
def test_count_weights(x, radius, scale, shift):
    risk = isolation_risk(x, radius)
    assert ((risk >= 0) & (risk < 1)).all()  # a record is always inside its own interval
    weights = count_weights(risk, scale, shift)
    assert ((weights >= 0) & (weights <= 1)).all()
    order = np.random.default_rng(1).permutation(len(x))
    np.testing.assert_array_equal(isolation_risk(x[order], radius), risk[order])


@given(value_arrays, value_arrays, st.floats(0.01, 3))
def test_isolation_against_a_reference(x, reference, radius):
    naive = [np.mean([not (v - radius * abs(v) <= r <= v + radius * abs(v)) for r in reference]) for v in x]
    np.testing.assert_allclose(isolation_risk(x, radius, reference), naive, atol=1e-12)


@given(bounds_arrays, scales, st.floats(0.01, 50))
def test_truncation_removes_exactly_what_exceeds(f, scale, bound):
    weights = likelihood_weights(f, scale)
    kept = truncate(weights, f, bound)
    for before, after, risk in zip(weights, kept, f, strict=True):
        assert after == (0.0 if before * risk > bound else before)


def test_scalar_weight():
    assert scalar_weight(2.5, 10.0) == 0.25
    assert scalar_weight(20.0, 10.0) == 1.0
    assert scalar_weight(1.0, 0.0) == 1.0


@given(bounds_arrays, scales, st.floats(0.1, 2))
def test_reweighting(f, scale, k):
    weights = likelihood_weights(f, scale)
    bounds = weights * f
    raised = reweight(weights, bounds, k)
    assert ((raised >= 0) & (raised <= 1)).all()
    assert (raised[weights == 0] == 0).all()
    for i in range(len(f)):
        if bounds[i] > 0:
            assert raised[i] == pytest.approx(min(1.0, k * weights[i] * bounds.max() / bounds[i]))


@given(bounds_arrays, st.floats(0, 1))
def test_range_averaging_raises_weights(f, outside):
    weights = likelihood_weights(f)
    raised = range_averaged_weights(weights, np.full(len(f), outside))
    assert (raised >= weights - 1e-12).all()
    assert (raised <= 1 + 1e-12).all()
    assert ((1 - outside) * weights <= weights + 1e-12).all()


def test_values_beyond_a_frozen_span_count_as_its_ends():
    risk = relative_risk(np.array([0.0, 1.0, 3.0, 5.0, 9.0]), span=(1.0, 5.0))
    np.testing.assert_array_equal(risk, [0.0, 0.0, 0.5, 1.0, 1.0])
