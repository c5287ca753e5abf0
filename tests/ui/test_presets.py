"""The menu of presets closes once one is taken: it would stand over the results."""

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from synth_core.ui.shared.presets import MENU, presets_menu
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = st.session_state[MENU] = True  # as after a click on it
    presets_menu()
    st.write(f"open {st.session_state[MENU]}")


def test_the_menu_closes_with_the_choice():
    at = AppTest.from_function(page).run(timeout=30)
    assert at.markdown[-1].value == "open True"
    next(each for each in at.button if each.label == "Use this preset").click().run(timeout=30)
    assert at.markdown[-1].value == "open False"
    assert not at.exception
