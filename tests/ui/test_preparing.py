"""The line on models that are compiled beside the app."""

from streamlit.testing.v1 import AppTest

from synth_core.models import family
from synth_core.ui.state.first_choices import opening_choices
from tests.conftest import ROOT


class Fake:
    running = True

    def progress(self):
        return 4, 6


def page():
    import streamlit as st

    from synth_core.ui.shared import preparing

    preparing.show(st.session_state["preparation"])


def test_the_line_is_there_until_all_are_ready():
    at = AppTest.from_function(page)
    at.session_state["preparation"] = fake = Fake()
    assert "4 of 6 ready" in at.run().caption[0].value
    fake.running = False
    assert not at.run().caption


def test_make_app_compiles_the_first_examples_models(monkeypatch):
    monkeypatch.delenv("SYNTH_MECHANISMS")
    programs = " ".join(family(block.model).program for block in opening_choices().whole[::-2])
    assert f"-m synth_core.engine.toolchain {programs}\n" in (ROOT / "Makefile").read_text()
