"""Whether accuracy is of the sample or of the population is chosen once on Compare, where survey weights are named."""

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from synth_core.data.examples import load_example
    from synth_core.ui.compare.controls import choose_whose
    from synth_core.ui.compare.rule import rule_popover
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_table(load_example("401ksubs"), session.choices().with_settings(weight="fsize"))
    if st.checkbox("without"):
        session.change(session.choices().with_settings(weight=None))
    choose_whose()
    rule_popover()
    st.write(session.settings().accuracy_by or "each record once")


def test_it_is_chosen_once_and_goes_with_the_weights():
    at = AppTest.from_function(page).run(timeout=60)
    assert not at.exception and at.markdown[-1].value == "each record once"
    [box] = [each for each in at.selectbox if each.label == "Accuracy is of"]
    assert box.options == ["the sample: each record once", "the population, by fsize"]
    box.set_value("population").run(timeout=60)
    assert at.markdown[-1].value == "fsize"
    assert any("of the population, by fsize" in each.value for each in at.caption)
    at.checkbox[0].check().run(timeout=60)
    assert not at.exception and at.markdown[-1].value == "each record once"
    assert "Accuracy is of" not in [each.label for each in at.selectbox]
