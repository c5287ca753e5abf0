"""Scenarios under fast hands and in two tabs: what is typed or clicked is for the scenario that the page showed."""

from streamlit.testing.v1 import AppTest


def acting():
    import streamlit as st

    from synth_core.errors import InputError
    from synth_core.ui.compare import scenarios
    from synth_core.ui.state import session

    def kept():
        return [(each.name, each.note) for each in session.choices().scenarios]

    session.use_example("beta", 60, 1)
    for scale in (0.9, 0.5, 0.3):
        session.put("settings.scale", scale)
        scenarios.pin()
    first, second, third = (scenarios._number_of(name) for name in "ABC")
    st.session_state["box"] = "of B"  # typed, and Later clicked without leaving the box first
    scenarios.annotate(second, "box")
    scenarios.move(second, 1)
    st.text(kept())
    st.session_state["box"] = "Xx"
    scenarios.rename(first, "box")
    scenarios.delete(first)
    st.text(kept())
    st.session_state["box"] = "of A"
    try:
        scenarios.annotate(first, "box")
    except InputError as error:
        st.text(error)
    scenarios.move(third, -1)
    st.text(kept())


def test_each_click_is_for_the_scenario_that_it_was_made_at():
    at = AppTest.from_function(acting).run(timeout=30)
    assert not at.exception
    moved, deleted, gone, last = (each.value for each in at.text)
    assert moved == str([("A", ""), ("C", ""), ("B", "of B")])
    assert deleted == last == str([("C", ""), ("B", "of B")])
    assert gone == "That scenario is not there any more: another tab has changed the scenarios."


def alone():
    import streamlit as st

    from synth_core.analysis.policy import Policy
    from synth_core.analysis.records.blocks import Block
    from synth_core.ui.compare import scenarios
    from synth_core.ui.shared.subject import ONE_VARIABLE, VIEW_OF_RECORDS, shown_subject
    from synth_core.ui.state import session

    session.use_example("401ksubs", None, 1)
    blocks = (Block("inc", "lognormal"), Block("marr", "categorical", {"categories": ("0", "1")}))
    rule = Policy(measure="ecdf_max", percent=6.0).limiting("marr", 1.0)
    chosen = session.choices().with_settings(predictors=("age",))
    session.change(chosen.model_copy(update={"blocks": blocks, "policy": rule}))
    scenarios.pin()
    st.text(shown_subject().policy.text)
    st.session_state[VIEW_OF_RECORDS] = ONE_VARIABLE
    for name in ("inc", "marr"):
        session.describe(name)
        st.text(shown_subject().policy.text)
        words = scenarios._words(session.choices().shown_beside, None, scenarios.present())
        st.text(words.partition(". ")[0])


def test_a_variable_alone_is_held_against_its_own_limit_and_compared_with_no_whole_record():
    """marr was 3 points off and passed a rule that stated 1 for it; "the same settings" stood beside whole records."""
    at = AppTest.from_function(alone).run(timeout=30)
    assert not at.exception
    within = "distribution functions within"
    assert [each.value for each in at.text] == [
        f"{within} 6 points (marr 1 points)",
        f"{within} 6 points",
        f"**Rule**: {within} 6 points.",
        f"{within} 1 points",
        f"**Rule**: {within} 1 points.",
    ]
