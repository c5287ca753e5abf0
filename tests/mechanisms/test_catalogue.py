import math

import pytest

from synth_core.analysis.wording.belief_sentences import suspicion
from synth_core.analysis.wording.guarantee_sentences import explain
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import MECHANISMS, compose, find_mechanism, guarantees
from synth_core.mechanisms.guarantees import SETTINGS_SEEN, belief_after, safety_factor
from synth_core.mechanisms.schemes import SCHEMES

KEYS = [
    "unweighted", "weighted", "weighted_e", "censored", "censored_weighted", "anchored",
    "anchored_weighted", "exponential",
    "count_weighted", "weighted_final", "count_weighted_final", "range_averaged", "range_truncated",
    "histogram", "measured", "measured_laplace",
]  # fmt: skip


def test_the_twelve_of_the_papers_and_four_of_our_own():
    assert list(MECHANISMS) == KEYS


@pytest.mark.parametrize(
    ("key", "guarantee"),
    [
        ("unweighted", "no guarantee"),
        ("weighted", "asymptotic DP"),
        ("weighted_e", "asymptotic DP"),
        ("censored", "ε-DP"),
        ("censored_weighted", "ε-DP"),
        ("anchored", "ε-DP"),
        ("anchored_weighted", "ε-DP"),
        ("count/anchored", "ε-DP"),
        ("exponential", "asymptotic DP"),
        ("count_weighted", "asymptotic DP"),
        ("weighted_final", "asymptotic DP"),
        ("range_averaged", "range-averaged asymptotic DP"),
        ("range_truncated", "range-truncated asymptotic DP"),
        ("histogram", "ε-DP"),
        ("count/censored", "ε-DP"),
        ("none/averaged", "no guarantee"),
        ("likelihood+reweighting/truncated", "range-truncated asymptotic DP"),
    ],
)
def test_guarantees(key, guarantee):
    assert find_mechanism(key).guarantee("closed").label == guarantee


def test_composing_finds_the_papers_names():
    for mechanism in MECHANISMS.values():
        axes = mechanism.likelihood.key, mechanism.standard.key
        made = compose(mechanism.scheme, mechanism.adjustments, *axes)
        assert made is mechanism
    made = compose("count", ("reweighting", "truncation"), "censored")
    assert made.key == "count+truncation+reweighting/censored"
    assert find_mechanism(made.key) == made


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("magic", "no mechanism 'magic'"),
        ("count/perfect", "no privacy standard"),
        ("count+magic", "no adjustment"),
        ("none+reweighting", "nothing to raise"),
        ("likelihood/censored/averaged", "No guarantee is known"),
        ("scalar+truncation", "No guarantee is known"),
        ("likelihood/censored/plain", "twice"),
        ("likelihood/truncated/averaged", "twice"),
    ],
)
def test_what_is_unknown_is_refused_with_the_reason(key, message):
    with pytest.raises(InputError, match=message):
        find_mechanism(key)


def test_only_what_moves_a_mechanism_counts():
    assert find_mechanism("unweighted").tuning == frozenset()
    assert "radius" in find_mechanism("count_weighted").tuning
    assert "radius" not in find_mechanism("weighted").tuning
    assert "epsilon" not in find_mechanism("weighted").tuning
    assert {"epsilon", "scale"} <= find_mechanism("censored_weighted").tuning
    assert "range" in find_mechanism("range_truncated").tuning


def test_belief_is_bounded_by_the_odds():
    for prior in (0.001, 0.1, 0.5):
        for epsilon in (0.1, 1.0, 5.0):
            posterior = belief_after(prior, epsilon)
            odds = posterior / (1 - posterior)
            assert odds == pytest.approx(math.exp(epsilon) * prior / (1 - prior))
    assert belief_after(0.1, 1000.0) == 1.0


@pytest.mark.parametrize("key", sorted(guarantees()))
def test_explanations_name_neighbour_cost_and_numbers(key):
    promised = guarantees()[key]
    lines = explain(promised, 4.0, 7.0, 3, True, "current")
    text = " ".join(lines)
    assert ("cost what one costs" if promised.one_charge else "3 × 4 = 12") in text
    assert "replaced" in text
    assert ("e^ε" in text) == (promised.pure and not promised.no_odds)
    assert ("zCDP" in text) == (not promised.pure)
    assert key == "histogram" or "value withheld" in text
    if promised.secret_seed:
        assert "current table" in text
        frozen = " ".join(explain(guarantees()[key], 4.0, 7.0, 1, True, "last_year.csv"))
        assert "frozen on last_year.csv" in frozen


def test_beliefs_about_a_value_use_the_epsilon_of_replacing():
    text = " ".join(explain(guarantees()["censored"], 1.0, 2.0, 1, False, "current"))
    assert "50 % at most 89 % (can at most become)" in text  # e^2 / (1 + e^2)
    assert "secret random numbers" in text
    local = " ".join(explain(guarantees()["asymptotic"], 1.0, 2.0, 1, True, "current"))
    assert "a search found 2" in local and "on this table, as far as the search found" in local


