"""Options are made from the settings' fields: each setting has one, and what is given reaches the settings."""

import argparse

import pytest

from synth_core.analysis.settings import Settings, make_settings
from synth_core.cli import _parser
from synth_core.cli.settings_arguments import add_settings, given_settings, option_name, settings_from
from synth_core.cli.study import LIKE_SETTINGS, NOT_LIKE
from synth_core.data.examples import EXAMPLES
from synth_core.errors import InputError

EXAMPLE = EXAMPLES["401ksubs"]
PLAN = "--mechanism weighted --tuned-on simulated --series s --reason r --decided-by w --out p.json"
REQUIRED = {"plan": PLAN.split(), "tune": ["--target", "epsilon=4"]}

# Every setting but the two that name a file: what is written, and what it means.
GIVEN = {
    "outcome": ("age", "age"),
    "predictors": ("inc marr", ("inc", "marr")),
    "categorical": ("marr", ("marr",)),
    "model": ("mixture", "mixture"),
    "bounds": ("-1 2000.5", (-1.0, 2000.5)),
    "unit": ("2.5", 2.5),
    "transformation": ("asinh", "asinh"),
    "offset": ("-0.001", -0.001),
    "asinh_scale": ("30", 30.0),
    "components": ("7", 7),
    "concentration": ("100", 100.0),
    "zero_part": ("", True),
    "categories": ("1 2 N", ("1", "2", "N")),
    "drawing": ("even", "even"),
    "bracket_edges": ("-1 0 0 5.5", (-1.0, 0.0, 0.0, 5.5)),
    "prior_scale": ("0.5", 0.5),
    "scale": ("0.7", 0.7),
    "shift": ("-0.1", -0.1),
    "epsilon": ("3", 3.0),
    "radius": ("0.3", 0.3),
    "risk_map": ("threshold", "threshold"),
    "risk_threshold": ("0.4", 0.4),
    "risk_span": ("0.5 9", (0.5, 9.0)),
    "risk_reference": ("last.csv", "last.csv"),
    "weight": ("PWGTP", "PWGTP"),
    "weight_cap": ("4", 4.0),
    "weight_basis": ("design", "design"),
    "unit_column": ("SERIALNO", "SERIALNO"),
    "range": ("0.5 1.5", (0.5, 1.5)),
    "tail": ("10 0.2 2.4", (10.0, 0.2, 2.4)),
    "printed_truncation": ("", True),
    "reweight_tolerance": ("0.05", 0.05),
    "match_epsilon": ("weighted", "weighted"),
    "anchor": ("release:last.csv", "release:last.csv"),
    "guess": ("30 0.5", (30.0, 0.5)),
    "guess_zeros": ("0.2", 0.2),
    "pilot_share": ("0.5", 0.5),
    "counts_share": ("0.4", 0.4),
    "anchor_weight": ("0.3", 0.3),
    "anchor_records": ("20", 20.0),
    "bins": ("sqrt", "sqrt"),
    "percentiles": ("5 95", (5.0, 95.0)),
    "datasets": ("3", 3),
    "chains": ("4", 4),
    "draws": ("200", 200),
    "warmup": ("300", 300),
    "seed": ("17", 17),
    "measured_posterior": ("exact", "exact"),
}


def parsed(command, *more):
    return _parser().parse_args([command, "example:401ksubs", *REQUIRED.get(command, ()), *more])


def read(*more, command="compare"):
    return settings_from(parsed(command, *more), "example:401ksubs")


def test_every_setting_is_tried():
    assert {
        *GIVEN,
        "program",
        "brackets",
        "anchor_values",
        "earlier",
        "rules",
        "count_together",
        "choose_more",
        "weight_total",
        "strata",
        "accuracy_of",
        "unit_size",
    } == set(Settings.model_fields)


def test_a_total_belongs_to_weights_and_a_size_to_units():
    assert read("--unit-column", "house", "--unit-size", "8").record_epsilon == pytest.approx(5.0 / 8)
    with pytest.raises(InputError, match="none is named"):
        read("--unit-size", "8")
    assert read("--weight", "w", "--weight-total", "7e6").weight_total == 7e6
    assert read("--weight", "w", "--accuracy-of", "population").accuracy_by == "w"
    assert read("--weight", "w", "--strata", "region").strata == "region"
    with pytest.raises(InputError, match="no column of them is named"):
        read("--weight-total", "7e6")


def test_a_rule_is_given_again_for_each_of_them():
    one, other = "AGE < 15 -> PAY missing", "AGE<15 -> MSP=6"
    args = parsed("compare", "--rule", one, "--rule", other)
    assert make_settings(**{"outcome": "x", "model": "beta"} | given_settings(args)).rules == (
        one,
        "AGE < 15 -> MSP = 6",
    )
    with pytest.raises(InputError, match="Setting rules: A rule is written"):
        make_settings(outcome="x", model="beta", rules=("AGE",))


