"""A link names an example by a word; anything else in its place is refused in words."""

import pytest

from synth_core.errors import InputError
from synth_core.ui.compare.share import example_named, example_word
from synth_core.ui.state.browser import ExampleTable

EXAMPLES = [ExampleTable("401ksubs"), ExampleTable("401ksubs", half=2), ExampleTable("beta", 500, 3)]


@pytest.mark.parametrize("example", EXAMPLES, ids=example_word)
def test_there_and_back(example):
    assert example_named(example_word(example)) == example


def test_no_example_is_none():
    assert example_named(None) is None


@pytest.mark.parametrize(
    "word",
    [
        "nothing",
        "beta-half1",
        "401ksubs-n50-seed1",
        "beta-n2-seed1",
        "beta-n9999999-seed1",
        "beta-n500",
        "401ksubs-half3",
        "../etc/passwd",
        "beta-n500-seed1\n",
        "beta-n٥٠٠-seed1",
        "beta-n500-seed9999999999",
    ],
)
def test_a_word_that_no_link_of_ours_has_is_refused(word):
    with pytest.raises(InputError):
        example_named(word)
