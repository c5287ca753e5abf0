"""Find settings asks what the rule of Compare asks, and says its answers whole."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.analysis.measures import ECDF_MAX, WORST
from synth_core.analysis.policy import Policy
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.ui.find_settings import goal
from synth_core.ui.find_settings.controls import COARSE
from synth_core.ui.find_settings.goal import asked_by_rule
from synth_core.ui.find_settings.view import ROOM, _whole, _whole_answers
from synth_core.ui.state.first_choices import first_choices

COMPARED = ("unweighted", "weighted", "anchored")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            {"percent": 5.0},
            {"question": "accuracy", "measure": "percentile", "percentile": 90, "percent": 5.0},
        ),
        ({"percent": 3.0, "measure": "median"}, {"measure": "percentile", "percentile": 50, "percent": 3.0}),
        ({"percent": 3.0, "measure": "mean"}, {"measure": "mean", "percent": 3.0}),
        ({"percent": 3.0, "measure": ECDF_MAX}, {"measure": "ecdf_max", "difference": 0.03}),
        ({"epsilon": 1.0}, {"question": "epsilon", "target": 1.0, "mechanisms": COMPARED}),
        ({"epsilon": 1.0, "percent": 5.0, "measure": WORST}, {"question": "epsilon", "target": 1.0}),
        ({"epsilon": 1.0, "guarantee": "strict"}, {"mechanisms": ("anchored",)}),
    ],
)
def test_the_goal_of_a_rule(rule, expected):
    choices = first_choices().model_copy(update={"policy": Policy(**rule), "mechanisms": COMPARED})
    asked = asked_by_rule(choices).model_dump()
    assert {name: asked[name] for name in expected} == expected
    if "epsilon" in rule:
        assert asked["sweeps"]["epsilon"] == (0.1, 1.0, 13)


def test_a_rule_that_cannot_be_sought_is_not_offered():
    for rule in (
        {},
        {"guarantee": "strict"},
        {"percent": 5.0, "measure": WORST},
        {"percent": 5.0, "measure": "q97.5"},
        {"percent": 5.0, "by_variable": (("inc", 2.0),)},
    ):
        assert asked_by_rule(first_choices().model_copy(update={"policy": Policy(**rule)})) is None


def goal_page():
    import streamlit as st

    from synth_core.analysis.policy import Policy
    from synth_core.ui.find_settings import controls, goal
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        rule = Policy(epsilon=1.0, percent=5.0, guarantee="strict")
        chosen = session.choices().with_mechanisms("unweighted", "censored")
        session.change(chosen.model_copy(update={"policy": rule}))
    goal.choose_goal(controls.choose_map())
    st.write(session.choices().explore.mechanisms)


def test_one_press_asks_for_the_rule():
    at = AppTest.from_function(goal_page).run(timeout=30)
    ask = next(each for each in at.button if each.label.startswith("Ask for the rule"))
    ask.click().run(timeout=30)
    assert not at.exception
    assert not [each for each in at.button if each.label.startswith("Ask for the rule")]
    numbers = {each.label: each.value for each in at.number_input}
    assert (numbers["Percentile"], numbers["Error ≤, in %"]) == (90, 5.0)
    assert at.multiselect[0].value == ["censored"]


def test_no_answer_is_cut():
    texts = [f"Mechanism {i}: " + "no setting reaches it. " * 5 for i in range(6)]
    shown = _whole_answers(texts)
    assert shown.startswith(texts[0]) and shown.endswith("4 more under All answers.")
    assert len(shown) < ROOM + 60
    assert _whole_answers(["x" * 900]) == "x" * 900


def test_a_number_stands_beside_its_unit():
    """A line of the panel ended in 5.3, and the next one began with % high."""
    shown = _whole("ε = 2, 5.3 % high, 3 points, 20 pointers").replace("\\", "")
    assert shown == "ε\u00a0=\u00a02, 5.3\u00a0% high, 3\u00a0points, 20 pointers"


def test_a_rule_s_epsilon_is_divided_by_the_data_sets_that_are_charged(monkeypatch):
    """What is charged once for five data sets may spend all of it on one; beside others all get the least."""
    choices = first_choices().with_settings(datasets=5)
    choices = choices.model_copy(
        update={"policy": Policy(epsilon=2.0), "mechanisms": ("censored", "anchored")}
    )
    assert asked_by_rule(choices).target == 0.4
    once = replace(find_mechanism("anchored").guarantee("closed"), one_charge=True)
    guarantee = Mechanism.guarantee
    monkeypatch.setattr(
        Mechanism,
        "guarantee",
        lambda self, *more: once if self.key == "anchored" else guarantee(self, *more),
    )
    assert asked_by_rule(choices).target == 0.4
    alone = asked_by_rule(choices.model_copy(update={"mechanisms": ("anchored",)}))
    assert (alone.target, alone.sweeps.epsilon[1]) == (2.0, 2.0)


def several_page():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.errors import InputError
    from synth_core.ui.find_settings import controls, goal
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("401ksubs", None, 1)
        blocks = (
            Block("inc", "lognormal"),
            Block("marr", "categorical", {"categories": ("0", "1")}),
        )
        chosen = session.choices().with_settings(predictors=("age",))
        explore = chosen.explore.model_copy(update={"mechanisms": ("weighted", "range_averaged", "censored")})
        session.change(chosen.model_copy(update={"blocks": blocks, "explore": explore}))
    try:
        asked = controls.choose_map()
        goal.choose_goal(asked)
        tasks = controls.map_tasks(asked)
        st.write(", ".join(sorted({f"{t.mechanism} {len(t.given.blocks)}" for t in tasks})))
        st.write(asked.settings.outcome)
    except InputError as error:
        st.error(str(error))


def test_searches_are_of_whole_records_and_leave_out_what_is_of_one_variable():
    at = AppTest.from_function(several_page).run(timeout=30)
    assert not at.exception and not at.error
    captions = [each.value for each in at.caption]
    assert captions[0] == "Of all variables; ε is divided\\: inc 50 %, marr 50 %\\."
    assert sum(each.startswith("Left out") and "sensitive range" in each for each in captions) == 1
    assert [each.value for each in at.markdown][-2:] == ["censored 2, weighted 2", "inc"]
    # Compare may show one of them: a search stays one of the record, whose ε is divided.
    at.session_state["view_of_records"] = "Whole range"
    at.run(timeout=30)
    assert [each.value for each in at.markdown][-2:] == ["censored 2, weighted 2", "inc"]
    assert at.checkbox[0].label == "Divide ε among the variables first"
    at.checkbox[0].check().run(timeout=30)
    assert at.checkbox[0].value


def loading_page():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.ui.find_settings import controls
    from synth_core.ui.shared.subject import ONE_VARIABLE, VIEW_OF_RECORDS, shown_subject
    from synth_core.ui.state import session
    from tests.summary_numbers import map_point

    session.take_over()
    session.use_example("401ksubs", None, 1)
    blocks = (Block("inc", "lognormal"), Block("marr", "categorical", {"categories": ("0", "1")}))
    session.change(session.choices().with_settings(predictors=("age",)).model_copy(update={"blocks": blocks}))
    st.session_state[VIEW_OF_RECORDS] = ONE_VARIABLE
    point = map_point("measured", knobs={"epsilon": 1.27})
    controls.load_point(point, {"inc": 0.75, "marr": 0.25})
    kept = session.choices()
    st.write(
        f"{shown_subject().names}; {shown_subject().share_words}; {kept.settings.epsilon}; {kept.mechanisms[-1]}"
    )


def test_an_answer_of_whole_records_opens_whole_records_with_its_shares():
    """An ε of the record opened one variable of it, which then had all of the ε."""
    at = AppTest.from_function(loading_page).run(timeout=30)
    assert not at.exception
    assert at.markdown[-1].value == "inc, marr; inc 75 %, marr 25 %; 1.27; measured"


@pytest.mark.parametrize(("asked_for", "running"), [(COARSE, True), (COARSE, False), (("key",), True)])
def test_a_search_does_not_wait_for_a_map_that_nobody_asked_for(monkeypatch, asked_for, running):
    """The page had begun a map of a few points by itself, and a search waited for a free process until the end."""
    stopped, started = [], []
    monkeypatch.setattr(goal.session, "current", lambda: None)
    monkeypatch.setattr(
        goal.background, "current", lambda kind: SimpleNamespace(asked=asked_for, running=running)
    )
    monkeypatch.setattr(goal.background, "stop", stopped.append)
    monkeypatch.setattr(goal.background, "start", lambda *of: started.append(of[0]))
    goal._start_tuning(SimpleNamespace(subject=SimpleNamespace(blocks=())), None, {})
    assert started == ["tuning"] and stopped == (["map"] if asked_for == COARSE and running else [])
