import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synth_core.errors import InputError
from synth_core.mechanisms.ranges import intervals, read_brackets
from synth_core.models import build_model
from tests.conftest import records_of

VALUES = np.array([-4.0, -1.0, 0.0, 2.0, 10.0])


def test_relative_ranges_are_sorted_whatever_the_sign():
    found = intervals(VALUES, (0.5, 2.0))
    np.testing.assert_allclose(found, [[-8, -2], [-2, -0.5], [0, 0], [1, 4], [5, 20]])
    assert ((found[:, 0] <= VALUES) & (found[:, 1] >= VALUES)).all()


@given(st.floats(0, 0.999), st.floats(1, 10))
def test_a_record_lies_in_its_own_range(a, b):
    found = intervals(VALUES, (a, b))
    assert ((found[:, 0] <= VALUES + 1e-12) & (found[:, 1] >= VALUES - 1e-12)).all()


def test_the_tail_gets_its_own_range():
    found = intervals(VALUES, (0.4, 1.8), tail=(20.0, 0.2, 2.4))
    np.testing.assert_allclose(found[-1], [2.0, 24.0])
    np.testing.assert_allclose(found[3], [0.8, 3.6])


def test_an_open_end_is_everything():
    found = intervals(np.array([3.0, 0.0]), (0.0, np.inf))
    np.testing.assert_array_equal(found, [[0.0, np.inf], [0.0, np.inf]])


def test_brackets():
    brackets = read_brackets("lower,upper\n0,5\n5,20\n")
    np.testing.assert_allclose(
        intervals(np.array([0.0, 4.9, 5.0, 20.0]), (0.4, 1.8), brackets=brackets),
        [[0, 5], [0, 5], [5, 20], [5, 20]],
    )
    with pytest.raises(InputError, match="1 records lie in no bracket"):
        intervals(np.array([1.0, 21.0]), (0.4, 1.8), brackets=brackets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,5\n6,9", "gap"),
        ("0,5\n4,9", "overlap"),
        ("5,0", "smaller"),
        ("", "empty"),
        ("lower,upper", "empty"),
        ("0,5\n5,x", "line 2"),
        ("0,5\n5", "line 2"),
    ],
)
def test_bad_brackets(text, message):
    with pytest.raises(InputError, match=message):
        read_brackets(text)


@pytest.mark.parametrize(
    ("relative", "tail", "message"),
    [
        ((2.0, 1.0), None, "a ≤ b"),
        ((1.2, 1.8), None, "leaves out the value"),
        ((0.2, 0.9), None, "leaves out the value"),
        ((0.4, 1.8), (0.0, 0.2, 2.4), "percentage"),
        ((0.4, 1.8), (5.0, 1.2, 2.4), "tail"),
        ((float("nan"), 1.8), None, "a ≤ b"),
        ((1.0, 1.0), None, "value alone"),
    ],
)
def test_bad_ranges(relative, tail, message):
    with pytest.raises(InputError, match=message):
        intervals(VALUES, relative, tail)


N, S = 40, 6


@pytest.fixture(params=["beta", "lognormal"])
def model_and_law(request, rng):
    if request.param == "beta":
        model = build_model("beta", records_of(rng.uniform(0.05, 0.95, N)))
        draws = {"a": rng.uniform(0.3, 2, S), "b": rng.uniform(1, 4, S)}
        return model, draws, lambda s, i: stats.beta(draws["a"][s], draws["b"][s])
    z = np.column_stack([np.ones(N), rng.normal(size=N)])
    model = build_model("lognormal", records_of(rng.lognormal(size=N), z))
    draws = {"beta": rng.normal(0.5, 0.5, (S, 2)), "sigma": rng.uniform(0.5, 2, S)}
    return model, draws, lambda s, i: stats.lognorm(draws["sigma"][s], scale=np.exp(z[i] @ draws["beta"][s]))


def test_interval_mass_against_scipy(model_and_law):
    model, draws, law = model_and_law
    limits = intervals(model.records.outcome, (0.4, 1.3))
    found = model.interval_mass(draws, *limits.T, slice(0, N))
    expected = [
        [law(s, i).cdf(limits[i, 1]) - law(s, i).cdf(limits[i, 0]) for i in range(N)] for s in range(S)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    everything = model.interval_mass(draws, np.full(N, -np.inf), np.full(N, np.inf), slice(0, N))
    assert (everything == 1).all()  # exactly: a range of everything falls back to the whole range


def test_interval_mass_keeps_its_digits_in_the_far_tail():
    model = build_model("lognormal", records_of(np.full(12, np.exp(9.0)) * np.linspace(1, 1.1, 12)))
    draws = {"beta": np.zeros((1, 1)), "sigma": np.ones(1)}
    x = model.records.outcome
    found = model.interval_mass(draws, 0.9 * x, 1.2 * x, slice(0, 12))[0]
    expected = stats.norm.sf(np.log(0.9 * x)) - stats.norm.sf(np.log(1.2 * x))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert (found > 0).all()
