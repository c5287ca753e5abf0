"""What every test of the interface needs."""

import functools
import sys

import pytest
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(scope="session", autouse=True)
def components_looked_for_once():
    """Each AppTest reads what every installed package says of itself, a third of these tests' time."""
    with pytest.MonkeyPatch.context() as patch:
        found = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        yield


@pytest.fixture(autouse=True)
def few_mechanisms(monkeypatch):
    """A newcomer of a test starts with two mechanisms, which no test waits long for."""
    monkeypatch.setenv("SYNTH_MECHANISMS", "unweighted,weighted")


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """AppTest leaves its script as `__main__`, which processes that are spawned later would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def start_and_change(table):
    """In a page of a test: begin with `table` of what "book" holds, and make the changes of columns that wait."""
    import streamlit as st

    from synth_core.ui.data import columns
    from synth_core.ui.shared.declared import take_declared
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_file(table(*st.session_state["book"]))
    for what in st.session_state.pop("changes", []):
        session.attempt(columns.PLACE, columns._take, *what)
    take_declared()
