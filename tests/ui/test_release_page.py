"""The page Release says what was charged after it was, and what the gate warns of before anything leaves."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.jobs.job import Job
from synth_core.release.ledger.balances import Balance
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import CHECKED, release
from synth_core.system.cache import Cache
from synth_core.ui.release import release_actions, release_job
from tests.release.conftest import state  # noqa: F401
from tests.release.test_closeness import planned, pupils
from tests.support.tasks import NamedTask

pytestmark = pytest.mark.usefixtures("state")


def page(plan, table, outcome):
    import streamlit as st

    from synth_core.ui.release import gate, release_actions, release_job
    from synth_core.ui.state import session

    session.take_over()
    desk = release_job.state()
    desk.plan, desk.table, desk.outcome = plan, table, outcome
    found = release_actions.outcome()  # as the page asks
    st.session_state["counts"] = found is not None
    gate.checks_step(plan, table, found)
    gate.release_step(plan, table, found)


@pytest.mark.slow
def test_what_was_charged_is_not_said_to_be_charged(tmp_path):
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)
    before = AppTest.from_function(page, args=(plan, table, None)).run(timeout=60)
    assert not before.exception
    assert "**ε = 100** is charged with them" in before.markdown[0].value and len(before.checkbox) == 1
    assert before.button[0].label == "Check" and before.button[0].disabled
    outcome = release(Request(plan, None, table, dry_run=True))
    assert outcome.state == CHECKED
    after = AppTest.from_function(page, args=(plan, table, outcome)).run(timeout=60)  # another browser
    assert not after.exception
    assert "**ε = 100** was charged" in after.markdown[0].value and not after.checkbox
    assert not next(button for button in after.button if button.label == "Check").disabled
    said = after.warning[0].value
    assert "Unlikely combinations" in said and "of those with age" in said.replace("\\", "")
    assert after.tabs[0].label == "First rows" and len(after.dataframe[0].value) == 20
    assert "internal" in after.tabs[2].label and "internal" in after.tabs[3].label
    asked = after.toggle(key="coverage_asked").set_value(True).run(timeout=60)
    assert not asked.exception and asked.number_input(key="coverage_databases").value == 50
    another = after.text_input(key="release_label first").set_value("second").run(timeout=60)
    assert "**ε = 100** is charged with them" in another.markdown[0].value and len(another.checkbox) == 1
    # What was checked is of the first label: of the second nothing is to be released, confirmed or not.
    another.checkbox[0].check().run(timeout=60)
    assert not another.session_state["counts"] and [b.label for b in another.button] == ["Check"]
    back = another.text_input(key="release_label second").set_value("first").run(timeout=60)
    assert back.session_state["counts"] and "Release" in [b.label for b in back.button]
    emptied = back.text_input(key="release_label first").set_value(" ").run(timeout=60)
    assert emptied.text_input(key="release_label first").value == "first" and emptied.session_state["counts"]


def test_a_table_without_a_planned_column_is_refused_by_the_checks_and_not_by_the_page(tmp_path):
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)
    other = replace(table, frame=table.frame.drop(columns="pay"))
    shown = AppTest.from_function(page, args=(plan, other, None)).run(timeout=60)
    assert not shown.exception and len(shown.checkbox) == 1
    shown.checkbox[0].check().run(timeout=60)
    shown.button[0].click().run(timeout=60)  # whose request is named after the columns: a KeyError once
    assert not shown.exception and "column 'pay' is missing" in shown.error[0].value.replace("\\", "")


def test_the_very_table_that_a_plan_calls_historical_is_said_before_anything_is_charged(tmp_path):
    """It was taken with a green tick."""
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)
    shown = AppTest.from_function(page, args=(plan, table, None)).run(timeout=60)
    assert not shown.exception and not shown.warning
    tuned = plan.tuned_on.model_copy(
        update={"fingerprint": table.fingerprint_of([column.name for column in plan.columns])}
    )
    same = plan.model_copy(update={"tuned_on": tuned})
    shown = AppTest.from_function(page, args=(same, table, None)).run(timeout=60)
    said = shown.warning[0].value.replace("\\", "")
    assert "is the table that the settings were tuned on" in said and not shown.exception
    promised, left = same.terms.guarantee.label, same.standing(table).guarantee.label
    assert f"promises {left}, not {promised}." in said and left == f"{promised} for given settings"


def test_what_the_limit_would_refuse_is_said_in_the_place_of_the_charge(tmp_path):
    """The page said that ε is charged with the checks, and they refused: of the tuning's own table there is no ρ."""
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)
    own = table.fingerprint_of([column.name for column in plan.columns])
    tuned = plan.tuned_on.model_copy(update={"fingerprint": own})
    for change, why in (
        ({"limit": 6.0}, "has no room for this release"),
        ({"tuned_on": tuned, "limit_delta": 1e-6}, "no theorem gives the ρ of this release"),
    ):
        shown = AppTest.from_function(page, args=(plan.model_copy(update=change), table, None)).run(
            timeout=60
        )
        assert not shown.exception
        assert any(why in each.value.replace("\\", "") for each in shown.warning)
        assert shown.checkbox[0].disabled and shown.button[0].disabled
        assert not any("is charged with them" in each.value for each in shown.markdown)


