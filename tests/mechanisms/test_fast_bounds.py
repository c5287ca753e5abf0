"""Bounds from few log-likelihoods against the definition, which evaluates all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_core.mechanisms import fast_bounds
from synth_core.mechanisms.bounds import lipschitz_bounds
from synth_core.mechanisms.fast_bounds import LinearFamily, bounds_by_extremes, facing
from synth_core.models import build_model
from synth_core.models.records import Records


def some_weights(kind, n, rng):
    if kind == "none":
        return None
    weights = rng.random(n)
    if kind == "zeros":
        weights[rng.random(n) < 0.5] = 0.0
    if kind == "scalar":
        weights[:] = 0.3
    return weights


def assert_same(found, expected, rtol=0.0):
    for name in ("lipschitz_bounds", "oscillations", "draw_max", "draw_min"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, err_msg=name)
    for name in ("lipschitz_bound", "oscillation"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=max(rtol, 1e-300)), name
    np.testing.assert_allclose(found.growth(), expected.growth(), rtol=rtol)
    np.testing.assert_allclose(found.clamped(1.0).draw_max, expected.clamped(1.0).draw_max, rtol=rtol)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 400),
    n_draws=st.integers(1, 60),
    k=st.integers(1, 3),
    cells=st.integers(1, 4),
    kind=st.sampled_from(["none", "random", "zeros", "scalar"]),
    block=st.integers(1, 500),
)
def test_a_linear_family_is_exact(seed, n, n_draws, k, cells, kind, block):
    """Whole numbers, whose sums and products have no rounding: every bound is the definition's, to the bit."""
    rng = np.random.default_rng(seed)
    statistics = rng.integers(-40, 40, (n, k)).astype(float)
    cell = rng.integers(0, cells, n)
    coefficients = rng.integers(-30, 30, (cells, n_draws, k + 1)).astype(float)
    features = np.column_stack([statistics, np.ones(n)])

    def log_lik(draws, rows):
        return np.einsum("rsk,rk->sr", coefficients[cell[rows]][:, draws], features[rows])

    weights = some_weights(kind, n, rng)
    expected = lipschitz_bounds(lambda rows: log_lik(slice(None), rows), n, n_draws, weights)
    family = LinearFamily(statistics, cell, lambda c: coefficients[c])
    saved, fast_bounds.BLOCK_RECORDS = fast_bounds.BLOCK_RECORDS, 7
    try:
        found = bounds_by_extremes(log_lik, n, n_draws, weights, None, family, block_elements=block)
    finally:
        fast_bounds.BLOCK_RECORDS = saved
    assert_same(found, expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 80), st.integers(1, 50), st.integers(1, 200))
