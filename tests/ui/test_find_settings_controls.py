"""The page Find settings proposes what can be run: units of several records leave few mechanisms."""

import pytest
from streamlit.testing.v1 import AppTest


def controls_page():
    import streamlit as st

    from synth_core.ui.find_settings.controls import choose_map
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        changed = session.choices().with_settings(unit_column="house", unit_size=2)
        ranged = changed.explore.model_copy(update={"mechanisms": ("range_averaged",)})
        changed = changed.model_copy(update={"explore": ranged})
        session.change(changed.with_mechanisms("histogram", "censored"))
    st.session_state["asked"] = choose_map()


def test_what_units_refuse_is_left_out_and_what_compare_has_is_offered():
    at = AppTest.from_function(controls_page).run(timeout=60)
    assert not at.exception and at.session_state["asked"] is None
    (reason,) = [each.value for each in at.caption if "unit of several" in each.value]
    assert reason.startswith("Left out\\: Range\\-averaged\\. A sensitive range is of one record's value")
    (offer,) = [each for each in at.button if each.label.startswith("Take those of Compare")]
    assert offer.label == "Take those of Compare: Histogram, Censored"
    offer.click().run(timeout=60)
    assert not at.exception and at.session_state["asked"].mechanisms == ["histogram", "censored"]


def estimates_page():
    from types import SimpleNamespace

    import streamlit as st

    from synth_core.ui.find_settings.controls import (
        choose_map,
        map_tasks,
        seconds_of_map,
        seconds_of_points,
    )
    from synth_core.ui.server.manager import manager
    from synth_core.ui.state import session
    from synth_core.ui.state.browser import BackgroundRun

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        explored = session.choices().explore.model_copy(update={"mechanisms": ("measured", "weighted")})
        session.change(session.choices().model_copy(update={"explore": explored}))
    asked = choose_map()
    tasks = map_tasks(asked)
    jobs = [SimpleNamespace(state="queued", task=task) for task in tasks]
    run = BackgroundRun(tasks, jobs, None, seconds_of_points(asked))
    st.session_state["left"] = run.seconds_left(manager().n_lanes)
    st.session_state["said"] = seconds_of_map(asked)


def test_what_is_left_of_a_map_begins_with_what_its_button_said():
    """Of noisy tables a point is many runs: "about 5 s left" stood for minutes under a button that said 7 minutes."""
    at = AppTest.from_function(estimates_page).run(timeout=60)
    assert not at.exception
    assert (
        at.session_state["left"] == pytest.approx(at.session_state["said"]) and at.session_state["said"] > 0
    )
