"""Two things at once in one browser: a click that overtakes a typed number, and two tabs."""

import sys

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """AppTest leaves its script as `__main__`, which processes that are spawned later would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def page():
    import streamlit as st

    from synth_core.ui import session

    session.take_over()
    st.button("Undo", on_click=session.undo, disabled=session.undo_steps() == 0)
    epsilon, bound = "choice_epsilon", "choice_bound_lower"
    st.session_state.setdefault(epsilon, session.current().choices["epsilon"])
    st.number_input("Epsilon", 0.5, 20.0, key=epsilon, on_change=session.choose, args=("epsilon", epsilon))
    st.number_input("Lower", value=None, key=bound, on_change=session.choose_bound, args=("lower", bound))
    st.write(f"epsilon is {session.current().choices['epsilon']}")


def test_an_undo_with_a_number_that_was_just_typed():
    """Both callbacks run before the page does; the undo, which comes first, forgets the number's widget."""
    at = AppTest.from_function(page).run(timeout=30)
    at.number_input(key="choice_epsilon").set_value(7.0).run(timeout=30)
    assert at.markdown[0].value == "epsilon is 7.0"
    at.number_input(key="choice_epsilon").set_value(9.0)
    at.number_input(key="choice_bound_lower").set_value(1.0)
    at.button[0].click()
    at.run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "epsilon is 5.0"  # the undo is the later word


def test_a_run_that_a_newer_one_overtook_starts_anew(monkeypatch):
    from synth_core.ui import server

    class Page:
        def __init__(self, words):
            self.words = words

        def run(self):
            raise RuntimeError(self.words)

    again = []
    monkeypatch.setattr(server.st, "rerun", lambda: again.append(1))
    server.run(Page("dictionary changed size during iteration"))
    assert again == [1]
    with pytest.raises(RuntimeError, match="another"):
        server.run(Page("another fault"))