def test_ties_and_no_structure_are_exact(seed, kinds, n, n_draws, block):
    """Any log-likelihood whatever; records of a kind share it."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, kinds, n)
    _, first, index = np.unique(index, return_index=True, return_inverse=True)
    matrix = rng.normal(0, 5, (n_draws, len(first)))[:, index]
    kind = ("none", "random", "zeros", "scalar")[seed % 4]
    weights = some_weights(kind, n, rng)
    if weights is not None:  # what a removed record has does no harm
        removed = weights == 0
        gone = ~np.isin(index, index[~removed])
        matrix[:, gone] = np.where(rng.random((n_draws, int(gone.sum()))) < 0.5, -np.inf, np.nan)

    def log_lik(draws, rows):
        return matrix[draws][:, rows].copy()

    expected = lipschitz_bounds(lambda rows: log_lik(slice(None), rows), n, n_draws, weights)
    for alike in (None, (first, index)):
        assert_same(bounds_by_extremes(log_lik, n, n_draws, weights, alike, block_elements=block), expected)


def test_a_term_that_is_not_finite_falls_back_to_the_definition():
    matrix = np.array([[0.0, -np.inf, 1.0], [1.0, 2.0, np.nan]])
    found = bounds_by_extremes(lambda draws, rows: matrix[draws][:, rows].copy(), 3, 2)
    expected = lipschitz_bounds(lambda rows: matrix[:, rows].copy(), 3, 2)
    np.testing.assert_array_equal(found.lipschitz_bounds, expected.lipschitz_bounds)
    np.testing.assert_array_equal(expected.oscillations, [1.0, np.inf, np.inf])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_bound(shape):
    with pytest.raises(ValueError, match="at least one"):
        bounds_by_extremes(lambda draws, rows: np.zeros(shape), shape[1], shape[0])


FAMILIES = {
    "beta": (lambda rng, n: rng.beta(0.5, 3, n), {}, lambda rng, s, k: {
        "a": rng.normal(0.5, 0.02, s), "b": rng.normal(3, 0.1, s)}),
    "beta_regression": (lambda rng, n: rng.beta(2, 3, n), {}, lambda rng, s, k: {
        "beta": rng.normal(0, 0.015, (s, k)), "lambda": rng.normal(5, 0.2, s)}),
    "lognormal": (lambda rng, n: rng.lognormal(10, 1, n), {"unit": 1000.0}, lambda rng, s, k: {
        "beta": np.r_[3.0, np.zeros(k - 1)] + rng.normal(0, 0.015, (s, k)), "sigma": rng.normal(1, 0.011, s)}),
    "poisson": (lambda rng, n: rng.poisson(300 * rng.lognormal(size=n)).astype(float), {}, lambda rng, s, k: {
        "beta": np.r_[5.0, np.zeros(k - 1)] + rng.normal(0, 0.015, (s, k))}),
    "negative_binomial": (lambda rng, n: rng.poisson(3 * rng.lognormal(size=n)).astype(float), {}, lambda rng, s, k: {
        "beta": np.r_[1.0, np.zeros(k - 1)] + rng.normal(0, 0.015, (s, k)), "phi": rng.normal(2, 0.1, s)}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("groups", [1, 3])
def test_the_models_families(name, groups, rng):
    """A model's own log-likelihood by its structure against all of it: equal but for a product's last bit."""
    n, n_draws = 10_000, 200
    outcome, options, draw = FAMILIES[name]
    group = rng.integers(0, groups, n)
    design = np.column_stack([np.ones(n), *((group == g) - 0.5 for g in range(1, groups))])
    model = build_model(name, Records(outcome(rng, n), design, tuple("abc"[:groups])), **options)
    draws = draw(rng, n_draws, groups)
    family = model.family(draws)
    assert family is not None or model.alike is not None
    evaluated = 0

    def log_lik(some, rows):
        nonlocal evaluated
        found = model.log_lik({key: values[some] for key, values in draws.items()}, rows)
        evaluated += found.size
        return found

    full = model.log_lik(draws, slice(None))
    if family is not None:  # linear, up to what no draw changes
        for i in rng.integers(0, n, 20):
            linear = family.coefficients(family.cell[i]) @ np.append(family.statistics[i], 1.0)
            assert np.ptp(full[:, i] - linear) < 1e-9 * np.abs(full[:, i]).max()
    for weights in (None, rng.random(n), np.where(rng.random(n) < 0.2, 0.0, 0.7)):
        expected = lipschitz_bounds(lambda rows: model.log_lik(draws, rows), n, n_draws, weights)
        evaluated = 0
        found = bounds_by_extremes(log_lik, n, n_draws, weights, model.alike, family)
        assert_same(found, expected, rtol=1e-13)
        assert evaluated < (0.05 if name == "beta" else 1.2) * n * n_draws


def test_the_convex_hull_is_of_no_use_but_its_facing_vertices_are_few(rng):
    """(eta, -A(eta)) lies on a strictly concave surface: all draws are vertices, and few face the records."""
    from scipy import special
    from scipy.spatial import ConvexHull

    a, b = rng.normal(0.5, 0.01, 1000), rng.normal(3.0, 0.05, 1000)
    coefficients = np.column_stack([a - 1, b - 1, -special.betaln(a, b)])
    vertices = set(ConvexHull(coefficients).vertices)
    assert len(vertices) > 900
    x = np.linspace(0.01, 0.98, 2000)
    directions = np.column_stack([np.log(x), np.log1p(-x), np.ones_like(x)])
    terms = coefficients @ directions.T
    needed = set(terms.argmax(axis=0)) | set(terms.argmin(axis=0))
    assert needed <= vertices
    assert len(needed) < 40
    for start in range(0, 2000, 50):
        block = directions[start : start + 50, :2]
        faces = set(facing(coefficients, block.min(axis=0), block.max(axis=0)))
        here = terms[:, start : start + 50]
        assert set(here.argmax(axis=0)) | set(here.argmin(axis=0)) <= faces