def test_a_frozen_map_is_not_said_to_be_all_where_it_is_not():
    assert find_mechanism("range_averaged").reads_current({})
    assert not find_mechanism("range_averaged").reads_current({}, "closed")
    assert find_mechanism("weighted_final").reads_current({})
    assert find_mechanism("weighted").reads_current({"scale": 0.7})
    assert not find_mechanism("censored_weighted").reads_current({})
    text = " ".join(explain(guarantees()["averaged"], 1.0, 2.0, 1, True, "old.csv", True))
    assert "computed from the current table" in text


@pytest.mark.parametrize(("n", "factor"), [(999, 1.10), (1000, 1.10), (1001, 1.05)])
def test_the_factor_of_safety_is_the_more_careful_one_at_1000(n, factor):
    """Releases and studies once disagreed there."""
    assert safety_factor(n) == factor


CASES = [  # point, weights from, what was solved for on the table, promise; docs/methods/guarantees.md proves each
    ("unweighted", "current", {}, "none"),
    ("censored", "current", {}, "censored"),
    ("censored", "closed", {}, "censored"),
    ("censored", "frozen", {"epsilon": 3.0}, "data_derived"),
    ("censored_weighted", "current", {}, "weights_seen"),
    ("censored_weighted", "frozen", {}, "censored_weighted"),
    ("censored_weighted", "frozen", {"scale": 0.7}, "weights_seen"),
    ("censored_weighted", "closed", {}, "censored_weighted"),
    ("none+truncation/censored", "current", {}, "weights_seen"),
    ("none+truncation/censored", "frozen", {}, "censored_weighted"),
    ("count/censored", "current", {}, "weights_seen"),
    ("count/censored", "frozen", {}, "censored_weighted"),
    ("scalar/censored", "current", {}, "weights_seen"),
    ("likelihood+reweighting/censored", "frozen", {"k": 1.1, "refits": 3}, "weights_seen"),
    ("likelihood+reweighting/censored", "frozen", {}, "weights_seen"),
    ("likelihood+reweighting/censored", "closed", {"k": 1.1}, "censored_weighted"),
    # A plan's map of a mechanism that does not re-weight has no k.
    ("likelihood+reweighting/censored", "closed", {"k": 1.1, "refits": 3}, "weights_seen"),
    ("censored_weighted", "closed", {"scale": 0.7, "refits": 3}, "weights_seen"),
    ("weighted", "current", {}, "asymptotic"),
    ("weighted", "closed", {}, "asymptotic"),
    ("range_averaged", "closed", {}, "averaged"),
    ("range_truncated", "frozen", {}, "truncated"),
    ("histogram", "current", {}, "histogram"),
    ("histogram", "current", {"epsilon": 2.0}, "data_derived"),
]


@pytest.mark.parametrize(("key", "weights_from", "tuned", "promise"), CASES)
def test_the_badge_follows_from_where_the_weights_come_from(key, weights_from, tuned, promise):
    assert find_mechanism(key).guarantee(weights_from, tuned).key == promise


def test_no_weight_from_the_table_itself_is_called_strict():
    for scheme in SCHEMES:
        for adjustments in ((), ("truncation",), ("reweighting",), ("truncation", "reweighting")):
            try:
                made = compose(scheme, adjustments, "censored")
            except InputError:
                continue
            assert made.guarantee("current").strict == (not made.weighted)
            assert made.guarantee("closed").strict


@pytest.mark.parametrize("key", ["averaged", "truncated"])
def test_no_bound_on_odds_is_said_where_none_follows(key):
    text = " ".join(explain(guarantees()[key], 4.37, 8.74, 1, True, "current"))
    assert "odds" not in text and "A belief of" not in text
    assert "withheld, its row and its predictors kept" in text


def test_the_histogram_says_that_its_neighbour_is_another():
    text = " ".join(explain(guarantees()["histogram"], 1.0, None, 1, False, "current"))
    assert "value replaced by any other" in text and "twice as large" in text


def test_an_anchored_mechanism_is_not_said_to_use_no_weights():
    text = " ".join(
        explain(guarantees()["anchored"], 0.5, 1.0, 1, False, "current", anchor="It is anchored at X.")
    )
    assert "It is anchored at X." in text
    assert "one weight c" in text
    assert "no weights" not in text
    assert "1 % at most 2.7 %" in text  # of replacing, which costs twice


def test_a_lesser_promise_of_noise_with_a_rho_is_no_pure_epsilon_either():
    """ε matched to another mechanism, or settings that were seen: what was ρ does not become a bound on odds."""
    matched = find_mechanism("measured").guarantee("closed", {"epsilon": 1.0})
    seen = guarantees()["measured"].weakened_to(SETTINGS_SEEN)
    assert seen.label == "zCDP for given settings"
    assert guarantees()["anchored"].weakened_to(SETTINGS_SEEN).label == "ε-DP for given settings"
    for promise in (matched, seen):
        assert not promise.pure and not promise.strict and promise.no_odds
        text = suspicion(promise, 1.0, 2.0)
        assert "rises" not in text and "ρ = 0.125" in text and "not promised" in text
        assert "e^ε" not in " ".join(explain(promise, 1.0, 2.0, 1, False, "current"))
