import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_core.analysis.identification_risk import identification_risk
from synth_core.errors import InputError
from synth_core.mechanisms.solving import MAX_REFITS, solve_increasing


@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 4), st.floats(0.0, 1.0))
def test_match_risk_against_the_definition(seed, n, groups, radius):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-4, 5, n) / 2.0, rng.integers(-4, 5, n) / 2.0
    group = rng.integers(0, groups, n)
    found = identification_risk(x, y, group, radius)
    by_record, true, false, unique = [], 0, 0, 0
    for i in range(n):
        reach = radius * abs(x[i])
        matches = [j for j in range(n) if group[j] == group[i] and x[i] - reach <= y[j] <= x[i] + reach]
        own = i in matches
        by_record.append(1 / len(matches) if own else 0.0)
        if len(matches) == 1:
            unique += 1
            true += own
            false += not own
    np.testing.assert_allclose(found.by_record, by_record)
    assert found.true_match_rate == pytest.approx(true / n)
    if unique:
        assert found.false_match_rate == pytest.approx(false / unique)
    else:
        assert found.false_match_rate is None  # a share of none


def test_releasing_the_data_themselves_identifies_unique_records():
    x = np.array([1.0, 10.0, 100.0])
    found = identification_risk(x, x, np.zeros(3, dtype=int), 0.1)
    assert found.by_record.mean() == found.true_match_rate == 1.0


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("target", [0.3, 2.0, 40.0])
def test_solving(power, target):
    found = solve_increasing(lambda x: 5 * x**power, target, 0.5, 1000.0, 0.005)
    assert found.error <= 0.005
    assert found.value == pytest.approx(5 * found.at**power)
    assert found.refits <= MAX_REFITS


def test_solving_a_noisy_function_returns_the_best_point():
    def noisy(x):
        return x * (1 + 0.03 * np.sin(1e6 * x))

    found = solve_increasing(noisy, 2.0, 0.5, 10.0, 1e-6)
    assert found.error < 0.05
    assert found.refits == MAX_REFITS


def test_nothing_to_solve_for():
    for target in (0.0, np.inf, np.nan):
        with pytest.raises(InputError, match="nothing to solve for"):
            solve_increasing(lambda x: x, target, 0.5, 1.0, 0.01)
    found = solve_increasing(lambda x: max(0.0, x - 2), 3.0, 0.5, 100.0, 0.01)
    assert found.error <= 0.01


def test_an_impossible_target():
    with pytest.raises(ValueError, match="beyond"):
        solve_increasing(lambda x: x, 5.0, 0.5, 1.0, 0.01)
