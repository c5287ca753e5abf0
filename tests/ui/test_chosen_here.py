"""Compare says before Release what it costs to choose settings on the confidential table itself."""

import pytest
from streamlit.testing.v1 import AppTest


def page(confidential, mechanism):
    from dataclasses import replace

    from synth_core.data.examples import load_example
    from synth_core.mechanisms.catalogue import find_mechanism
    from synth_core.ui.shared.chosen_here import say_chosen_here
    from synth_core.ui.state import session

    session.take_over()
    session.use_table(replace(load_example("lognormal", 200), confidential=confidential), session.choices())
    say_chosen_here([find_mechanism(mechanism)])


@pytest.mark.parametrize(
    ("confidential", "mechanism", "said"),
    [
        (True, "anchored", True),
        (True, "measured", True),
        (True, "weighted", False),
        (True, "censored_weighted", False),  # its weights are the table's: it has no strict claim to lose
        (False, "anchored", False),
    ],
)
def test_a_strict_claim_that_a_release_would_lose_is_told_of(confidential, mechanism, said):
    at = AppTest.from_function(page, args=(confidential, mechanism)).run(timeout=30)
    assert not at.exception
    assert any("strict claim is lost" in each.value for each in at.caption) == said


def claims_page(confidential):
    from dataclasses import replace

    from synth_core.data.examples import load_example
    from synth_core.ui.robustness import claims
    from synth_core.ui.state import session

    session.take_over()
    chosen = session.choices().with_mechanisms("weighted", "anchored")
    session.use_table(replace(load_example("lognormal", 200), confidential=confidential), chosen)
    claims.show()


@pytest.mark.parametrize("confidential", [True, False])
def test_robustness_says_so_beside_a_claim_of_every_table(confidential):
    """It called a claim proved for every table that the page Release then took back."""
    at = AppTest.from_function(claims_page, args=(confidential,)).run(timeout=30)
    assert not at.exception and len(at.table) == 1
    assert any("strict claim is lost" in each.value for each in at.caption) == confidential
