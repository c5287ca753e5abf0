"""Two things at once in one browser: a click that overtakes a typed number, and two tabs."""

import pytest
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from synth_core.ui.shared.widgets import number
    from synth_core.ui.state import session

    session.take_over()
    st.button("Undo", on_click=session.undo, disabled=not session.current().history)
    number("Epsilon", "settings.epsilon", (0.5, 20.0))
    number("Lower", "lower_bound")
    st.write(f"epsilon is {session.choices().settings.epsilon}")


def test_an_undo_with_a_number_that_was_just_typed():
    """Both callbacks run before the page does; the undo, which comes first, forgets the number's widget."""
    at = AppTest.from_function(page).run(timeout=30)
    at.number_input(key="choice_settings.epsilon").set_value(7.0).run(timeout=30)
    assert at.markdown[0].value == "epsilon is 7.0"
    at.number_input(key="choice_settings.epsilon").set_value(9.0)
    at.number_input(key="choice_lower_bound").set_value(1.0)
    at.button[0].click()
    at.run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "epsilon is 5.0"  # the undo is the later word


def test_a_run_that_a_newer_one_overtook_starts_anew(monkeypatch):
    from synth_core.ui import frame

    class Page:
        def __init__(self, words):
            self.words = words

        def run(self):
            raise RuntimeError(self.words)

    again = []
    monkeypatch.setattr(frame.st, "rerun", lambda: again.append(1))
    frame.run(Page("dictionary changed size during iteration"))
    assert again == [1]
    with pytest.raises(RuntimeError, match="another"):
        frame.run(Page("another fault"))


def ranges_page():
    import streamlit as st

    from synth_core.ui.ranges.controls import choose_range
    from synth_core.ui.state import session

    session.take_over()
    st.button("Undo", on_click=session.undo, disabled=not session.current().history)
    choose_range()
    s = session.choices().settings
    st.write(f"tail {s.tail}, printed {s.printed_truncation}, revision {session.current().revision}")


def test_the_sensitive_range_is_undone_and_told_to_other_tabs():
    """The page wrote past the history once, and other tabs kept the old range."""
    at = AppTest.from_function(ranges_page).run(timeout=30)
    tail, _ = at.toggle
    tail.set_value(True).run(timeout=30)
    assert at.markdown[0].value == "tail (5.0, 0.2, 2.4), printed False, revision 1"
    at.toggle[1].set_value(True).run(timeout=30)
    assert at.markdown[0].value == "tail (5.0, 0.2, 2.4), printed True, revision 2"
    at.button[0].click().run(timeout=30)
    at.button[0].click().run(timeout=30)
    assert at.markdown[0].value == "tail None, printed False, revision 4"
    assert [toggle.value for toggle in at.toggle] == [False, False]
    assert not at.exception
