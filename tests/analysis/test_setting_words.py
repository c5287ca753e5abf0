"""Every setting has a name and a value in words, and a reader is told those that act."""

import pytest

from synth_core.analysis.setting_words import acting_settings, setting_value
from synth_core.analysis.settings import Settings, make_settings, setting_name
from synth_core.mechanisms.catalogue import DECLARED_FOR_A_TABLE, MECHANISMS, TUNING, compose, find_mechanism
from synth_core.mechanisms.schemes import SCHEMES

USUAL = make_settings(outcome="pay", model="lognormal", bounds=(0, 9.5))


def acting(mechanism, **changes):
    return acting_settings(USUAL.model_copy(update=changes), find_mechanism(mechanism))


def test_no_two_settings_have_one_name():
    names = [setting_name(name) for name in Settings.model_fields]
    assert len({*names}) == len(names) and all(names) and not any("_" in name for name in names)


def test_values_in_words():
    settings = USUAL.model_copy(
        update={"brackets": ((0.0, 10.0), (10.0, 99.5)), "match_epsilon": "count/censored"}
    )
    said = {name: setting_value(settings, name) for name in Settings.model_fields}
    assert said["bounds"] == "0 to 9.5"
    assert said["range"] == "0.4 to 1.8 × value"
    assert said["brackets"] == "0 to 10, 10 to 99.5"
    assert said["match_epsilon"] == "CW, censored"
    assert said["percentiles"] == "15, 50, 90"
    assert said["predictors"] == said["tail"] == "none"
    tail = USUAL.model_copy(update={"tail": (10.0, 0.2, 2.4)})
    assert setting_value(tail, "tail") == "0.2 to 2.4 × value for the top 10 %"
    many = tuple((float(i), i + 1.0) for i in range(8))
    assert setting_value(USUAL.model_copy(update={"brackets": many}), "brackets") == "8 values"


def test_what_acts():
    assert acting("unweighted") == []
    assert acting("weighted", risk_map="threshold") == ["scale", "shift", "risk_map", "risk_threshold"]
    assert acting("count_weighted_final") == ["scale", "shift", "radius", "reweight_tolerance"]
    assert acting("censored") == ["epsilon"]
    assert acting("censored", match_epsilon="weighted") == ["epsilon", "reweight_tolerance", "match_epsilon"]
    assert acting("range_truncated", printed_truncation=True, tail=(10.0, 0.2, 2.4)) == [
        *("scale", "shift", "risk_map", "range", "tail", "printed_truncation")
    ]
    assert "range" not in acting("range_averaged", brackets=((0.0, 1.0),))
    assert acting("anchored", anchor_weight=0.3, guess=(5.0, 1.0)) == ["epsilon", "anchor_weight"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_setting_of_a_scheme_is_among_those_that_are_kept_and_told(scheme):
    assert SCHEMES[scheme].settings <= TUNING <= set(Settings.model_fields)
    assert SCHEMES[scheme].keywords - {"risk_threshold", "risk_span"} <= {
        *acting_settings(USUAL, compose(scheme))
    }


def test_the_sum_of_what_moves_the_mechanisms():
    assert frozenset().union(*(mechanism.tuning for mechanism in MECHANISMS.values())) <= TUNING
    assert DECLARED_FOR_A_TABLE < TUNING
