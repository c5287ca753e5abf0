"""The sentence of a mechanism: what it says of privacy and accuracy, and when it says nothing."""

import re

import pytest

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX, WORST, error_sentence, furthest
from synth_core.analysis.result_sentences import above_target, explained, sentence
from synth_core.analysis.settings import make_settings
from synth_core.analysis.utility import Statistic
from synth_core.mechanisms.catalogue import guarantees
from synth_core.mechanisms.guarantees import SETTINGS_SEEN
from tests import summary_numbers
from tests.summary_numbers import statistic, variable

SETTINGS = make_settings(outcome="inc", model="lognormal")
STATISTICS = tuple(
    statistic(name, error)
    for name, error in (("mean", -0.054), ("q15", 0.0004), ("median", 0.031), ("q90", -0.099))
)


def numbers(mechanism="weighted", **other):
    return summary_numbers.numbers(
        **{"mechanism": mechanism, "epsilon": 8.47, "statistics": STATISTICS} | other
    )


def test_privacy_then_accuracy():
    text = sentence(numbers("anchored", epsilon=0.5, epsilon_replace=1.0), SETTINGS)
    assert text == (
        "At ε = 0.5 an intruder's suspicion of 1 % rises to at most 2.7 %. "
        "Furthest off is the 90th percentile: 9.9 % low."
    )


@pytest.mark.parametrize(
    ("measure", "text", "error"),
    [
        ("q90", "The 90th percentile is 9.9 % low.", 0.099),
        ("median", "The median is 3.1 % high.", 0.031),
        ("q15", "The 15th percentile is within 0.1 %.", 0.0004),
        ("q75", "", None),
        (WORST, "Furthest off is the 90th percentile: 9.9 % low.", 0.099),
        (
            ECDF_MAX,
            "The share of records at or below a value is off by at most 4.6 percentage points.",
            0.0451,
        ),
        (ECDF_AVG, "The distribution functions differ by 0.00067 on average, squared.", 0.00067),
    ],
)
def test_accuracy_by_each_measure(measure, text, error):
    assert error_sentence(numbers(), measure) == text
    found = furthest(numbers(), measure)
    assert (None if found is None else found.size) == pytest.approx(error)


def test_of_the_one_statistic_asked_for_it_is_not_said_that_it_is_furthest_off():
    """ "Furthest off is the 90th percentile of pay" stood where the mean of pay was further off, and not asked for."""
    pay = variable("pay", statistics=(statistic("mean", -0.2), statistic("q90", 0.06)))
    sex = variable("sex", statistics=())
    assert error_sentence(numbers(variables=(pay, sex)), "q90") == "The 90th percentile of pay is 6 % high."
    tax = variable("tax", statistics=(statistic("q90", -0.03),))
    text = error_sentence(numbers(variables=(pay, sex, tax)), "q90")
    assert text == "By the 90th percentile, pay is furthest off: 6 % high."


@pytest.mark.parametrize("distance", [0.0451, 0.09991, 0.1201, 0.30, 1 / 3])
def test_off_by_at_most_is_never_less_than_it_is(distance):
    text = error_sentence(numbers(ecdf_max=distance), ECDF_MAX)
    assert 0 <= float(re.search(r"at most ([\d.]+) percentage points.", text)[1]) - 100 * distance < 1


def test_the_mean_of_several_data_sets_is_no_bound_of_each():
    text = error_sentence(numbers(ecdf_max=0.12, n_datasets=3), ECDF_MAX)
    assert text.endswith("at most 12.0 percentage points on average over the 3 data sets.")


def test_an_error_of_nothing_is_said_in_words():
    text = error_sentence(
        numbers(statistics=(Statistic("median", 0.0, (0.0, 0.0), 1.0, (1.0, 1.0)),)), "median"
    )
    assert "the confidential one is 0" in text


@pytest.mark.parametrize(
    ("other", "moves"),
    [
        ({}, True),
        ({"oscillation_joint": 0.5}, False),  # a declared span
        ({"oscillation_joint": None}, True),  # not known
        ({"weights_from": "frozen", "oscillation_joint": None}, False),
        ({"weights_from": "frozen", "oscillation_joint": None, "tuned": {"scale": 0.7}}, True),
        ({"weights_from": "closed", "oscillation_joint": None}, False),
        (
            {"weights_from": "closed", "oscillation_joint": None, "tuned": {"scale": 0.7}},
            True,
        ),  # matched here
        ({"mechanism": "unweighted", "oscillation_joint": None}, False),
    ],
)
def test_moving_weights_are_named_where_they_move(other, moves):
    assert ("weights of others move" in sentence(numbers(**other), SETTINGS)) == moves


def test_what_has_not_converged_says_nothing_else():
    assert (
        sentence(numbers(problems=("R-hat is 1.2",)), SETTINGS) == "Not for use: the fit has not converged."
    )


