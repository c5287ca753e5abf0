"""The map and inverse tuning of several sensitive variables, against naive loops and the definitions."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block, parts_of, require_division
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore import search, tuning
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import FOR_BANDS, run_point
from synth_core.experiments.explore.records_point import (
    RecordsRuler,
    check_measure,
    difference_of,
    measured_words,
)
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.experiments.explore.tuning import NEAR, tune
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.noise import SeededNoise

SEX = Block("sex", "categorical", {"categories": ("f", "m")}, share=0.3)
PAY = Block("pay", "lognormal", {"unit": 10.0})
COMMON = {"predictors": ("z",), "draws": 400, "warmup": 300, "chains": 2, "epsilon": 8.0}


def people(n=300) -> Table:
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, n)
    sex = np.where(rng.random(n) < 0.3 + 0.2 * z, "f", "m")
    return Table("t", pd.DataFrame({"z": z, "sex": sex, "pay": rng.lognormal(2.5 + 0.3 * z, 0.5)}))


def whole(cache, **changes) -> RecordsAnalysis:
    return RecordsAnalysis(people(), (SEX, PAY), COMMON | changes, cache)


def naive_difference(mine, theirs) -> float:
    """The largest difference of two distribution functions, value by value."""
    at = np.concatenate([mine, theirs])
    return np.abs((mine[:, None] <= at).mean(axis=0) - (theirs[:, None] <= at).mean(axis=0)).max()


def test_the_error_of_a_table_is_the_largest_over_its_variables():
    rng = np.random.default_rng(2)
    pay = rng.lognormal(size=40).round(2)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 40), "pay": pay, "age": rng.lognormal(size=40)})
    blocks = (SEX, Block("pay", "lognormal"), Block("age", "lognormal"))
    ruler = RecordsRuler(Table("t", frame), [p.settings for p in parts_of(blocks, {})], (50.0,))
    made = {
        "sex": rng.integers(0, 2, 40).astype(float),
        "pay": np.where(rng.random(40) < 0.2, np.nan, rng.lognormal(size=40)),
        "age": rng.lognormal(0.3, size=40),
    }
    errors = dict(zip(ruler.names, ruler.measure(made), strict=True))
    there = made["pay"][~np.isnan(made["pay"])]
    alone = {
        "sex": abs(np.mean(frame["sex"] == "m") - made["sex"].mean()),  # total variation of two categories
        "pay": naive_difference(pay, there),
        "age": naive_difference(frame["age"].to_numpy(), made["age"]),
    }
    for name, difference in alone.items():
        assert errors[difference_of(name)] == pytest.approx(difference)
    assert errors["ecdf_max"] == pytest.approx(max(alone.values()))
    means = [there.mean() / pay.mean() - 1, made["age"].mean() / frame["age"].mean() - 1]
    assert errors["mean"] == pytest.approx(max(map(abs, means)))  # a mean of categories there is none
    medians = [np.median(there) / np.median(pay) - 1, np.median(made["age"]) / np.median(frame["age"]) - 1]
    assert errors["median"] == pytest.approx(max(map(abs, medians)))


def test_a_variable_of_which_nothing_was_drawn_is_as_far_off_as_can_be():
    frame = pd.DataFrame({"sex": ["f", "m"] * 10, "pay": np.arange(1.0, 21.0)})
    ruler = RecordsRuler(
        Table("t", frame), [p.settings for p in parts_of((SEX, Block("pay", "lognormal")), {})], (50.0,)
    )
    made = {"sex": np.tile([0.0, 1.0], 10), "pay": np.full(20, np.nan)}
    errors = dict(zip(ruler.names, ruler.measure(made), strict=True))
    assert errors["ecdf_max"] == 1.0
    assert math.isnan(errors["median"])  # which meets no target


def test_a_measure_of_numbers_needs_a_number(kept):
    only = RecordsAnalysis(people(), (replace(SEX, share=None),), {"predictors": ("z",)}, kept)
    check_measure([p.settings for p in only.parts], "ecdf_max")
    with pytest.raises(InputError, match="No sensitive variable is a number, so there is no 'q90'"):
        check_measure([p.settings for p in only.parts], "q90")
    check_measure([p.settings for p in whole(kept).parts], "q90")


def test_a_measure_of_numbers_says_of_which_variables_it_is():
    """The goal asked for an error of a percentile, and did not say of which of five variables."""
    three = [p.settings for p in parts_of((SEX, PAY, Block("age", "lognormal")), {})]
    assert measured_words(three[:2], "q90") == "Of pay alone: categories have none."
    assert measured_words(three, "mean") == "The largest over pay, age: categories have none."
    assert measured_words(three, "ecdf_max") == measured_words(three[1:], "q90") == ""


@pytest.mark.stan
def test_a_point_has_the_joint_epsilon_and_tables_of_its_fits(cache):
    analysis = whole(cache)
    point = run_point(analysis, "weighted", 60)
    result = analysis.run("weighted")
    assert (point.epsilon, point.lipschitz_bound) == (result.epsilon, result.lipschitz_bound)
    assert point.guarantee == result.guarantee
    drawn = list(analysis.draw(result, ((FOR_BANDS, j) for j in range(60))))
    mine = people().frame["pay"].to_numpy()
    pays = [naive_difference(mine, each["pay"]) for each in drawn]
    sexes = [abs((people().frame["sex"] == "m").mean() - each["sex"].mean()) for each in drawn]
    assert np.allclose(point.draws("ecdf_max"), np.maximum(pays, sexes))
    assert run_point(analysis, "weighted", 60).cached
    assert not run_point(analysis.with_settings(scale=0.7), "weighted", 60).cached
    # The first tables of a result are those of its own stream.
    again = next(iter(analysis.draw(result, [(63, 0)])))
    assert all(np.array_equal(again[name], result.drawn[0][name]) for name in again)


@pytest.mark.stan
def test_the_unweighted_bound_is_that_of_the_unweighted_mechanism(kept):
    analysis = whole(kept)
    assert analysis.unweighted_bound == analysis.run("unweighted").lipschitz_bound
    assert analysis.least_epsilon == pytest.approx(0.01 / 0.3)


@pytest.mark.slow
@pytest.mark.stan
def test_least_epsilon_at_which_every_variable_is_within(cache, monkeypatch):
    """Searched by few steps, and to a tenth: what is asked of the answer below is coarser."""
    monkeypatch.setattr(tuning, "GRID_STEPS", 4)
    monkeypatch.setattr(
        tuning, "EPSILON_FROM", 4.0
    )  # begun at a twentieth of the largest: below, chains are long
    monkeypatch.setattr(search, "TOLERANCE", 0.1)
    target = Target("ecdf_max", 0.15, 0.9)
    answer = tune(whole(cache), "censored", target)
    assert answer.share >= 0.9
    found = answer.point.epsilon
    # The definition, on tables of another seed: known to 4 standard errors of 300.
    slack = 4 * math.sqrt(0.9 * 0.1 / 300)

    def share_at(epsilon):
        at = whole(cache, epsilon=epsilon)
        result = at.run("censored")
        frame = people().frame
        met = 0
        for each in at.draw(result, ((99, j) for j in range(300))):
            sex = abs((frame["sex"] == "m").mean() - each["sex"].mean())
            met += max(sex, naive_difference(frame["pay"].to_numpy(), each["pay"])) <= target.at_most
        return met / 300

    assert share_at(found) > 0.9 - slack
    assert share_at(found * 0.6) < 0.9 + slack
    assert answer.point.guarantee == "data_derived"  # found by looking at the table


@pytest.mark.slow
@pytest.mark.stan
def test_weights_are_scaled_to_a_joint_epsilon(kept):
    answer = tune(whole(kept), "weighted", EpsilonTarget(4.0))
    scale = answer.point.knobs["scale"]
    result = whole(kept, scale=scale).run("weighted")
    assert NEAR * 4.0 <= result.epsilon <= 4.0
    assert result.epsilon == answer.point.epsilon
    low, high = answer.epsilon_seeds
    assert low <= result.epsilon <= high


@pytest.mark.parametrize(
    "shares", [(None,) * 2, (None,) * 3, (None,) * 6, (None,) * 9, (0.3, None), (0.15, 0.6, None)]
)
def test_a_search_of_records_begins_at_an_epsilon_that_every_variable_can_be_fitted_under(kept, shares):
    """With three variables it began at 0.03, a third of which is 0.01 but for its last bit, and was refused."""
    frame = pd.DataFrame({f"v{i}": ["f", "m"] * 10 for i in range(len(shares))})
    blocks = tuple(replace(SEX, name=name, share=share) for name, share in zip(frame, shares, strict=True))
    analysis = RecordsAnalysis(Table("t", frame), blocks, {}, kept)
    lowest = tuning._grid(analysis, find_mechanism("measured"), "epsilon")[0]
    for epsilon in (analysis.least_epsilon, lowest):
        assert min(part.settings.epsilon for part in analysis.with_settings(epsilon=epsilon).parts) >= 0.01
    with pytest.raises(InputError) as refused:  # what is advised is taken
        require_division(analysis.with_settings(epsilon=0.9 * analysis.least_epsilon).parts)
    advised = float(re.search(r"take an ε of ([\d.]+) or more", str(refused.value))[1])
    require_division(analysis.with_settings(epsilon=advised).parts)
    assert advised == pytest.approx(analysis.least_epsilon, rel=0.01)


@pytest.mark.long
def test_a_search_of_measured_records_begins_where_each_part_may_be_fitted(cache, monkeypatch):
    """At 0.01 for a record with values that may be missing its parts had less than there is, and the search failed."""
    frame = people().frame
    lacking = Table("t", frame.assign(pay=frame["pay"].where(frame.index % 7 > 0)))
    pay = Block("pay", "lognormal", {"guess": (12.0, 0.6)}, missing=())
    analysis = RecordsAnalysis(lacking, (SEX, pay), COMMON, cache, noise=SeededNoise(1))
    monkeypatch.setattr(tuning, "GRID_STEPS", 4)
    monkeypatch.setattr(search, "TOLERANCE", 0.2)
    monkeypatch.setattr(tuning, "PREDICTIVE", 25)  # of one fit, and
    monkeypatch.setattr(tuning, "CHECKS", 50)  # of two: each has noise of its own
    answer = tune(analysis, "measured", Target("ecdf_max", 0.2, 0.9))
    assert answer.share >= 0.9 and answer.point.epsilon >= analysis.least_epsilon > 0.05


def test_a_setting_that_is_refused_misses_and_all_refused_is_said(cache, monkeypatch):
    tried = []

    def refuses(analysis, key, *more):
        tried.append(analysis.settings.epsilon)
        raise InputError(f"At ε = {analysis.settings.epsilon:g} there is too little to learn from.")

    monkeypatch.setattr(tuning, "run_point", refuses)
    monkeypatch.setattr(RecordsAnalysis, "unweighted_bound", 5.0)
    with pytest.raises(InputError, match="At ε = 10 there is too little"):  # what the largest is refused for
        tune(whole(cache), "censored", Target("ecdf_max", 0.1))
    assert len(tried) == tuning.GRID_STEPS
    assert tried[0] == pytest.approx(0.25)
