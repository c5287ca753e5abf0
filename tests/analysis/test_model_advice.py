"""Advice on a model: what is recognised, what is proposed, that the proposal can be built, and what it gives away."""

import math

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.model_advice import KINDS, LOOKED, NOT_READ, advise_kind, advise_table, rounded
from synth_core.analysis.outcome_features import outcome_features
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.design import select
from synth_core.data.table import Table, open_table
from synth_core.errors import InputError
from synth_core.models import build_model
from tests.conftest import shared_file

N = 4000


def drawn(kind, rng):
    """Values of which one knows what should be proposed."""
    amounts = np.exp(rng.normal(10, 0.8, N))
    if kind == "zeros":
        return np.where(rng.random(N) < 0.3, 0.0, amounts)
    if kind == "losses":
        return np.where(rng.random(N) < 0.1, 0.0, amounts - 3000)
    if kind == "losses without zeros":
        return amounts - 3000
    if kind == "counts":
        return rng.negative_binomial(3, 0.05, N).astype(float)
    if kind == "even counts":
        return rng.poisson(60, N).astype(float)
    if kind == "share":
        return rng.beta(2, 5, N)
    return amounts


@pytest.mark.parametrize(
    ("kind", "model", "transformation"),
    [
        ("amounts", "lognormal", None),
        ("zeros", "two_part", "log"),
        ("losses", "two_part", "asinh"),
        ("losses without zeros", "mixture", "asinh"),
        ("counts", "negative_binomial", None),
        ("even counts", "poisson", None),
        ("share", "beta_regression", None),
    ],
)
def test_the_proposal_of_a_look_can_be_built(kind, model, transformation, rng):
    values = drawn(kind, rng)
    table = Table("t.csv", pd.DataFrame({"x": values, "z": rng.normal(size=N)}))
    found = advise_table(table, "x", regression=True)
    assert found.settings["model"] == model
    assert found.settings.get("transformation") == transformation
    assert found.leak == LOOKED
    settings = make_settings(outcome="x", predictors=("z",), **found.settings)
    build_model(model, select(table, "x", ("z",)).records, **settings.model_options)
    assert any("below zero" in reason for reason in found.reasons) == kind.startswith("losses")
    if "unit" in found.settings:
        typical = float(np.median(np.abs(values[values != 0])))
        assert found.settings["unit"] <= typical < 10 * found.settings["unit"]


def test_two_part_on_the_logarithm_refuses_losses_and_says_what_takes_them():
    """48 losses among 500 values with zeros: the zeros are not what is wrong."""
    values = np.r_[np.zeros(100), -np.arange(1.0, 49.0), np.arange(1.0, 353.0)]
    records = select(Table("t", pd.DataFrame({"x": values})), "x").records
    with pytest.raises(
        InputError, match=r"48 of 500 values are negative .*48 values are losses, which are no zeros"
    ):
        build_model("two_part", records)
    build_model("two_part", records, transformation="asinh", asinh_scale=50.0)
    zeros = select(Table("t", pd.DataFrame({"x": np.abs(values)})), "x").records
    with pytest.raises(
        InputError, match=r"100 of 500 values are zero or negative .*Take two-part regression"
    ):
        build_model("lognormal", zeros)


def test_ids_and_codes_get_no_model():
    frame = pd.DataFrame({"id": np.arange(100), "sex": [1, 2] * 50, "one": [5.0] * 100})
    table = Table("t", frame, confidential=False)
    for name, words in (("id", "seems to be an ID"), ("sex", "as codes have")):
        found = advise_table(table, name)
        assert found.settings == {}
        assert words in found.reasons[0]
        assert found.title == "No model is proposed"
        assert found.leak != LOOKED  # the table is public
    with pytest.raises(InputError, match="constant"):
        advise_table(table, "one")


def test_texts_are_proposed_as_categories_and_amounts_with_signs_are_not():
    """Of education it was said that it must be a number, without signs of a currency."""
    names = ["Grade 1 to grade 8", "GED", "Some college, no degree"]
    amounts = [f"{i} EUR" for i in range(300)]
    table = Table("t", pd.DataFrame({"edu": names * 100, "pay": amounts, "one": ["n"] * 300}))
    found = advise_table(table, "edu")
    assert found.settings == {"model": "categorical"} and found.leak == LOOKED
    assert "3 texts only, as categories have" in found.reasons[0]
    for name in ("pay", "one"):
        with pytest.raises(InputError, match="must be a number"):
            advise_table(table, name)