def table_page(plan, table):
    from synth_core.ui.release.table import table_step
    from synth_core.ui.state import session

    session.take_over()
    session.use_table(table, session.choices())
    table_step(plan, None)


def test_the_table_in_use_stands_first_where_the_plan_is_of_it_and_is_refused_before_it_is_taken(tmp_path):
    """An upload stood first, and that its charge would be refused was met one step later."""
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)
    own = table.fingerprint_of([column.name for column in plan.columns])
    confidential = plan.tuned_on.model_copy(update={"kind": "confidential", "fingerprint": own})
    shown = AppTest.from_function(
        table_page, args=(plan.model_copy(update={"tuned_on": confidential}), table)
    )
    shown.run(timeout=60)
    assert not shown.exception and not shown.expander
    assert shown.button[0].label.startswith("Take the table in use, ")
    for change, said in (
        ({}, False),
        (
            {
                "tuned_on": plan.tuned_on.model_copy(update={"kind": "historical", "fingerprint": own}),
                "limit_delta": 1e-6,
            },
            True,
        ),
    ):
        shown = AppTest.from_function(table_page, args=(plan.model_copy(update=change), table)).run(
            timeout=60
        )
        assert not shown.exception and shown.expander[0].label == "The table in use"
        [words] = [each.value for each in shown.caption if "costs the strict claim" in each.value]
        assert ("no theorem gives the ρ of this release" in words) == said


def plan_page(plan):
    from synth_core.ui.release.plan import show_plan
    from synth_core.ui.state import session

    session.take_over()
    show_plan(plan)


def test_a_plan_whose_limit_has_no_room_for_it_says_so(tmp_path):
    """The form proposes the rule's ε as the limit, whatever the chosen settings cost; the ledger then refused."""
    plan = planned(Cache(tmp_path), ("area",))
    dear = plan.model_copy(update={"limit": 6.0})
    shown = AppTest.from_function(plan_page, args=(dear,)).run(timeout=60)
    assert not shown.exception
    assert any(
        "One release costs ε = 100, and the limit of the series is 6" in w.value for w in shown.warning
    )
    assert plan.limit == 500 and plan.beyond_limit == ""


def form_page(unit):
    import streamlit as st

    from synth_core.ui.release.plan import plan_form
    from synth_core.ui.release.plan_actions import current_form
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        size = 2 if unit else 1
        session.change(session.choices().with_settings(unit_column=unit, unit_size=size))
    plan_form()
    st.session_state["form"] = current_form()


def test_the_form_asks_whether_units_stay_together_where_there_are_some():
    alone = AppTest.from_function(form_page, args=(None,)).run(timeout=60)
    assert not alone.exception and not any("together" in box.label for box in alone.checkbox)
    at = AppTest.from_function(form_page, args=("house",)).run(timeout=60)
    assert not at.exception and at.session_state["form"]["units"]
    (box,) = [each for each in at.checkbox if each.label == "Keep records of the same house together"]
    box.uncheck().run(timeout=60)
    assert not at.session_state["form"]["units"] and not at.exception


