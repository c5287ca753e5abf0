"""The page Find settings proposes what can be run: units of several records leave few mechanisms."""

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