@pytest.mark.parametrize("kind", KINDS)
def test_public_knowledge_reads_no_table_and_is_in_the_units_of_a_typical_value(kind):
    for typical in (None, 40_000.0):
        found = advise_kind(kind, typical)
        settings = make_settings(outcome="x", **found.settings)
        assert found.leak == NOT_READ
        assert ("unit" in found.settings) == (typical is not None and kind not in ("counts", "share"))
        if "unit" in found.settings:
            assert settings.unit == 10_000
    with pytest.raises(InputError, match="another number than zero"):
        advise_kind(kind, 0.0)


def test_round_numbers_by_search_over_all_candidates():
    candidates = [d * 10.0**e for e in range(-6, 9) for d in (1, 2, 5)]
    for value in np.geomspace(1e-4, 1e6, 97):
        nearest = min(candidates, key=lambda c: max(c / value, value / c))
        assert math.isclose(rounded(value), nearest)


def test_traits_against_naive_counts(rng):
    """Of 2,000 incomes half are rounded to thousands, a tenth is zero, 60 sit on a top code."""
    values = np.round(np.exp(rng.normal(10, 0.7, 2000)))
    values[:1000] = np.round(values[:1000], -3)
    values[1000:1200] = 0
    values[1200:1260] = 400_000
    values[1260:1300] = -values[1260:1300]
    found = outcome_features(values)
    plain = values.tolist()
    assert found.zeros == sum(v == 0 for v in plain)
    assert found.losses == sum(v < 0 for v in plain)
    assert found.at_top == plain.count(max(plain))
    assert found.heap == 1000
    others = [v for v in plain if v != 0]
    assert math.isclose(found.heaped, sum(v % 1000 == 0 for v in others) / len(others))
    low, middle, high = (sorted(plain)[round(q * (len(plain) - 1))] for q in (0.1, 0.5, 0.9))
    assert math.isclose(found.skewness, (high + low - 2 * middle) / (high - low), abs_tol=0.01)
    assert not found.counts
    assert not found.inside_unit


def test_what_is_not_there_is_not_recognised(rng):
    """Smooth values have neither heaps nor a top code: 200 samples, none mistaken."""
    for _ in range(200):
        found = outcome_features(np.round(np.exp(rng.normal(9, 1, 500))))
        assert (found.heap, found.at_top, found.at_bottom, found.zeros, found.losses) == (0, 0, 0, 0, 0)
        assert found.log_skewness < 0.3  # its standard error at 500 records is about 0.07


@pytest.mark.parametrize(("code", "shared"), [(-9, 100), (-99_999, 100), (0.01, 100), (0, 0), (1, 0)])
def test_a_code_that_many_records_share_at_the_lower_end_is_said(rng, code, shared):
    """-9 of a fifth of the records were losses without a word; zeros and small counts are many of themselves."""
    values = np.round(np.exp(rng.normal(9, 1, 500)), 2 if code == 0.01 else 0)
    values[:100] = code
    said = " ".join(advise_table(Table("t", pd.DataFrame({"pay": values})), "pay").reasons)
    assert outcome_features(values).at_bottom == shared
    assert ("100 records share the smallest value" in said) == ("--missing" in said) == bool(shared)


@pytest.mark.parametrize(
    ("table", "outcome", "options"),
    [
        (
            "nist_acs_ma2018.csv",
            "PINCP",
            "--model two_part --transformation asinh --unit 10000 --asinh-scale 20000",
        ),
        (
            "ce_2014q1_rpms010.csv.gz",
            "FSALARYX",
            "--model two_part --transformation log --offset 0 --unit 10000",
        ),
    ],
)
def test_real_incomes(table, outcome, options, capsys):
    path = shared_file(table)
    assert main(["advise", str(path), "--outcome", outcome, "--missing", "N"]) == 0
    said = capsys.readouterr().out
    assert f"Options: {options}" in said
    assert "no ε counts" in said
    assert "--categorical" not in said
    loaded = open_table(str(path)).with_missing(["N"])
    settings = make_settings(outcome=outcome, **advise_table(loaded, outcome).settings)
    build_model("two_part", select(loaded, outcome).records, **settings.model_options)


def test_codes_among_the_predictors_are_named(capsys):
    path = str(shared_file("nist_acs_ma2018.csv"))
    known = ["--outcome", "PINCP", "--missing", "N", "--predictors", "AGEP", "SEX", "RAC1P"]
    assert main(["advise", path, *known]) == 0
    assert "as codes have: RAC1P. If they are codes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of both"),
        (["example:beta", "--kind", "share"], "one of both"),
        (["example:beta", "--typical", "3"], "--typical belongs to --kind"),
        (["--kind", "amounts", "--typical", "0"], "another number than zero"),
    ],
)
def test_what_cannot_be_asked_is_said(arguments, message, capsys):
    assert main(["advise", *arguments]) == 2
    assert message in capsys.readouterr().err
