"""What was computed of other choices than those on screen says so: a coarse map, a study, an audit, a division."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from synth_core.analysis.records.blocks import Block
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.experiments.explore.division import Division
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.targets import TuningAnswer
from synth_core.jobs.audit_task import AuditAnswer
from synth_core.jobs.job import Job
from synth_core.jobs.study_task import StudyAnswer, StudyRequest
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import AuditTask, DivisionTask, TuneTask
from synth_core.ui.compare import division
from synth_core.ui.find_settings import controls, view
from synth_core.ui.robustness import audit, studies
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun
from tests.summary_numbers import map_point

WANTED = {"marr": 0.1}


def finished(tasks, answer, asked):
    jobs = [Job(task, Path("nowhere"), "done", answer) for task in tasks]
    for job in jobs:
        job.finished.set()
    return BackgroundRun(tasks, jobs, asked)


def coarse_map():
    tasks = controls.map_tasks(controls._coarse(controls.choose_map()))
    return finished(tasks, map_point(), controls.COARSE)


def a_map_of_records():
    whole_records()
    return coarse_map()


def whole_records():
    blocks = (Block("inc", "lognormal"), Block("marr", "categorical", {"categories": ("0", "1")}))
    chosen = session.choices().with_settings(predictors=("age", "male"))
    session.change(chosen.model_copy(update={"blocks": blocks}))


def a_search():
    """Of a goal that nothing reaches: another model may."""
    asked = controls.choose_map()
    given = TaskInput.of(session.current().table, asked.settings, None, asked.subject.blocks)
    target = Target("ecdf_max", 0.05, 0.9)
    task = TuneTask(given, "weighted", target=target)
    return finished([task], TuningAnswer("weighted", None, why="No setting reaches it."), target)


def study():
    asked = StudyRequest("like", 5, 1, ("weighted",), (5.0,), (60,))
    answer = StudyAnswer(["Databases", "R = 5"], ["today's ε = 8.47"], [], [], {})
    return finished([studies._task(session.settings(), asked)], answer, asked)


def an_audit():
    task = AuditTask(audit._given(), asked=AuditRequest(("weighted",), 1_000))
    return finished([task], AuditAnswer([], [], [], False, "", ""), None)


def a_division():
    whole_records()
    task = DivisionTask(division._given(), "measured", wanted=WANTED)
    return finished([task], Division("measured", (), 2.5, "zCDP", 7, ()), (division._searched(), WANTED))


BEGIN = {
    "map": coarse_map,
    "records": a_map_of_records,
    "search": a_search,
    "study": study,
    "audit": an_audit,
    "division": a_division,
}
SHOW = {
    "map": lambda run: view._status(run, controls.choose_map(), ("key",), "ecdf_max"),
    "records": lambda run: view._status(run, controls.choose_map(), ("key",), "ecdf_max"),
    "search": lambda run: view._answer(run, controls.choose_map()),
    "study": studies._say_age,
    "audit": lambda run: audit._say_age(run, None),
    "division": lambda run: division._result(run, st.session_state.get("wanted", WANTED)),
}


def page(kind):
    import streamlit as st

    from synth_core.ui.state import session
    from tests.ui.test_changed_since import BEGIN, SHOW

    session.take_over()
    if "run" not in st.session_state:
        session.use_example("401ksubs", None, 1)
        st.session_state["run"] = BEGIN[kind]()
        st.stop()
    for changes in st.session_state.pop("changes", []):
        session.change(session.choices().with_settings(**changes))
    SHOW[kind](st.session_state["run"])


def said(at):
    at.run(timeout=60)
    assert not at.exception
    return any("have changed since" in each.value for each in [*at.caption, *at.warning, *at.markdown])


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("map", "scale"),
        ("records", "scale"),
        ("search", None),
        ("study", None),
        ("audit", None),
        ("division", "epsilon"),
    ],
)
def test_numbers_of_other_choices_say_so(kind, own):
    """A coarse map without the predictor, a goal that nothing reached, "today's ε" of another c: without a word."""
    at = AppTest.from_function(page, args=(kind,)).run(timeout=60)
    assert not said(at)
    if own:  # what is swept or searched for may be another
        at.session_state["changes"] = [{own: 0.7}]
        assert not said(at)
    if kind == "map":  # nor are fewer points another map
        next(box for box in at.number_input if box.label == "steps").set_value(3)
        assert not said(at)
    before = at.session_state["run"].tasks[0].given.settings.predictors
    at.session_state["changes"] = [{"predictors": ("age",)}]
    assert said(at)
    at.session_state["changes"] = [{"predictors": before}]
    assert not said(at)
    if kind == "division":
        at.session_state["wanted"] = {"marr": 0.01}
        assert said(at)


def asked_page(kind):
    from synth_core.ui.robustness import audit, kinds, studies
    from synth_core.ui.state import session
    from tests.ui.test_changed_since import BEGIN

    session.take_over()
    session.use_example("401ksubs", None, 1)
    session.current().runs[kind] = BEGIN[kind]()
    if kind == "study":
        studies.choose(session.settings(), kinds.LIKE_MINE)
    else:
        audit._form(None)


def test_boxes_of_a_page_that_is_loaded_again_say_what_the_study_on_it_was_asked_for():
    """R was 20 above a study of 5."""
    at = AppTest.from_function(asked_page, args=("study",)).run(timeout=60)
    assert not at.exception
    assert [at.number_input(key=f"study_{name}").value for name in ("replicates", "seed", "epsilon")] == [
        5,
        1,
        5.0,
    ]
    assert at.text_input[0].value == "60"
    at = AppTest.from_function(asked_page, args=("audit",)).run(timeout=60)
    assert not at.exception and at.number_input(key="audit_runs").value == 1_000
    # All of Compare stood, with their time, above an audit of one.
    assert at.multiselect(key="audit_mechanisms").value == ["weighted"]
