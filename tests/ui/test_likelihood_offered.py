"""A likelihood that is registered is offered on Compare and by the command line, with no other change."""

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.cli import main
from synth_core.mechanisms.likelihoods import LIKELIHOODS
from tests.support.toy_likelihood import likelihood_of_the_page


def compare_page():
    import streamlit as st

    from synth_core.ui.compare import controls
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
    controls.choose_mechanisms()


def test_it_is_offered_on_compare_and_by_the_command_line(tmp_path, monkeypatch, capsys):
    levelled = likelihood_of_the_page()
    monkeypatch.setitem(LIKELIHOODS, "levelled", levelled["LEVELLED"])
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    page = AppTest.from_function(compare_page, default_timeout=60).run()
    assert not page.exception
    (box,) = (each for each in page.selectbox if each.label == "Likelihood")
    assert levelled["LEVELLED"].label in box.options
    page = box.set_value("levelled").run()
    page = next(each for each in page.selectbox if each.label == "Weights").set_value("none").run()
    assert any("clamped around a level" in each.value for each in page.caption)
    page = next(each for each in page.button if each.label == "Add").click().run()
    assert any("levelled" in each for each in page.multiselect[0].value)
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "levelled" in capsys.readouterr().out
