"""Few rows in place of many: the sums of log(1 + exp(logit)) and their derivatives are those of all rows."""

import numpy as np
import pytest
from scipy import special

from synth_core.models.gauss_rule import nodes_needed, quadrature_rows

SIZES = (1, 2, 5, 30, 200, 1500)
SLOPE = 0.7


@pytest.fixture
def many(rng):
    """Cells of several sizes in a mixed order, with ties, a heap and rows without weight."""
    cell = rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    x = rng.normal(0.3 * cell, 1.0).round(2)
    x[cell == 4] = np.where(rng.random(200) < 0.7, 0.25, x[cell == 4])
    weight = rng.choice([0.0, 0.2, 1.0, 3.0], len(cell)) * rng.uniform(0.5, 1.0, len(cell))
    return cell, x, weight


def sums(rows, level, slope):
    """The sum, its derivatives by level and slope, and the size that rounding is measured by."""
    cell, x, weight = rows
    logit = level[cell] + slope * x
    share = weight * special.expit(logit)
    return np.array([weight @ np.logaddexp(0, logit), share.sum(), share @ x])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, -1.0])
@pytest.mark.parametrize("level", [-12.0, -2.0, 0.0, 7.0])
def test_sums_are_those_of_all_rows(many, share, level):
    few = quadrature_rows(*many, SLOPE)
    assert len(few[0]) < 0.1 * len(many[0])
    levels = level + np.linspace(-1, 1, len(SIZES))
    wanted, found = sums(many, levels, share * SLOPE), sums(few, levels, share * SLOPE)
    np.testing.assert_allclose(found, wanted, rtol=2e-13, atol=1e-13 * np.abs(many[1]) @ many[2])


def test_far_beyond_the_largest_slope_they_differ_gradually(many):
    few, level = quadrature_rows(*many, SLOPE), np.zeros(len(SIZES))
    errors = [abs(sums(few, level, k * SLOPE)[0] / sums(many, level, k * SLOPE)[0] - 1) for k in (2, 4)]
    assert errors[0] < 1e-7
    assert errors[1] < 1e-3


def test_weights_are_kept_and_places_stay_within_their_cell(many):
    cell, x, weight = many
    at, place, total = quadrature_rows(*many, SLOPE)
    assert (total > 0).all()
    assert (np.diff(at) >= 0).all()
    for each in np.unique(at):
        rows = (cell == each) & (weight > 0)
        assert total[at == each].sum() == pytest.approx(weight[rows].sum(), rel=1e-13)
        assert place[at == each].min() >= x[rows].min() - 1e-12
        assert place[at == each].max() <= x[rows].max() + 1e-12


def test_few_rows_stand_for_themselves():
    cell, x, weight = np.array([1, 0, 1]), np.array([2.0, 1.0, -1.0]), np.array([0.5, 0.0, 2.0])
    at, place, total = quadrature_rows(cell, x, weight, 50.0)
    assert (at.tolist(), place.tolist(), total.tolist()) == ([1, 1], [-1.0, 2.0], [2.0, 0.5])
    assert all(len(each) == 0 for each in quadrature_rows(cell, x, np.zeros(3), 1.0))


def test_a_rule_of_many_nodes_is_orthogonal_still(rng):
    """A wide reach needs many nodes; Lanczos' method without care loses them."""
    x = np.sort(rng.normal(size=4000))
    rows = np.zeros(4000, dtype=np.int64), x, np.ones(4000)
    few = quadrature_rows(*rows, 8.0)
    assert 60 < len(few[0]) == nodes_needed(np.array([8.0 * np.ptp(x) / 2]))[0] < 400
    for slope in (8.0, -5.0, 0.1):
        wanted, found = sums(rows, np.array([0.4]), slope), sums(few, np.array([0.4]), slope)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
