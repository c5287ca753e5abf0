"""Percentiles and regressions of whole records, against loops and a second implementation."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.records.numbers import (
    average_numbers,
    mean_of_numbers,
    number_measures,
    regression_of,
)
from synth_core.analysis.regression import coefficient_overlaps, interval_overlap
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.survey_weights import Survey

PERCENTILES = (5.0, 25.0, 50.0, 90.0)  # the first is 0
SEX, PAY, RENT = (
    EarlierVariable("sex", ("f", "m", "x")),
    EarlierVariable("pay", (), 10.0, zeros=True),
    EarlierVariable("rent", (), 5.0),
)


def records(rng, n=400, shift=0.0):
    sex = rng.choice(["f", "m", "x"], n, p=[0.5, 0.4, 0.1])
    rent = rng.lognormal(1, 0.5, n)
    pay = np.where(rng.random(n) < 0.1, 0.0, 30 + shift + 8 * (sex == "m") + rent + rng.normal(0, 5, n))
    return pd.DataFrame({"sex": sex.astype(object), "pay": pay, "rent": rent})


def design_of(rng, n):
    return np.column_stack([np.ones(n), rng.normal(size=n)])


def normal_equations(y, x):
    """Least squares with its standard errors, by the normal equations."""
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    variance = ((y - x @ beta) ** 2).sum() / (len(y) - x.shape[1])
    return beta, np.sqrt(variance * np.diag(inverse))


def test_overlaps_of_two_tables_against_a_loop(rng):
    """Karr et al. 2006, with predictors that differ too."""
    sides = []
    for shift in (0.0, 0.3):
        x = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
        sides.append((x @ [1.0, 0.5 + shift, -1.0] + rng.normal(size=200), x))
    z = stats.norm.ppf(0.975)
    (b1, s1), (b2, s2) = (normal_equations(*side) for side in sides)
    expected = []
    for k in (1, 2):
        low = max(b1[k] - z * s1[k], b2[k] - z * s2[k])
        high = min(b1[k] + z * s1[k], b2[k] + z * s2[k])
        expected.append(0.5 * ((high - low) / (2 * z * s1[k]) + (high - low) / (2 * z * s2[k])))
    np.testing.assert_allclose(coefficient_overlaps(*sides), expected)
    assert expected[0] < 0.5  # apart
    same = coefficient_overlaps(sides[0], sides[0])
    np.testing.assert_allclose(same, 1.0)


def test_what_the_synthetic_table_cannot_estimate_counts_as_no_overlap(rng):
    x = np.column_stack([np.ones(100), rng.normal(size=100), np.arange(100) < 10]).astype(float)
    y = rng.normal(size=100)
    without = x.copy()
    without[:, 2] = 0.0
    found = coefficient_overlaps((y, x), (y, without))
    assert found[1] == 0.0
    assert found[0] > 0.5
    double = np.column_stack([x, x[:, 1]])  # given by another: no coefficient in either
    assert len(coefficient_overlaps((y, double), (y, double))) == 2
    np.testing.assert_array_equal(coefficient_overlaps((y, x), (y[:2], x[:2])), 0.0)
    assert interval_overlap(y, y, x[:, :1]) is None


def test_measures_of_a_number(rng):
    mine, theirs = records(rng), records(rng, shift=2.0)
    mine.loc[:9, "pay"] = np.nan
    public = design_of(rng, 400), design_of(rng, 400)
    pay, rent = number_measures(mine, theirs, public, (SEX, PAY, RENT), PERCENTILES, seed=1)
    assert (pay.name, rent.name) == ("pay", "rent")
    for statistic, q in zip(pay.statistics, ("mean", *PERCENTILES), strict=True):
        values = [f["pay"].dropna() for f in (mine, theirs)]
        expected = [v.mean() if q == "mean" else np.percentile(v, q) for v in values]
        assert [statistic.confidential, statistic.synthetic] == pytest.approx(expected)
    errors = [
        abs(np.percentile(theirs["pay"], q) / np.nanpercentile(mine["pay"], q) - 1)
        for q in PERCENTILES
        if np.nanpercentile(mine["pay"], q) != 0
    ]
    assert pay.percentile_error == pytest.approx(np.mean(errors))
    # The regression of rent, its design written out.
    sides = []
    for frame, z in zip((mine, theirs), public, strict=True):
        there = frame["pay"].fillna(0.0)
        sides.append(
            (
                frame["rent"].to_numpy(),
                np.column_stack(
                    [z, frame["sex"] == "m", frame["sex"] == "x", np.arcsinh(there / 10), frame["pay"] == 0]
                ).astype(float),
            )
        )
    overlaps = coefficient_overlaps(*sides)
    assert rent.n_coefficients == 5
    assert rent.overlap == pytest.approx(overlaps.mean())
    assert rent.meeting == pytest.approx((overlaps > 0).mean())


def test_a_regression_leaves_out_missing_outcomes(rng):
    frame = records(rng, 50)
    values = {"sex": np.zeros(50), "pay": frame["pay"].to_numpy(copy=True), "rent": frame["rent"].to_numpy()}
    values["pay"][:7] = np.nan
    public = design_of(rng, 50)
    outcome, design = regression_of("pay", values, public, (SEX, PAY, RENT))
    assert outcome.shape == (43,)
    assert design.shape == (43, 2 + 2 + 1)
    np.testing.assert_array_equal(outcome, values["pay"][7:])
    np.testing.assert_array_equal(design[:, :2], public[7:])
    np.testing.assert_allclose(design[:, 4], np.arcsinh(values["rent"][7:] / 5))


def test_means_over_data_sets(rng):
    mine, public = records(rng), design_of(rng, 400)
    each = [
        number_measures(mine, records(rng, shift=s), (public, public), (SEX, PAY, RENT), PERCENTILES, 1)
        for s in (0.0, 3.0)
    ]
    [pay, _] = average_numbers(each)
    assert pay.overlap == pytest.approx(np.mean([e[0].overlap for e in each]))
    assert pay.statistics[3].synthetic == pytest.approx(np.mean([e[0].statistics[3].synthetic for e in each]))
    at_zero = [e[0].statistics[1] for e in each]  # of which the share at or below 0 is compared
    assert pay.statistics[1].instead and at_zero[0].error != at_zero[1].error
    assert pay.statistics[1].error == pytest.approx(np.mean([s.error for s in at_zero]))
    assert average_numbers(each[:1]) == each[0]


def test_a_number_that_is_mostly_zero_does_not_hide_the_percentile_errors_of_the_others(rng):
    """The mean over numbers was no number, since all percentiles of one lie at its zeros."""
    mine, theirs, design = records(rng), records(rng, shift=2.0), design_of(rng, 400)
    mine["pay"] *= np.arange(400) % 40 == 0
    pay, rent = number_measures(mine, theirs, (design, design), (SEX, PAY, RENT), (25.0, 50.0), 1)
    assert np.isnan(pay.percentile_error) and np.isnan(pay.percentile_distance)
    for measure in ("percentile_error", "percentile_distance"):
        assert mean_of_numbers((pay, rent), measure) == getattr(rent, measure) > 0
        assert np.isnan(mean_of_numbers((rent, replace(rent, statistics=(), spread=np.nan)), measure))
        assert np.isnan(mean_of_numbers((pay,), measure))
    assert mean_of_numbers((pay, rent), "overlap") == pytest.approx(np.mean([pay.overlap, rent.overlap]))


def test_percentiles_lie_off_by_a_share_of_the_distance_between_the_quartiles(rng):
    """A relative error of a small percentile does not say how little that is."""
    mine, theirs = records(rng), records(rng, shift=6.0)
    design = design_of(rng, 400)
    (pay, _) = number_measures(mine, theirs, (design, design), (SEX, PAY, RENT), PERCENTILES, 1)
    q1, q3 = np.quantile(mine["pay"], [0.25, 0.75])
    away = [abs(np.quantile(theirs["pay"], p / 100) - np.quantile(mine["pay"], p / 100)) for p in PERCENTILES]
    assert pay.percentile_distance == pytest.approx(np.mean(away) / (q3 - q1))


def test_by_weights_that_distance_is_of_the_population(rng):
    """As in the table in which each record stands as often as it weighs, but for ties of its percentiles."""
    mine, theirs, design = records(rng), records(rng, shift=6.0), design_of(rng, 400)
    weights = np.where(mine["pay"] > 40, 9.0, 1.0)
    of = (design, design), (SEX, PAY, RENT), PERCENTILES, 1
    (pay, _) = number_measures(mine, theirs, *of, (Survey(weights), Survey(np.ones(400))))
    wide = np.repeat(mine["pay"].to_numpy(), weights.astype(int))
    spread = np.subtract(*np.quantile(wide, [0.75, 0.25], method="inverted_cdf"))
    assert pay.spread == pytest.approx(spread)
    assert pay.spread != pytest.approx(number_measures(mine, theirs, *of)[0].spread, rel=0.1)
