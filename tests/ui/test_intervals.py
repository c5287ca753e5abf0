"""Compare says how often intervals hold, once that was found under the settings in use, and never of others."""

from streamlit.testing.v1 import AppTest


def page():
    from pathlib import Path

    import streamlit as st

    from synth_core.jobs.job import Job
    from synth_core.jobs.study_task import StudyAnswer, StudyRequest
    from synth_core.jobs.tasks import StudyTask
    from synth_core.ui.compare.intervals import show_intervals
    from synth_core.ui.state import session
    from synth_core.ui.state.browser import BackgroundRun

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
    if st.session_state.get("studied"):
        asked = StudyRequest("coverage", 50, 1, ("unweighted",), (5.0,), (60,))
        task = StudyTask.of(session.current().table, session.settings(), asked)
        answer = StudyAnswer([], ["Unweighted: of 100 intervals, 94 hold."], [], [], {})
        job = Job(task, Path("nowhere"), "done", answer)
        job.finished.set()
        session.current().runs["intervals"] = BackgroundRun([task], [job], asked)
        st.session_state["studied"] = False
    if m := st.session_state.get("datasets"):
        session.change(session.choices().with_settings(datasets=m))
    show_intervals()


def test_what_was_found_of_intervals_stands_beside_the_results_it_is_of():
    at = AppTest.from_function(page).run(timeout=60)
    assert not at.exception and not at.info
    at.session_state["studied"] = True
    at.run(timeout=60)
    assert not at.exception and "94 hold" in at.info[0].value
    at.session_state["datasets"] = 5  # more data sets have other intervals
    at.run(timeout=60)
    assert not at.exception and not at.info
    at.session_state["datasets"] = 1
    at.run(timeout=60)
    assert "94 hold" in at.info[0].value