def taken_page(mechanism, kind, count, rule=None):
    import streamlit as st

    from synth_core.analysis.policy import Policy
    from synth_core.ui.release.plan import plan_form
    from synth_core.ui.release.plan_actions import tuned_on_key
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        chosen = session.choices().with_settings(epsilon=2.0, datasets=3).with_mechanisms(mechanism)
        session.change(chosen.model_copy(update={"policy": Policy(epsilon=rule)}))
        st.session_state[tuned_on_key()], st.session_state["plan_count"] = kind, count
    plan_form()


@pytest.mark.parametrize(
    ("mechanism", "kind", "count", "said"),
    [
        ("censored", "simulated", "sum", "One release takes **ε = 6** of the limit of 50"),
        (
            "measured",
            "simulated",
            "zcdp",
            "costs ρ = 0.5, which ε = 2 names. The limit counts that as **ε = 5.222 at δ = 1e-06** of 50",
        ),
        ("measured", "confidential", "sum", "it has no pure ε, so no limit could count one"),
        ("weighted", "simulated", "sum", ""),  # its ε is measured when the plan is made
    ],
)
def test_the_form_says_what_a_release_takes_of_the_limit(mechanism, kind, count, said):
    """The screen said 2 and the limit counted 5.2, which was met at the charge only; a refusal came after the plan."""
    at = AppTest.from_function(taken_page, args=(mechanism, kind, count)).run(timeout=60)
    assert not at.exception
    shown = [each.value for each in (*at.caption, *at.warning, *at.error) if "One release" in each.value]
    refused = [each.value for each in at.error]
    assert any(said in each for each in shown + refused) if said else not shown + refused


def test_a_proposed_limit_has_room_for_a_release_of_the_rules_epsilon_and_a_typed_one_stays():
    """Of a rule of ε ≤ 2 a limit of 2 was proposed at a δ, where one release takes 5.222: the form refused itself."""
    at = AppTest.from_function(taken_page, args=("measured", "simulated", "zcdp", 2.0)).run(timeout=60)
    assert not at.exception and at.session_state["plan_limit"] == 5.23
    whence = "A release of the rule's ε = 2 counts as 5.23: hence that limit"
    assert any(whence in each.value for each in at.caption)
    at.selectbox(key="plan_delta").set_value(1e-9).run(timeout=60)
    assert at.session_state["plan_limit"] > 6
    at.number_input(key="plan_limit").set_value(20.0).run(timeout=60)
    at.selectbox(key="plan_delta").set_value(1e-6).run(timeout=60)
    assert not at.exception and at.session_state["plan_limit"] == 20
    assert not any("hence that limit" in each.value for each in at.caption)
    at = AppTest.from_function(taken_page, args=("censored", "simulated", "sum", 2.0)).run(timeout=60)
    assert at.session_state["plan_limit"] == 2


def test_a_plan_that_no_limit_could_count_offers_the_noise_that_can():
    at = AppTest.from_function(taken_page, args=("measured", "confidential", "sum")).run(timeout=60)
    next(each for each in at.button if each.label == "Take Measured, pure ε").click().run(timeout=60)
    assert not at.exception and not at.error
    chosen = next(each for each in at.selectbox if each.label == "Mechanism")
    assert chosen.value == "measured_laplace" and len(chosen.options) == 2
    assert any("One release takes **ε = 2** of the limit of 50" in each.value for each in at.caption)


@pytest.mark.parametrize(("epsilon_spent", "refused"), [(8.0, True), (4.0, False)])
def test_the_form_counts_what_the_series_has_spent(monkeypatch, epsilon_spent, refused):
    """6 of a limit of 10 has no room where 8 are spent: the ledger refused it after the plan and the checks."""
    spent = Balance("beta", 10.0, epsilon_spent, 0.0, epsilon_spent, None, 1, "")
    monkeypatch.setattr(release_actions, "series_balance", lambda series: spent)
    at = AppTest.from_function(taken_page, args=("censored", "simulated", "sum")).run(timeout=60)
    assert not at.exception
    assert any("**ε = 6** of the limit of 10" in each.value for each in at.caption)
    assert any("and this release needs 6" in each.value for each in at.warning) == refused


