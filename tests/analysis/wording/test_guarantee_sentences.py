"""What each guarantee promises, about one record and about one unit of several records."""

import re

import pytest

from synth_core.analysis.wording.guarantee_sentences import promise_words
from synth_core.mechanisms.catalogue import guarantees


@pytest.mark.parametrize("key", guarantees())
def test_a_promise_about_a_unit_says_nothing_that_is_true_of_single_records_alone(key):
    """Clamps and noise are those of the largest unit: "clamped to ±ε/2" was said of every unit."""
    said = " ".join(promise_words(guarantees()[key], "house"))
    assert not re.search(r"one record('s|,| replaced| withheld)|no record|[{}]", said)
    assert not re.search(r"±ε/2(?! \(divided by)|2/ε(?! \(times)", said)


@pytest.mark.parametrize("key", guarantees())
def test_a_promise_about_a_record_names_no_unit(key):
    said = " ".join(promise_words(guarantees()[key]))
    assert not re.search(r"\bunit|divided by|times|[{}]", said)


def test_the_same_guarantee_is_about_a_record_or_about_a_unit():
    assert promise_words(guarantees()["censored"])[0].startswith(
        "For an exact draw no table and no record exceeds ε: every term of the likelihood is clamped to ±ε/2. It holds"
    )
    assert promise_words(guarantees()["histogram"], "house")[0].startswith(
        "Laplace noise of scale 2/ε (times the most records of one 'house') on every count gives ε for all values of "
        "one 'house' replaced"
    )