def test_a_release_says_what_it_stands_for_and_an_own_program_what_it_rests_on():
    text = sentence(
        numbers("censored", epsilon_replace=2.0), SETTINGS, standing=guarantees()["settings_seen"]
    )
    assert "not promised: they were chosen by looking" in text
    own = SETTINGS.model_copy(update={"model": "own"})
    assert sentence(numbers("censored"), own).startswith("If its target is what the check")


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "said"),
    [
        ("weighted_e", 9.92, True),
        ("exponential", 5.2, True),
        ("weighted_e", 5.04, False),  # within the tolerance
        ("weighted_e", 3.0, False),
        ("weighted", 9.92, False),  # takes no target
        ("censored", 9.92, False),  # keeps it by construction
        ("unweighted", 20.0, False),
    ],
)
def test_a_measured_epsilon_above_its_target_is_said(mechanism, epsilon, said):
    words = above_target(numbers(mechanism, epsilon=epsilon), SETTINGS)
    assert ("above the target of 5" in words) == said == bool(words)


def test_a_matched_mechanism_has_no_target_of_its_own():
    matched = SETTINGS.model_copy(update={"match_epsilon": "weighted"})
    assert above_target(numbers("weighted_e", epsilon=9.92), matched) == ""
    assert above_target(numbers("weighted_e", epsilon=9.92, tuned={"epsilon": 7.0}), SETTINGS) == ""


JOINT = Measures(900.0, 0.12, 0.01, 2.0, 0.03, 0.08, ("sex", "pay"))
SEVERAL = (variable("sex", ecdf_max=0.02, statistics=()), variable("pay", ecdf_max=0.04))


def test_of_several_variables_privacy_is_of_the_record_and_accuracy_of_all_columns():
    text = sentence(numbers(variables=SEVERAL, joint=JOINT), SETTINGS)
    assert text.startswith(
        "In this table ε = 8.47 bounds what withholding all that is sensitive about one record"
    )
    assert (
        "By three columns at a time, on average, it is as close to the table as a random sample of 12.0 % of its"
        in text
        and "how sex goes with pay: off by at most 0.08" in text
    )
    strict = sentence(
        numbers("anchored", variables=SEVERAL, joint=JOINT, epsilon=0.5, epsilon_replace=1.0), SETTINGS
    )
    assert strict.startswith("At ε = 0.5 an intruder's suspicion of 1 % rises to at most 2.7 %.")
    ruled = sentence(numbers(variables=SEVERAL, joint=JOINT), SETTINGS, ECDF_MAX)
    assert "The distribution of pay is furthest off, by at most 4.0 percentage points." in ruled


def test_of_several_variables_a_mean_that_is_off_by_more_than_all_of_it_is_said():
    """A few values far beyond all others move no distribution function."""
    near = variable("sex", ecdf_max=0.02, statistics=(statistic("mean", -0.9),))
    far = variable("pay", ecdf_max=0.04, statistics=(statistic("mean", 788.56), statistic("q90", 0.02)))
    said = "The mean of pay is 78,856 % high."
    assert said in sentence(numbers(variables=(near, far), joint=JOINT), SETTINGS)
    assert said in sentence(numbers(variables=(near, far), joint=JOINT), SETTINGS, ECDF_MAX)
    assert said not in sentence(numbers(variables=(near, far), joint=JOINT), SETTINGS, "mean")
    assert "mean" not in sentence(numbers(variables=(near, *SEVERAL), joint=JOINT), SETTINGS)


def test_what_epsilon_covers_of_several_variables_is_explained():
    strict = explained(numbers("anchored", variables=SEVERAL, joint=JOINT, epsilon_replace=17.0), SETTINGS)[1]
    assert strict[1].startswith("ε covers everything sensitive about one record")
    lines = explained(numbers(variables=SEVERAL, joint=JOINT), SETTINGS)[1]
    assert not any(line.startswith("ε covers") for line in lines)
    assert "What replacing it costs is not measured." in " ".join(lines)
    assert all("is its share, not the protection" in each[-1] for each in (strict, lines))


def test_whole_records_whose_settings_were_seen_promise_no_more_than_one_variable_does():
    """A release of the table that it was tuned on: the lead of the internal report says so."""
    joint = Measures(900.0, 0.1, 0.1, 2.0, 0.1, 0.1, ("sex", "pay"))
    promised = {"mechanism": "anchored", "epsilon": 0.5, "epsilon_replace": 1.0}
    both = summary_numbers.numbers([variable("sex"), variable("pay")], joint=joint, **promised)
    seen = both.guarantee.weakened_to(SETTINGS_SEEN)
    for made in (both, numbers(**promised)):
        text = sentence(made, SETTINGS, standing=seen)
        assert "not promised: they were chosen by looking" in text
        assert "not promised" not in sentence(made, SETTINGS)


def test_a_fit_that_reads_no_record_says_so():
    """An ε of 0, and a distribution that is off by everything, stood there without a word."""
    alone = sentence(numbers(variables=(variable(n_zero_weight=200, n_records=200),)), SETTINGS)
    assert alone.startswith("All weights are 0: nothing was fitted, and values are drawn from the prior.")
    assert "All weights" not in sentence(
        numbers(variables=(variable(n_zero_weight=199, n_records=200),)), SETTINGS
    )