def busy_page():
    import streamlit as st

    from synth_core.errors import InputError
    from synth_core.ui.release import plan_actions, release_job, table
    from synth_core.ui.state import session

    desk = session.current().desk
    desk.table, desk.task = session.current().table, object()
    for action in (
        plan_actions.forget_plan,
        lambda: table.take_table("current"),
        lambda: table._read(None),
    ):
        try:
            action()
        except InputError as error:
            st.text(error)
    desk.task = None
    table.take_table("current")
    plan_actions.forget_plan()
    st.text(release_job.state().table)


@pytest.mark.parametrize(
    ("now", "said"),
    [(None, "(limit 20, "), (20.0, "(limit 20, "), (5.0, "(limit 5 now, and when it was planned 20, ")],
)
def test_a_plan_names_the_limit_that_counts(monkeypatch, now, said):
    """The ledger's, which may have been changed since: an older plan said 20 beside 0 left of 5."""
    from types import SimpleNamespace

    from synth_core.ui.release.plan import _limit

    monkeypatch.setattr(release_actions, "series_balance", lambda series: SimpleNamespace(limit=now))
    plan = SimpleNamespace(limit=20.0, count=SimpleNamespace(words="ε"), series="survey")
    assert _limit(plan).startswith(f" {said}")


def test_what_a_job_is_of_is_not_changed_under_it():
    """Checks of one table stood under another that was taken while they ran."""
    at = AppTest.from_function(busy_page).run(timeout=30)
    assert not at.exception
    *refused, after = (each.value for each in at.text)
    assert len(refused) == 3 and set(refused) == {
        "A plan or a release is under way, perhaps in another tab. Wait for it, or cancel it."
    }
    assert after == "None"


def desk_page(first, second):
    import streamlit as st

    from synth_core.ui.release import release_job, table

    desk = release_job.state()
    for each in (first, second):
        table.put_table(each)
        st.text(f"{desk.label or None} {desk.outcome}")
        desk.label, desk.outcome = "May", "found"


@pytest.mark.parametrize("year,left", [(2, "May found"), (3, "None None")])
def test_a_table_that_is_taken_once_more_keeps_what_was_found_of_it(year, left):
    """A click that was sent twice took the findings of the checks away, which were paid for."""
    at = AppTest.from_function(desk_page, args=(pupils(2), pupils(year))).run(timeout=30)
    assert not at.exception
    assert [each.value for each in at.text] == ["None None", left]


def kept_page():
    import streamlit as st

    from synth_core.ui.release import plan, plan_actions
    from synth_core.ui.state import session

    session.take_over()
    if st.toggle("Release", True):
        plan.plan_form()
        st.session_state["form"] = plan_actions.current_form()


def test_what_was_typed_for_a_plan_is_there_after_the_page_was_left():
    at = AppTest.from_function(kept_page).run(timeout=60)
    series = next(each for each in at.text_input if each.label == "Series")
    series.set_value("mine")
    at.text_area(key="plan_reason").set_value("because").run(timeout=60)
    at.toggle[0].set_value(False).run(timeout=60)
    at.toggle[0].set_value(True).run(timeout=60)
    form = at.session_state["form"]
    assert not at.exception and (form["series"], form["reason"]) == ("mine", "because")


def test_a_target_that_was_typed_for_another_mechanism_is_not_shown_as_its_own():
    at = AppTest.from_function(form_page, args=(None,)).run(timeout=60)
    at.number_input(key="plan_target").set_value(3.0).run(timeout=60)
    strict = AppTest.from_function(taken_page, args=("censored", "simulated", "sum")).run(timeout=60)
    assert strict.number_input(key="its_own_target").value is None
    assert strict.number_input(key="its_own_target").disabled


def changed_page(plan, mechanism):
    import streamlit as st

    from synth_core.ui.release import plan_actions
    from synth_core.ui.state import session

    session.take_over()
    st.text(", ".join(plan_actions.chosen_since(plan)))  # of another variable
    now = plan.model_copy(update={"settings": session.settings(), "mechanism": mechanism, "blocks": ()})
    for name in ("outcomes", "parts", "point"):  # of the plan that it was copied from
        now.__dict__.pop(name, None)
    st.text(", ".join(plan_actions.chosen_since(now)))
    session.change(session.choices().with_settings(scale=0.5, epsilon=2.0))
    st.text(", ".join(plan_actions.chosen_since(now)))


