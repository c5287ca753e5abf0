"""Public columns that tell the sensitive variable, which are released as they are."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.telling import FIRST, Tells, is_multiple, tells

RNG = np.random.default_rng(1)
PAY = RNG.lognormal(8, 0.5, 200).round(2)
LEVEL = RNG.integers(1, 7, 200).astype(float)


def category(values) -> pd.Series:
    return pd.Series(np.asarray(values)).astype("category")


@pytest.mark.parametrize(
    ("predictor", "told"),
    [
        (pd.Series(PAY), Tells.EXACTLY),
        (pd.Series((12 * PAY).round()), Tells.EXACTLY),
        (pd.Series(5.0 - PAY), Tells.EXACTLY),
        (pd.Series(np.log(PAY)), Tells.EXACTLY),
        (pd.Series(1 / PAY), Tells.EXACTLY),
        (pd.Series(PAY.round(-2)), Tells.EXACTLY),
        (pd.qcut(pd.Series(PAY), 4, labels=list("abcd")), Tells.RANGE),
        (pd.Series(np.digitize(PAY, [2000.0, 4000.0])), Tells.RANGE),
        (category(PAY > 3000), Tells.RANGE),
        (pd.Series(PAY * np.linspace(0.9, 1.1, 200)), Tells.LITTLE),
        (pd.Series(np.where(np.arange(200) == 7, PAY.min(), PAY)[RNG.permutation(200)]), Tells.LITTLE),
        (category(RNG.integers(0, 4, 200)), Tells.LITTLE),
        (category(np.arange(200)), Tells.LITTLE),
        (pd.Series(np.ones(200)), Tells.LITTLE),
    ],
)
def test_what_a_predictor_tells_of_a_number(predictor, told):
    assert tells(predictor, PAY, False) is told


@pytest.mark.parametrize(
    ("predictor", "told"),
    [
        (category(LEVEL + 10), Tells.EXACTLY),
        (pd.Series(7.0 - LEVEL), Tells.EXACTLY),
        (pd.Series(LEVEL + 0.9 * RNG.random(200)), Tells.EXACTLY),
        (
            category([f"{level}{half}" for level, half in zip(LEVEL, RNG.integers(0, 2, 200), strict=True)]),
            Tells.EXACTLY,
        ),
        (category(LEVEL > 3), Tells.RANGE),
        (pd.Series(np.where(LEVEL > 3, 1.0, 0.0)), Tells.RANGE),
        (category(RNG.integers(0, 2, 200)), Tells.LITTLE),
        (pd.Series(RNG.random(200)), Tells.LITTLE),
    ],
)
def test_what_a_predictor_tells_of_a_category(predictor, told):
    assert tells(predictor, LEVEL, True) is told


@pytest.mark.parametrize("of_pay", [lambda pay: pay, lambda pay: (12 * pay).round(), lambda pay: 5.0 - pay])
def test_a_multiple_is_one(of_pay):
    assert is_multiple(pd.Series(of_pay(PAY)), PAY)
    assert not is_multiple(pd.Series(np.log(PAY)), PAY)


def test_what_few_records_have_by_chance_is_not_told():
    """Four records that have an answer may well be the only ones of a region, or the oldest."""
    rare = np.zeros(100)
    rare[:4] = 1.0
    assert tells(category(rare), rare, True) is Tells.LITTLE
    assert tells(pd.Series(100.0 - np.arange(100)), rare, True) is Tells.LITTLE
    assert tells(category(rare), rare * 50.0, False) is Tells.LITTLE
    rare[4] = 1.0
    assert tells(category(rare), rare, True) is Tells.EXACTLY


def test_what_the_first_records_have_must_hold_for_all():
    n = 3 * FIRST
    pay, band = RNG.lognormal(8, 0.5, n), np.zeros(n)
    band[:] = pay > 3000
    assert tells(category(band), pay, False) is Tells.RANGE
    band[-10:] = 1 - band[-10:]
    assert tells(category(band), pay, False) is Tells.LITTLE


def test_noise_tells_nothing():
    """Of 60,000 pairs of independent columns one told something: at most three of these 2,000 may, and none does."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 300))
        for z in (category(rng.integers(0, n // 2, n)), pd.Series(rng.normal(size=n))):
            values = [(rng.normal(size=n), False), (rng.poisson(0.1, n) * 1.0, False)]
            values += [(1.0 * (rng.random(n) < share), True) for share in (0.05, 0.3)]
            values += [(rng.integers(0, n // 3, n) * 1.0, True)]
            found += sum(tells(z, x, categorical) is not Tells.LITTLE for x, categorical in values)
    assert found == 0
