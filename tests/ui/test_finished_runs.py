"""Finished runs of whole records: kept with their variables, and used again as they were."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.records.blocks import Block, common_of, settings_of_first
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.experiments.audit.subjects import of_run
from synth_core.release.run_store import RunStore
from synth_core.ui.shared import finished_runs
from synth_core.ui.state.browser import Browser
from tests.summary_numbers import numbers, variable
from tests.support.summaries import of_numbers

BLOCKS = (
    Block("inc", "lognormal", {"unit": 10.0}, share=0.7),
    Block("marr", "categorical", {"categories": ("0", "1")}, missing=()),
)
SETTINGS = make_settings(
    outcome="marr", model="categorical", categories=("0", "1"), predictors=("age",), scale=0.6
)


@pytest.fixture
def kept(tmp_path):
    """The run that a finished mechanism leaves."""
    path = Path(tmp_path) / "runs.sqlite"
    joint = Measures(900.0, 0.12, 0.01, 2.0, 0.03, 0.08, ("inc", "marr"))
    found = numbers(
        (variable("inc", ecdf_max=0.03), variable("marr", ecdf_max=0.01, statistics=())), joint=joint
    )
    jobs = [SimpleNamespace(key="k", answer=of_numbers(found))]
    settings = settings_of_first(BLOCKS, common_of(SETTINGS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finished_runs.session, "account", lambda: "me")
        patch.setattr(finished_runs.st, "session_state", {})
        patch.setattr(finished_runs, "RunStore", lambda owner: RunStore(owner, path))
        finished_runs.record_runs(Browser(load_example("401ksubs")), settings, jobs, BLOCKS)
    store = RunStore("me", path)
    try:
        [run] = store.runs()
    finally:
        store.close()
    return run


def test_a_run_keeps_its_variables_and_their_numbers(kept):
    assert (kept.blocks, kept.variables) == (BLOCKS, "inc, marr")
    assert kept.numbers["difference of inc"] == 0.03 and kept.numbers["epsilon"] == 6.8
    assert kept.settings["outcome"] == "inc" and kept.settings["unit"] == 10.0


def test_an_audit_is_of_all_its_variables(kept, cache):
    subject, asked = of_run(kept, load_example("401ksubs"), cache, None, AuditRequest(()))
    assert (subject.blocks, asked.mechanisms) == (BLOCKS, ("weighted",))
    assert subject.settings.scale == 0.6


def page():
    import streamlit as st

    from synth_core.ui.shared.finished_runs import _use
    from synth_core.ui.shared.subject import shown_subject
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("401ksubs", None, 1)
    st.button("Use", on_click=_use, args=(st.session_state["kept"],))
    st.write(f"{shown_subject().names}; {session.choices().settings.scale:g}")


def test_its_settings_are_used_again_with_all_variables(kept):
    at = AppTest.from_function(page)
    at.session_state["kept"] = kept
    at.run(timeout=30)
    assert at.markdown[0].value.startswith(";")
    at.button[0].click().run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "inc, marr; 0.6"
