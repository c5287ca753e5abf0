"""The sentence of a mechanism: what it says of privacy and accuracy, and when it says nothing."""

import pytest

from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX, WORST, error_of, error_sentence
from synth_core.analysis.result_sentences import above_target, sentence
from synth_core.analysis.settings import make_settings
from synth_core.mechanisms.catalogue import guarantees

SETTINGS = make_settings(outcome="inc", model="lognormal")
STATISTICS = [
    {"name": "mean", "relative_error": -0.054},
    {"name": "q15", "relative_error": 0.0004},
    {"name": "median", "relative_error": 0.031},
    {"name": "q90", "relative_error": -0.099},
]


def numbers(mechanism="weighted", **other):
    known = {
        "mechanism": mechanism,
        "problems": [],
        "epsilon": 8.47,
        "epsilon_replace": 1.86,
        "n_datasets": 1,
        "weights_from": "current",
        "tuned": {},
        "oscillation": 0.5,
        "oscillation_joint": 0.64,
        "ecdf_max": 0.0451,
        "ecdf_avg": 0.00067,
        "statistics": STATISTICS,
    }
    return known | other


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
            "The share of records at or below a value is off by at most 4.5 percentage points.",
            0.0451,
        ),
        (ECDF_AVG, "The distribution functions differ by 0.00067 on average, squared.", 0.00067),
    ],
)
def test_accuracy_by_each_measure(measure, text, error):
    assert error_sentence(numbers(), measure) == text
    assert error_of(numbers(), measure) == pytest.approx(error)


def test_an_error_of_nothing_is_said_in_words():
    text = error_sentence(numbers(statistics=[{"name": "median", "relative_error": float("inf")}]), "median")
    assert "the confidential one is 0" in text


@pytest.mark.parametrize(
    ("other", "moves"),
    [
        ({}, True),
        ({"oscillation_joint": 0.5}, False),  # a declared span
        ({"oscillation_joint": None}, True),  # not known
        ({"weights_from": "frozen", "oscillation_joint": None}, False),
        ({"weights_from": "frozen", "oscillation_joint": None, "tuned": {"scale": 0.7}}, True),
        ({"weights_from": "closed", "oscillation_joint": None, "tuned": {"scale": 0.7}}, False),
        ({"mechanism": "unweighted", "oscillation_joint": None}, False),
    ],
)
def test_moving_weights_are_named_where_they_move(other, moves):
    assert ("weights of others move" in sentence(numbers(**other), SETTINGS)) == moves


def test_what_has_not_converged_says_nothing_else():
    assert sentence(numbers(problems=["R-hat is 1.2"]), SETTINGS) == "Not for use: the fit has not converged."


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
