"""What is fitted before it is asked for: the neighbours of the slider that was moved last."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.ui.compare import play


def page():
    import streamlit as st

    from synth_core.ui.compare import play
    from synth_core.ui.shared.refits import Shown
    from synth_core.ui.state import session
    from tests.summary_numbers import numbers
    from tests.support.summaries import of_numbers

    for place, value in st.session_state["moves"]:
        session.put(place, value)
    play.go_on(
        Shown([of_numbers(numbers(seconds=st.session_state["seconds"]))], current=st.session_state["whole"])
    )


class Manager:
    n_lanes = 2

    def __init__(self):
        self.asked = []

    def submit(self, owner, tasks):
        self.asked += tasks

    def drop(self, owner):
        """Nothing is kept here."""


@pytest.fixture
def asked(monkeypatch):
    manager = Manager()
    monkeypatch.setattr(play, "manager", lambda: manager)
    return manager.asked


def run(moves, whole=True, seconds=0.3):
    at = AppTest.from_function(page)
    at.session_state["moves"], at.session_state["whole"], at.session_state["seconds"] = moves, whole, seconds
    at.run(timeout=30)
    assert not at.exception
    return at


def test_two_steps_on_either_side(asked):
    run([("settings.epsilon", 4.0), ("settings.scale", 0.5)])
    assert all(task.background for task in asked)
    weighted = [task.given.settings for task in asked if task.mechanism == "weighted"]
    assert [each.scale for each in weighted] == [0.55, 0.45, 0.6, 0.4]
    assert {each.epsilon for each in weighted} == {4.0}


def test_none_beyond_the_slider_s_ends(asked):
    run([("settings.scale", 0.05)])
    assert [t.given.settings.scale for t in asked if t.mechanism == "weighted"] == [
        0.1,
        0.0,
        0.15,
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"moves": []},  # nothing was moved
        {"moves": [("settings.seed", 7)]},  # no slider
        {"moves": [("settings.scale", 0.5)], "whole": False},  # something is still being fitted
        {"moves": [("settings.scale", 0.5)], "seconds": 30.0},  # too slow to be made unasked
    ],
)
def test_otherwise_nothing(asked, how):
    run(**how)
    assert asked == []


def played():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.ui.compare import play
    from synth_core.ui.state import session

    session.take_over()
    session.use_example("401ksubs", None, 1)
    blocks = (Block("inc", "two_part", missing=()), Block("marr", "categorical", {"categories": ("0", "1")}))
    chosen = session.choices().with_settings(predictors=("age",)).with_mechanisms("censored")
    session.change(chosen.model_copy(update={"blocks": blocks}))
    st.session_state["play_place"] = "settings.epsilon"
    play.start()
    st.write(str(session.current().playing.values))
    play.stop()


def test_a_value_that_no_fit_can_have_is_not_played(asked):
    """A share of ε = 0.05 is less than a fit may be asked for: the play stood still at an error."""
    at = AppTest.from_function(played).run(timeout=30)
    assert not at.exception
    values = eval(at.markdown[-1].value)
    assert len(values) > 2 and min(values) > 0.05


def timed():
    import streamlit as st

    from synth_core.ui.compare import play
    from synth_core.ui.state import session

    session.take_over()
    session.use_example("401ksubs", None, 1)
    session.change(session.choices().with_mechanisms("unweighted", "weighted"))
    st.write(play._time("settings.scale", 9))
    play.play_menu(("unweighted", "weighted"))


def test_how_long_a_play_takes_is_said_before_it_starts(asked):
    at = AppTest.from_function(timed).run(timeout=30)
    assert not at.exception
    assert re.fullmatch("about .*(s|min)", at.markdown[0].value)
    assert any("with these mechanisms, less where fits are known" in each.value for each in at.caption)
