"""A click takes what was chosen with it; what a table inherits, a demonstration gives back, an old address leads to."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.data.examples import load_example
from synth_core.ui.server.http import MOVED, routes
from synth_core.ui.state.browser import Browser
from synth_core.ui.state.first_choices import example_choices, first_choices, unusual, usual_again


def example_page():
    import streamlit as st

    from synth_core.ui.data.table import choose_example
    from synth_core.ui.state import session

    session.take_over()
    choose_example()
    st.write(f"in use: {session.current().table.name}, {session.current().table.rows}")


def test_a_click_that_comes_with_a_choice_takes_it():
    """The button kept the choice of the page it was drawn on once, and under load another table was used."""
    at = AppTest.from_function(example_page).run(timeout=30)
    at.button_group(key="example_part").set_value("First half")
    at.button[0].click()
    at.run(timeout=30)
    assert at.markdown[-1].value == "in use: example:401ksubs, half 1, 4637"
    at.selectbox(key="example").set_value("beta")
    at.button[0].click()
    at.run(timeout=30)
    assert at.markdown[-1].value == "in use: example:beta, 2000"
    at.number_input(key="example_rows_beta").set_value(150)
    at.button[0].click()
    at.run(timeout=30)
    assert at.markdown[-1].value == "in use: example:beta, 150"
    assert not at.exception


def file_page():
    import streamlit as st
    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from synth_core.ui.data import codebook, table
    from synth_core.ui.shared.uploads import held, upload_of
    from synth_core.ui.state import session

    session.take_over()
    for key in ("table_file", "codebook_file"):
        st.session_state[key] = DeletedFile("a name that the browser still has")
    table._take_file()
    codebook._take_codebook()
    st.write(upload_of("table_file", session.current().table), held(st.session_state["codebook_file"]))


def test_a_file_that_a_restarted_server_has_no_more_is_no_file():
    """The browser still names it: the page Data failed until it was loaded again."""
    at = AppTest.from_function(file_page).run(timeout=30)
    assert not at.exception
    assert "None" in at.markdown[-1].value


def columns_page():
    import streamlit as st

    from synth_core.data.examples import load_example
    from synth_core.ui.shared.widgets import key_of
    from synth_core.ui.state import session
    from synth_core.ui.state.first_choices import example_choices

    session.take_over()
    if st.button("Other table"):
        session.use_table(load_example("beta", 30), example_choices(session.choices(), "beta"))
    st.session_state["choice_settings.outcome"] = "age"  # what a browser still shows that lacks the new page
    st.button("Old widget", on_click=session.choose, args=("settings.outcome", "choice_settings.outcome"))
    st.write(key_of("settings.outcome"))
    st.write(session.choices().settings.outcome)


def test_the_widget_of_a_former_table_chooses_nothing():
    """A browser that has not got the new page yet sends the old one's widgets along with whatever it asks for."""
    at = AppTest.from_function(columns_page).run(timeout=30)
    at.button[1].click().run(timeout=30)
    assert [m.value for m in at.markdown] == ["choice_settings.outcome", "age"]
    at.button[0].click().run(timeout=30)
    assert [m.value for m in at.markdown] == ["choice_settings.outcome@1", "x"]
    at.button[1].click().run(timeout=30)
    assert [m.value for m in at.markdown] == ["choice_settings.outcome@1", "x"]
    assert not at.exception


def plan_page():
    import streamlit as st

    from synth_core.ui.release import plan_actions
    from synth_core.ui.state import session

    session.take_over()
    for name, value in (("reason", "r"), ("who", "w"), ("series", "s"), ("mechanism", "weighted")):
        st.session_state[f"plan_{name}"] = value
    st.button("Other", on_click=session.attempt, args=("plan", plan_actions.make_plan, ("another table", "")))
    shown = plan_actions.now_shown()
    st.button("Same", on_click=session.attempt, args=("plan", plan_actions.make_plan, shown))
    st.button(
        "Older", on_click=session.attempt, args=("plan", plan_actions.make_plan, (shown[0], "other settings"))
    )
    session.show_message("plan")


def test_a_plan_is_refused_on_another_table_than_the_form_named_and_without_saying_what_it_is():
    at = AppTest.from_function(plan_page).run(timeout=30)
    at.button[0].click().run(timeout=30)
    assert "has changed since the form was shown: it is example" in at.error[0].value.replace("\\", "")
    at.button[1].click().run(timeout=30)
    assert "Say what kind of table example" in at.error[0].value.replace("\\", "")
    at.button[2].click().run(timeout=30)
    assert "The settings have changed since the form was shown" in at.error[0].value.replace("\\", "")


def test_what_a_table_inherits():
    assert unusual(first_choices()) == {}
    one = Browser(load_example("beta", 30))
    one.change(one.choices.with_settings(scale=0.3, draws=2000).with_mechanisms("weighted", "censored"))
    one.use_table(load_example("poisson", 30), example_choices(one.choices, "poisson"))
    assert one.inherited == {"scale": 0.3, "draws": 2000, "mechanisms": ("weighted", "censored")}
    again = usual_again(one.choices)
    assert unusual(again) == {}
    assert (again.settings.outcome, again.settings.model) == ("x", "poisson")


def test_a_demonstration_gives_back_what_was_there():
    one = Browser(load_example("beta", 30))
    one.use_reference(load_example("beta", 30, 7))
    one.change(one.choices.with_settings(scale=0.3))
    before = (one.table, one.choices, one.reference, one.desk)
    for seed in (1, 2):  # a second one keeps what the first put aside
        one.begin_demo(load_example("beta", 40, seed), example_choices(one.choices, "beta"))
        assert one.demo
        assert one.reference is None
        assert one.inherited == {}
    assert one.desk is not before[3]
    one.end_demo()
    assert not one.demo
    assert all(a is b for a, b in zip((one.table, one.choices, one.reference, one.desk), before, strict=True))
    one.begin_demo(load_example("beta", 40), one.choices)
    one.use_table(load_example("poisson", 30), one.choices)
    assert one.before_demo is None  # another table was loaded: that one stays
    one.end_demo()
    assert one.table.name == "example:poisson"


@pytest.mark.parametrize("old", MOVED)
def test_an_old_address_is_sent_on_with_what_it_carried(old):
    from starlette.requests import Request

    (route,) = (route for route in routes() if route.path == f"/{old}")
    scope = {"type": "http", "method": "GET", "scheme": "http", "server": ("here", 80), "path": f"/{old}"}
    asked = Request(scope | {"query_string": b"settings=abc", "headers": []})
    with ThreadPoolExecutor(1) as thread:  # a browser test before this one leaves a loop in its own
        answer = thread.submit(lambda: asyncio.run(route.endpoint(asked))).result()
    path, query, fragment = MOVED[old]
    assert answer.status_code == 307
    where = answer.headers["location"].removeprefix("http://here")
    assert where == f"/{path}?" + (f"{query}&" if query else "") + "settings=abc" + (
        f"#{fragment}" if fragment else ""
    )


def example_box_page():
    import streamlit as st

    from synth_core.ui.data.table import choose_example
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
    choose_example()


def test_the_box_of_examples_names_the_one_in_use():
    at = AppTest.from_function(example_box_page).run(timeout=60)
    assert not at.exception and at.selectbox(key="example").value == "beta"
