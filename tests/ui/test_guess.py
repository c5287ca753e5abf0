"""A guess is asked for where it is missed, on the scale of the model, and a typical value that was said is one."""

import pytest
from streamlit.testing.v1 import AppTest


def compare_page(anchor="pilot", edges=()):
    import streamlit as st

    from synth_core.ui.compare.controls import tuning
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        settings = {"model": "two_part", "transformation": "asinh", "asinh_scale": 5000.0}
        settings |= {"anchor": anchor, "bracket_edges": edges}
        chosen = session.choices().with_settings(**settings).with_mechanisms("anchored")
        session.change(chosen.model_copy(update={"guess_typical": None, "guess_spread": None}))
    tuning(session.choices().mechanisms)
    st.write(f"guess {session.choices().guess}")


def box(at, label):
    return next((each for each in at.number_input if each.label == label), None)


@pytest.mark.parametrize("anchor", ["pilot", "counts"])
def test_compare_asks_for_a_missing_guess_on_the_scale_of_the_model(anchor):
    at = AppTest.from_function(compare_page, kwargs={"anchor": anchor}).run(timeout=30)
    box(at, "A typical value").set_value(10000.0).run(timeout=30)
    spread = box(at, "A spread")
    assert "inverse hyperbolic sine of the value over 5000" in spread.help
    assert "logarithm" not in spread.help
    spread.set_value(12000.0).run(timeout=30)  # in the unit of the variable
    assert any("12,000 was not taken" in each.value for each in at.caption)
    assert at.markdown[-1].value == "guess None"
    box(at, "A spread").set_value(1.0).run(timeout=30)
    assert at.markdown[-1].value == "guess (10000.0, 1.0)"
    assert box(at, "A typical value") is None
    assert not at.exception


def test_counts_in_declared_brackets_need_no_guess():
    given = {"anchor": "counts", "edges": (0.0, 0.0, 10.0, 100.0)}
    at = AppTest.from_function(compare_page, kwargs=given).run(timeout=30)
    assert box(at, "A typical value") is None
    assert not at.exception


def data_page():
    import streamlit as st

    from synth_core.ui.data.advice import propose
    from synth_core.ui.shared.presets import use_preset
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        session.change(session.choices().model_copy(update={"guess_typical": None, "guess_spread": None}))
    propose()
    st.button("preset", on_click=use_preset, args=("anchored",))
    st.write(f"typical {session.choices().guess_typical}")


def test_a_typical_value_is_said_once():
    at = AppTest.from_function(data_page).run(timeout=30)
    at.selectbox[0].select_index(2)
    box(at, "A typical value, publicly known").set_value(10000.0)
    at.run(timeout=30)
    next(each for each in at.button if each.label == "Use this proposal").click().run(timeout=30)
    assert at.markdown[-1].value == "typical 10000.0"
    at.button[-1].click().run(timeout=30)
    assert at.markdown[-1].value == "typical 10000.0"
    assert not at.exception
