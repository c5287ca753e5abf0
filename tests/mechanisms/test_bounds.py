import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_core.mechanisms import bounds as module
from synth_core.mechanisms.bounds import lipschitz_bounds, unit_lipschitz_bounds
from synth_core.mechanisms.censoring import Censoring, weighted_terms


def naive(matrix, weights):
    """The definition, double loop: Delta_i = max_s |alpha_i * l_si|, 0 where alpha_i is 0."""
    n_draws, n = matrix.shape
    per_record = np.zeros(n)
    for i in range(n):
        for s in range(n_draws):
            term = 0.0 if weights[i] == 0 else weights[i] * matrix[s, i]
            per_record[i] = max(per_record[i], abs(term))
    return per_record


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 50), st.integers(1, 60))
def test_against_the_definition(seed, n_draws, n, block):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(0, 5, (n_draws, n))
    weights = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    matrix[:, weights == 0] = np.where(
        rng.random((n_draws, int((weights == 0).sum()))) < 0.5, -np.inf, np.nan
    )  # a removed record may overflow
    saved, module.BLOCK_ELEMENTS = module.BLOCK_ELEMENTS, block
    try:
        found = lipschitz_bounds(lambda rows: matrix[:, rows].copy(), n, n_draws, weights)
    finally:
        module.BLOCK_ELEMENTS = saved
    expected = naive(matrix, weights)
    np.testing.assert_array_equal(found.lipschitz_bounds, expected)
    assert found.lipschitz_bound == expected.max()
    terms = np.where(weights == 0, 0.0, weights * np.where(weights == 0, 0.0, matrix))
    np.testing.assert_array_equal(found.draw_max, terms.max(axis=1))
    np.testing.assert_array_equal(found.draw_min, terms.min(axis=1))
    np.testing.assert_array_equal(found.oscillations, np.ptp(terms, axis=0))
    assert found.oscillation == found.oscillations.max()


def test_growth_ends_at_delta_and_never_falls(rng):
    matrix = rng.normal(0, 3, (40, 30))
    found = lipschitz_bounds(lambda rows: matrix[:, rows].copy(), 30, 40)
    growth = found.growth()
    assert (np.diff(growth) >= 0).all()
    assert growth[-1] == found.lipschitz_bound
    assert growth[9] == np.abs(matrix[:10]).max()


def test_weights_of_zero_give_a_delta_of_zero_without_a_sign(rng):
    matrix = rng.normal(size=(7, 5))
    bounds = lipschitz_bounds(lambda rows: matrix[:, rows].copy(), 5, 7, np.zeros(5))
    assert f"{bounds.lipschitz_bound:g}" == "0" and f"{2 * bounds.lipschitz_bounds[0]:.3f}" == "0.000"


def test_an_infinite_term_shows():
    matrix = np.array([[0.0, -np.inf]])
    assert lipschitz_bounds(lambda rows: matrix[:, rows].copy(), 2, 1).lipschitz_bound == np.inf


def test_what_a_record_changes_is_at_most_twice_its_bound(rng):
    matrix = rng.normal(0, 3, (40, 30))
    found = lipschitz_bounds(lambda rows: matrix[:, rows].copy(), 30, 40)
    assert (found.oscillations <= 2 * found.lipschitz_bounds).all()
    assert (found.clamped(0.5).oscillations <= 1.0).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_bound(shape):
    with pytest.raises(ValueError, match="at least one"):
        lipschitz_bounds(lambda rows: np.zeros(shape), shape[1], shape[0])


def test_the_check_can_stop_it():
    class Stop(Exception):
        pass

    def check(share):
        raise Stop

    with pytest.raises(Stop):
        lipschitz_bounds(lambda rows: np.zeros((2, 3)), 3, 2, check=check)


def test_terms_are_clamped_on_both_sides_and_a_weight_of_zero_adds_nothing():
    log_lik = np.array([[-9.0, 4.0, -np.inf, np.inf], [-0.5, -4.0, 0.25, -np.inf]])
    weights = np.array([0.5, 1.0, 0.0, 1.0])
    expected = [[-1.5, 1.5, 0.0, 1.5], [-0.25, -1.5, 0.0, -1.5]]
    np.testing.assert_array_equal(weighted_terms(log_lik, weights, Censoring(1.5)), expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 50), st.integers(1, 60))
def test_of_units_against_a_double_loop(seed, n_draws, n, block):
    """The sum of a unit's terms at each draw, whatever the order of records and wherever blocks end."""
    rng = np.random.default_rng(seed)
    matrix, units = rng.normal(0, 5, (n_draws, n)), rng.integers(0, max(1, n // 2), n)
    weights = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    terms = np.where(weights == 0, 0.0, weights * matrix)
    matrix[:, weights == 0] = np.nan
    found = unit_lipschitz_bounds(
        lambda rows: matrix[:, rows].copy(), units, n_draws, weights, block_elements=block
    )
    sums = np.array([[sum(terms[s, units == u]) for u in units] for s in range(n_draws)])
    np.testing.assert_allclose(found.highest, sums.max(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.lowest, sums.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.draw_max, sums.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.draw_min, sums.min(axis=1), atol=1e-12)
