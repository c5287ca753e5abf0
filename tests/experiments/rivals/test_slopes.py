"""Slopes of numbers on other variables against NumPy's least squares, and what flattens them."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.earlier_variable import EarlierVariable
from synth_core.experiments.rivals.slopes import slopes

COLUMNS = (
    EarlierVariable("level", ("c", "a", "b")),
    EarlierVariable("kind", ("x", "y")),
    EarlierVariable("pay"),
)


@pytest.fixture
def frame(rng):
    place = rng.integers(0, 3, 600)
    pay = np.exp(0.8 * place + rng.normal(size=600))
    pay[::7] = np.nan
    level = pd.Series(np.array(["c", "a", "b"], dtype=object)[place])
    level[::11] = None
    return pd.DataFrame({"level": level, "kind": rng.choice(["x", "y"], 600), "pay": pay})


def test_slopes_are_those_of_least_squares_on_tenths(frame):
    found = slopes(frame, frame, COLUMNS, ("level",))
    assert list(found) == ["pay by level", "pay by kind"]  # the steepest first
    there = frame.notna().all(axis=1)
    cuts = np.quantile(frame["pay"].dropna(), np.arange(1, 10) / 10)
    tenth = np.array([(value >= cuts).sum() for value in frame["pay"][there]])
    place = frame["level"][there].map({"c": 0, "a": 1, "b": 2})
    assert found["pay by level"] == pytest.approx([np.polyfit(place, tenth, 1)[0]] * 2)


def test_a_table_whose_columns_were_mixed_is_flat_by_the_tenths_of_the_confidential_one(frame, rng):
    mixed = frame.assign(pay=1e6 * rng.permutation(frame["pay"]))  # above every cut: all in the last tenth
    true, flat = slopes(frame, mixed, COLUMNS, ("level",))["pay by level"]
    assert true > 1 and np.isnan(flat)
    true, flat = slopes(frame, frame.assign(pay=rng.permutation(frame["pay"])), COLUMNS, ("level",))[
        "pay by level"
    ]
    assert abs(flat) < 0.5 < true


def test_of_categories_in_no_order_the_slope_is_that_on_the_means_of_the_confidential_table(rng):
    """A place among codes said 0 of a variable that goes most with the number: low, high and low again."""
    place = rng.integers(0, 3, 3_000)
    pay = 2.0 * (place == 1) + rng.normal(size=3_000)
    frame = pd.DataFrame({"level": np.array(["c", "a", "b"], dtype=object)[place], "kind": "x", "pay": pay})
    flat = frame.assign(pay=np.where(rng.random(3_000) < 0.5, pay, rng.permutation(pay)))
    [(name, (mine, theirs))] = slopes(frame, flat, COLUMNS, ()).items()
    assert name == "pay by level" and mine == pytest.approx(1.0)
    assert abs(slopes(frame, flat, COLUMNS, ("level",))[name][0]) < 0.2
    tenth = [
        np.searchsorted(np.quantile(pay, np.arange(1, 10) / 10), side["pay"], "right")
        for side in (frame, flat)
    ]
    scores = pd.Series(tenth[0]).groupby(frame["level"]).mean()
    assert (
        theirs == pytest.approx(np.polyfit(flat["level"].map(scores), tenth[1], 1)[0]) and 0.4 < theirs < 0.65
    )
    other = slopes(frame, flat, (EarlierVariable("level", ("b", "c", "a")), COLUMNS[2]), ())
    assert other[name] == pytest.approx((mine, theirs))


def test_a_number_that_nobody_has_has_no_slope(frame):
    assert not slopes(frame.assign(pay=np.nan), frame, COLUMNS, ("level",))


def test_with_weights_slopes_are_those_of_weighted_least_squares_on_tenths_of_the_population(frame, rng):
    own = rng.integers(1, 9, 600).astype(float), rng.integers(1, 9, 600).astype(float)
    mixed = frame.assign(pay=rng.permutation(frame["pay"]))
    pay = frame["pay"].dropna()
    upto = [own[0][pay.index[pay <= value]].sum() / own[0][pay.index].sum() for value in pay]
    cuts = [min(v for v, share in zip(pay, upto, strict=True) if share >= at / 10) for at in range(1, 10)]

    def naive(side, weights):
        there = side[["level", "pay"]].notna().all(axis=1)
        tenth = np.array([sum(value >= cut for cut in cuts) for value in side["pay"][there]])
        place = side["level"][there].map({"c": 0, "a": 1, "b": 2}).astype(float)
        return np.polyfit(place, tenth, 1, w=np.sqrt(weights[there]))[0]

    found = slopes(frame, mixed, COLUMNS, ("level",), own)["pay by level"]
    assert found == pytest.approx([naive(frame, own[0]), naive(mixed, own[1])])
    assert found != pytest.approx(slopes(frame, mixed, COLUMNS, ("level",))["pay by level"], rel=1e-3)
