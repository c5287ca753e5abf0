"""The sentence about an intruder's suspicion, against Bayes' rule and against the claim of each guarantee."""

import math
import re

import numpy as np
import pytest

from synth_core.analysis.wording.belief_sentences import right_guesses, suspicion
from synth_core.analysis.wording.guarantee_sentences import explain
from synth_core.mechanisms.catalogue import guarantees

ODDS = sorted(key for key, each in guarantees().items() if each.pure and not each.no_odds)


def posterior(epsilon, prior=0.01):
    """Bayes' rule with a likelihood ratio of e^ε between this value and all others."""
    ratio = math.exp(epsilon)
    return prior * ratio / (1 - prior + prior * ratio)


def said(text):
    """The belief that the sentence names, as a share; it is the most only where it is proved."""
    found = re.search(r"rises to (?:at most )?([\d.]+) %", text)
    assert ("at most" in found[0]) != ("the largest found" in text)
    return float(found[1]) / 100


@pytest.mark.parametrize("key", ODDS)
@pytest.mark.parametrize(
    ("epsilon", "replaced", "datasets"),
    [
        (0.5, 1.0, 1),
        (0.05, 0.1, 1),
        (1.0, 2.0, 1),
        (0.7, 1.4, 3),
        (1.0, 1.0, 1),
        (23.5, 2.8, 1),
        (8.47, 1.86, 2),
    ],
)
def test_the_belief_is_the_closed_form_with_the_epsilon_of_replacing_rounded_up(
    key, epsilon, replaced, datasets
):
    exact = posterior(replaced * guarantees()[key].charged(datasets))
    shown = said(suspicion(guarantees()[key], epsilon, replaced, datasets))
    assert exact <= shown <= exact + (0.001 if exact < 0.1 else 0.01)


@pytest.mark.parametrize(
    ("key", "epsilon", "replaced", "text"),
    [
        ("censored", 0.5, 1.0, "At ε = 0.5 an intruder's suspicion of 1 % rises to at most 2.7 %."),
        ("anchored", 1.0, 2.0, "At ε = 1 an intruder's suspicion of 1 % rises to at most 7 %."),
        ("histogram", 1.0, 1.0, "At ε = 1 an intruder's suspicion of 1 % rises to at most 2.7 %."),
        ("censored", 5.0, 10.0, "At ε = 5 an intruder's suspicion of 1 % rises to nearly 100 %."),
    ],
)
def test_a_strict_promise_is_plain(key, epsilon, replaced, text):
    assert suspicion(guarantees()[key], epsilon, replaced) == text


@pytest.mark.parametrize("key", sorted(k for k, g in guarantees().items() if not g.strict))
def test_what_is_not_strict_is_never_said_without_its_limit(key):
    text = suspicion(guarantees()[key], 1.0, 2.0)
    assert "not promised" in text or "not protected" in text


@pytest.mark.parametrize("key", ["none", "asymptotic"])
def test_a_local_figure_names_the_table_and_what_it_leaves_out_and_no_second_epsilon(key):
    text = suspicion(guarantees()[key], 23.54, 2.8, weights="held")
    assert text.startswith("In this table")
    assert (
        "rises to 15 %, the largest found for a changed value" in text
    )  # the odds do not follow from withholding
    assert "at most" not in text  # a search finds no bound
    assert "ε" not in text  # the row's is of a value withheld, and another one was beside it
    assert "not counted" in text
    assert "not counted" not in suspicion(guarantees()[key], 23.54, 2.8)


@pytest.mark.parametrize("key", ["averaged", "truncated"])
def test_a_range_says_nothing_of_odds(key):
    text = suspicion(guarantees()[key], 4.37, 8.74)
    assert "ε = 4.37" in text and "sensitive range" in text
    assert "rises" not in text and "1 %" not in text


def test_without_a_figure_of_replacing_the_value_is_withheld_and_put_back():
    assert said(suspicion(guarantees()["censored"], 0.5, None)) == pytest.approx(0.027)


def test_several_data_sets_are_counted_and_named():
    text = suspicion(guarantees()["anchored"], 0.5, 1.0, 3)
    assert "ε = 0.5 for each of 3 data sets" in text
    assert said(text) == pytest.approx(0.17)  # e^3: 0.1687


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 50.0])
@pytest.mark.parametrize("n_counts", [1, 4])
def test_no_guess_is_right_more_often_than_is_said_of_zcdp(sigma, n_counts):
    """Against the best guess there is, by the total variation of discrete Gaussian noise on counts that change by 1.

    Of several counts the likelihood ratio depends on the sum of the noise; the noise of each has ρ = 1 / (2σ²).
    """
    reach = int(40 * sigma * math.sqrt(n_counts)) + 40
    x = np.arange(-reach, reach + 1)
    noise = np.exp(-(x.astype(float) ** 2) / (2 * sigma**2))
    noise /= noise.sum()
    if n_counts == 1:
        shifted = np.append(0.0, noise[:-1])
        total_variation = 0.5 * np.abs(noise - shifted).sum()
    else:  # all counts move together; continuous noise, for which the sum is sufficient: Φ is exact
        total_variation = math.erf(math.sqrt(n_counts) / (2 * sigma) / math.sqrt(2))
    right = right_guesses(n_counts / (2 * sigma**2))
    assert 0.5 + 0.5 * total_variation <= right + 1e-12 and right <= 1
    assert right - (0.5 + 0.5 * total_variation) < 0.13  # and it is not an empty promise


def test_zcdp_is_said_in_right_guesses_and_its_epsilon_and_delta_stand_beside():
    measured = guarantees()["measured"]
    assert suspicion(measured, 1.0, None) == (
        "At ε = 1 (ρ = 0.125; 2.42 at δ = 1e-06) who guesses whether one record's values were withheld is right in at "
        "most 63 % of all "
        "cases, where a coin is in 50 %."
    )
    lines = explain(measured, 1.0, None, 1, False, "current", False)
    assert "ε = 1 names ρ = 0.125 (zCDP), which is (ε, δ)-DP with ε = 2.42 at δ = 1e-06." in lines


def test_no_loss_is_said_to_be_less_than_it_is():
    """ε = 1.125 was 1.12 in the public report, and three of 30.4037 were 91.21."""
    assert "At ε = 1.13 " in suspicion(guarantees()["anchored"], 1.125, 2.25)
    said = " ".join(explain(guarantees()["asymptotic"], 30.4037, 35.00004, 3, True, "current"))
    assert "ε = 30.41 is for" in said and "a search found 35.01" in said and "3 × 30.41 = 91.22" in said