def test_a_table_to_be_counted_is_given_again_for_each_of_them():
    found = read("--count-together", "age * inc", "--count-together", "inc", "--choose-more")
    assert (found.count_together, found.choose_more) == (("age * inc", "inc"), True)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_says_what_it_does(name):
    assert Settings.model_fields[name].description


@pytest.mark.parametrize("command", ["compare", "map", "tune", "plan"])
def test_what_is_not_given_is_the_settings_own(command):
    usual = make_settings(
        outcome=EXAMPLE.outcome,
        predictors=EXAMPLE.predictors,
        model=EXAMPLE.model,
        bounds=EXAMPLE.bounds,
        guess=EXAMPLE.guess,
    )
    assert read(command=command) == usual


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_reaches_the_settings(name):
    written, value = GIVEN[name]
    found = read(option_name(name), *written.split())
    # An example's predictors and its guess go with its outcome, the guess with its model too.
    expected = {"predictors": ()} if name == "outcome" else {}
    expected |= {"guess": None} if name in ("outcome", "model") else {}
    assert found == read().model_copy(update=expected | {name: value})


def test_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_OWN_PROGRAMS", "1")
    (tmp_path / "b.csv").write_text("lower,upper\n0,50\n50,100\n")
    (tmp_path / "p.stan").write_text("parameters { real a; }")
    found = read("--brackets", str(tmp_path / "b.csv"), "--program", str(tmp_path / "p.stan"))
    assert found.brackets == ((0.0, 50.0), (50.0, 100.0))
    assert (found.model, found.program) == ("own", "parameters { real a; }")
    with pytest.raises(InputError, match="not both"):
        read("--program", str(tmp_path / "p.stan"), "--model", "beta")
    with pytest.raises(InputError, match="no file"):
        read("--brackets", str(tmp_path / "c.csv"))


@pytest.mark.slow
def test_a_study_of_databases_like_a_table_takes_the_same_options():
    for name in set(GIVEN) - NOT_LIKE:
        written, value = GIVEN[name]
        args = _parser().parse_args(
            ["study", "like", "example:401ksubs", option_name(name), *written.split()]
        )
        found = settings_from(args, args.table, leave_out=("epsilon", "scale"))
        if name in ("epsilon", "scale"):
            assert getattr(args, name) == [value]
        else:
            assert getattr(found, name) == value
    assert set(LIKE_SETTINGS) | NOT_LIKE == set(Settings.model_fields)


def test_several_values_where_they_are_swept():
    parser = argparse.ArgumentParser()
    add_settings(parser, ("epsilon", "unit"), several=("epsilon",))
    args = parser.parse_args(["--epsilon", "1", "2", "--unit", "3"])
    assert (args.epsilon, args.unit) == ([1.0, 2.0], 3.0)


def test_an_option_of_several_values_that_is_given_twice_has_all_of_them():
    """The last one alone counted: a predictor was left out without a word."""
    assert read("--predictors", "age", "marr", "--predictors", "male").predictors == ("age", "marr", "male")
    dashed = read("--model", "categorical", "--categories=-a", "--categories=-b", "--categories", "c")
    assert dashed.categories == ("-a", "-b", "c")
    assert read("--percentiles", "5", "--percentiles", "95").percentiles == (5.0, 95.0)
    studied = parsed("study", "--mechanism", "weighted", "--mechanism", "censored", "anchored")
    assert studied.mechanism == ["weighted", "censored", "anchored"]
    assert parsed("compare", "--missing", "N", "--missing", "-9").missing == ["N", "-9"]
    assert parsed("compare").missing == []  # what was given before is no default


@pytest.mark.parametrize(
    ("option", "first", "second"),
    [("--seed", ("1",), ("2",)), ("--epsilon", ("1",), ("2",)), ("--bounds", ("0", "9"), ("1", "8"))],
)
def test_of_another_option_that_is_given_twice_the_last_counts_and_that_is_said(
    option, first, second, capsys
):
    """An ε or bounds that somebody had typed were ignored without a word."""
    assert read(option, *first, option, *second) == read(option, *second)
    assert capsys.readouterr().err == f"! {option} is given more than once: the last one counts\n"
    assert read(option, *first, option, *first) == read(option, *first)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("option", ["--categories", "--missing"])
def test_a_value_that_begins_with_a_dash_is_refused_with_how_to_write_it(option):
    with pytest.raises(InputError, match=r"begins with a dash needs an equals sign: --\w+=-a --"):
        parsed("compare", option, "-a", "-b")
    with pytest.raises(InputError, match=r"--help\)$"):
        parsed("compare", "--categoris", "a")
