"""What a browser still sends of a widget from before a change, or of a table that is in use no more."""

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest


def switching():
    import streamlit as st

    from synth_core.ui.compare import range_controls
    from synth_core.ui.state import session

    def tail():
        return session.choices().settings.tail is not None

    old = session.widget_key(range_controls.TAIL)
    range_controls._switch_tail(old)  # its state is gone: the page died
    st.session_state[old] = True
    range_controls._switch_tail(old)
    st.text(tail())
    session.undo()
    st.session_state[old] = True
    range_controls._switch_tail(old)  # of before the undo
    st.text(tail())


def test_a_switch_of_the_tail_from_before_an_undo_chooses_nothing():
    at = AppTest.from_function(switching).run(timeout=30)
    assert not at.exception and [each.value for each in at.text] == ["True", "False"]


def storing():
    import streamlit as st

    from synth_core.ui.data import details
    from synth_core.ui.state import session

    st.session_state["toggle"] = True
    for _ in range(2):  # here, and in another tab that still showed it off
        details._take_categorical("marr", "toggle")
    st.text("marr" in session.choices().settings.categorical)


def test_a_category_that_two_tabs_switch_on_is_on():
    at = AppTest.from_function(storing).run(timeout=30)
    assert not at.exception and at.text[0].value == "True"


def reading():
    import streamlit as st

    from synth_core.ui.data import table

    reading = st.session_state["reading"]
    st.session_state["reading_file"] = (reading, None)
    st.session_state["example"] = "beta"
    table._use_example()
    st.text("reading_file" in st.session_state)


def test_an_example_is_not_replaced_by_a_file_that_was_still_being_read():
    closed = []
    at = AppTest.from_function(reading)
    at.session_state["reading"] = SimpleNamespace(close=lambda: closed.append(True))
    at.run(timeout=30)
    assert not at.exception and at.text[0].value == "False" and closed == [True]


def answered():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.experiments.explore.targets import TuningAnswer
    from synth_core.jobs.task import TaskInput
    from synth_core.ui.find_settings import view
    from synth_core.ui.find_settings.controls import MapRequest
    from synth_core.ui.shared.subject import Subject
    from synth_core.ui.state import session

    browser = session.current()
    now, later = (MapRequest([], "mean", session.settings(scale=c), [], Subject(())) for c in (1.0, 0.4))
    given = TaskInput.of(browser.table, now.settings, browser.reference)
    run = view.BackgroundRun([type("Task", (), {"given": given})()], [])
    st.text(view._since(run, now))
    st.text(view._since(run, later))
    for c in (0.4, 0.5):  # what was found is loaded, and another setting
        point = type("Point", (), {"knobs": {"scale": c}})()
        st.text(view._since(run, later, TuningAnswer("weighted", point)))
    undescribed = MapRequest([], "mean", now.settings, [], Subject((Block("inc", "categorical"),)))
    st.text(view._since(run, undescribed, TuningAnswer("weighted", point)))


def test_the_answer_of_a_search_says_that_the_choices_have_changed_since():
    at = AppTest.from_function(answered).run(timeout=30)
    assert not at.exception
    same, changed, loaded, other, undescribed = (each.value for each in at.text)
    assert same == "" and "The choices have changed since" in changed and other == undescribed == changed
    assert "Its settings are in use" in loaded