@pytest.mark.parametrize(("mechanism", "read"), [("weighted", "scale c"), ("censored", "target ε")])
def test_a_plan_says_what_is_chosen_otherwise_by_now_of_what_it_reads(tmp_path, mechanism, read):
    plan = planned(Cache(tmp_path), ("area",))
    at = AppTest.from_function(changed_page, args=(plan, mechanism)).run(timeout=60)
    assert not at.exception
    assert [each.value for each in at.text] == ["", "", read]


def ending_page(job):
    import streamlit as st

    from synth_core.ui.release import release_job
    from synth_core.ui.state import session

    session.take_over()
    if not st.session_state.get("begun"):
        desk = release_job.state()
        desk.task, desk.what = job.task, "release"
        release_job._cancel(job)
        st.session_state["begun"] = True
    release_job.show_progress(lambda: None)
    st.text(f"{release_job.cancelled_words()[:10]} {release_job.state().busy}")


def test_a_cancelled_release_is_told_of_once_its_charge_no_longer_changes(tmp_path):
    """The page said that ε was charged, and went on to when the worker had given it back."""
    job = Job(NamedTask(), tmp_path / "job", state="cancelled")
    job.finished.set()
    job.directory.mkdir()  # its worker still has it
    at = AppTest.from_function(ending_page, args=(job,)).run(timeout=30)
    assert not at.exception and at.text[0].value.strip() == "True"
    assert "what was begun is undone" in at.info[0].value
    job.directory.rmdir()
    at.run(timeout=30)
    assert not at.exception and at.text[0].value == "Cancelled. False" and not at.info


def ended_page(task, job):
    import streamlit as st

    from synth_core.ui.release import release_job

    release_job._job = lambda: job
    release_job.state().task, release_job.state().what = task, "release"
    release_job.show_progress(lambda: None)
    st.text(release_job.cancelled_words()[:10])


def test_a_release_that_none_of_its_buttons_cancelled_is_told_of_too(tmp_path, monkeypatch):
    """The page went on as if nothing had been asked for."""
    monkeypatch.setattr(release_job, "_job", release_job._job)  # put back
    job = Job(NamedTask(), tmp_path / "job", state="cancelled")
    job.finished.set()
    at = AppTest.from_function(ended_page, args=(NamedTask(), job)).run(timeout=30)
    assert not at.exception and at.text[0].value == "Cancelled."


def test_while_a_release_runs_a_charge_is_said_in_all_places_of_the_page(tmp_path, monkeypatch):
    """The head of the page said that nothing was charged, and step 3 what was: it was charged between the two."""

    class DrawnAgain(Exception):
        pass

    def rerun():
        raise DrawnAgain

    shown = []
    monkeypatch.setattr(release_job.st, "rerun", rerun)
    monkeypatch.setattr(release_job, "progress_row", lambda *args: shown.append(args))
    job = Job(NamedTask(), tmp_path / "job")
    release_job._progress(job, lambda: 0.0, 0.0)
    assert len(shown) == 1
    with pytest.raises(DrawnAgain):
        release_job._progress(job, lambda: 2.0, 0.0)


@pytest.mark.slow
def test_the_next_release_of_a_series_is_proposed_under_a_label_that_is_free(tmp_path):
    """Every one was proposed as the first."""
    plan, table = planned(Cache(tmp_path), ("area",)), pupils(2)

    def proposed(table):
        shown = AppTest.from_function(page, args=(plan, table, None)).run(timeout=60)
        assert not shown.exception
        return shown.text_input[0].value

    assert proposed(table) == "first"
    release(Request(plan, None, table, dry_run=True, label="first"))
    assert proposed(table) == "first"  # which is paid for
    assert proposed(pupils(3)) == "second"
    release(Request(plan, None, pupils(3), dry_run=True, label="second"))
    assert (proposed(table), proposed(pupils(3)), proposed(pupils(4))) == ("first", "second", "third")
