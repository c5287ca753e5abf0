"""Differences of two choices, in words."""

from dataclasses import replace

from synth_core.analysis.differences import changed_blocks, changed_settings, difference
from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import Settings, make_settings
from tests import summary_numbers

OLD = make_settings(outcome="pay", model="lognormal", scale=0.9)


OTHER = {"range": (0.1, 2.0), "tail": (5.0, 0.1, 2.0), "brackets": ((0.0, 1.0),)}


def numbers(epsilon, error, gap=0.04, **other):
    return summary_numbers.numbers(
        epsilon=epsilon, ecdf_max=gap, statistics=(summary_numbers.statistic("q90", error),), **other
    )


def test_settings_by_the_names_that_the_sliders_have():
    new = OLD.model_copy(
        update={"scale": 0.5, "epsilon": 1.0, "range": (0.5, 2.0), "risk_reference": "old.csv"}
    )
    assert changed_settings(OLD, new) == [
        "scale c 0.9 → 0.5",
        "target ε 5 → 1",
        "sensitive range 0.4 to 1.8 × value → 0.5 to 2 × value",
    ]
    assert changed_settings(OLD, OLD) == []


def test_every_setting_that_differs_is_named():
    for name in Settings.model_fields:
        if name != "risk_reference":  # a table's name, which no scenario holds
            assert len(changed_settings(OLD, OLD.model_copy(update={name: OTHER.get(name, "weighted")}))) == 1


def test_what_became_of_a_mechanism():
    words = difference(numbers(6.8, -0.02), numbers(1.0, -0.05), "q90")
    assert words == "ε 6.8 → 1; 90th percentile 2 % low → 5 % low"
    assert difference(numbers(6.8, -0.02), numbers(6.8, -0.02)) == ""
    assert "off by 4.0 points → off by 9.0 points" in difference(
        numbers(1.0, 0.02), numbers(1.0, 0.02, gap=0.09)
    )
    assert difference(numbers(1.0, 0.02, n_datasets=3), numbers(1.0, 0.02)) == "ε 3 → 1"


def test_what_has_not_converged_is_not_compared():
    bad = numbers(1.0, 0.1, problems=("R-hat is 1.2",))
    assert difference(numbers(6.8, 0.1), bad) == "not to be compared: has not converged after"


def test_lists_of_sensitive_variables():
    sex, pay, age = (Block(name, "lognormal") for name in ("sex", "pay", "age"))
    assert (
        changed_blocks([], [])
        == changed_blocks([sex, pay], [])
        == changed_blocks([sex, pay], [sex, pay])
        == []
    )
    assert changed_blocks([sex, pay], [pay, sex]) == ["order pay, sex"]
    assert changed_blocks([sex, pay], [sex, pay, age])[0] == "with age"
    other = replace(pay, model="gamma", missing=())
    assert changed_blocks([sex, pay], [sex, other]) == [
        "model of pay lognormal → gamma",
        "pay may be missing",
    ]
    assert changed_blocks([sex, pay], [sex, replace(pay, options={"unit": 10.0})]) == ["declared of pay"]


def test_of_several_variables_the_one_that_is_furthest_off_and_the_associations():
    def several(pay, age, association):
        joint = Measures(900.0, 0.1, 0.01, 2.0, association, 0.1, ("pay", "age"))
        each = (summary_numbers.variable(name, ecdf_max=gap) for name, gap in (("pay", pay), ("age", age)))
        return summary_numbers.numbers(each, joint=joint)

    words = difference(several(0.04, 0.01, 0.03), several(0.02, 0.03, 0.05))
    assert words == (
        "distribution functions off by 4.0 points (pay) → off by 3.0 points (age); "
        "associations off by 0.030 on average → off by 0.050 on average"
    )
