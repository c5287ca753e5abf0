"""What a newcomer sees: whole records, a strict mechanism at ε = 1 among them, and no empty page."""

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.ui.state.choices import USUAL_MECHANISMS
from synth_core.ui.state.first_choices import opening_choices, unusual


def test_the_first_example_opens_with_whole_records_and_a_strict_mechanism(monkeypatch):
    monkeypatch.delenv("SYNTH_MECHANISMS")
    first = opening_choices()
    assert (first.mechanisms, first.settings.epsilon) == (USUAL_MECHANISMS, 1.0)
    assert "measured" in first.mechanisms and unusual(first) == {}  # none is told as kept
    assert [block.name for block in first.whole] == ["e401k", "pira", "inc"]
    assert not {block.name for block in first.whole} & set(first.settings.predictors)
    assert first.settings.outcome == "inc" and first.guess is not None  # so that nothing is asked for first
    other = first.for_table({"outcome": "pay", "predictors": (), "model": "lognormal"})
    assert (other.mechanisms, other.settings.epsilon, other.whole) == (USUAL_MECHANISMS, 1.0, ())
    chosen = first.with_settings(epsilon=2.0).for_table({"outcome": "pay"})  # by whoever sits there
    assert (chosen.mechanisms, chosen.settings.epsilon) == (USUAL_MECHANISMS, 2.0)


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ("censored", ("censored",)),
        (" weighted , unweighted", ("weighted", "unweighted")),
        ("none", USUAL_MECHANISMS),
    ],
)
def test_a_server_may_name_the_first_mechanisms(monkeypatch, named, seen):
    monkeypatch.setenv("SYNTH_MECHANISMS", named)
    assert opening_choices().mechanisms == seen


def started():
    import streamlit as st

    from synth_core.ui.find_settings import controls, view
    from synth_core.ui.state import session

    session.take_over()
    if not session.current().tables:
        session.use_example("beta", 60, 1)
    asked = controls.choose_map()
    controls.coarse_map(asked)
    view.show(asked, None, controls.map_button(asked))
    st.write(len(controls.map_tasks(asked)))


def test_a_few_points_of_the_map_are_computed_unasked(monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))  # what fits took is not known from elsewhere
    runs = []
    begun = lambda kind, tasks, asked, expected: runs.append((kind, len(tasks), asked))  # noqa: E731
    monkeypatch.setattr("synth_core.ui.shared.background.start", begun)
    at = AppTest.from_function(started).run(timeout=30)
    assert not at.exception
    # 1 unweighted; 4 of weighted, EM and count-weighted each. The whole map has 13 of each.
    assert runs == [("map", 13, ("coarse",))] and at.markdown[-1].value == "`40`"
    monkeypatch.setattr("synth_core.ui.find_settings.controls.COARSE_SECONDS", 0.01)
    at = AppTest.from_function(started).run(timeout=30)
    assert not at.exception
    assert len(runs) == 1  # what takes long waits to be asked for
    button = next(each for each in at.button if each.label.startswith("Fill a coarse map: 13 points, about "))
    assert not button.click().run(timeout=30).exception
    assert runs == 2 * [("map", 13, ("coarse",))]


def claimed():
    from synth_core.ui.robustness import claims
    from synth_core.ui.state import session

    session.take_over()
    claims.show()


def test_robustness_begins_with_what_is_claimed_today():
    at = AppTest.from_function(claimed).run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "**What is claimed today**"
    assert list(at.table[0].value.index) == ["Unweighted", "Weighted"]


def expected():
    import streamlit as st

    from synth_core.jobs.stored_summaries import keep_summary
    from synth_core.system.cache import results_cache
    from synth_core.ui.shared.expected import expected_runs, long_run
    from synth_core.ui.shared.subject import Subject
    from synth_core.ui.state import session
    from tests.summary_numbers import numbers
    from tests.support.summaries import of_numbers

    session.take_over()
    if not session.current().tables:
        session.use_example("beta", 60, 1)
    settings, subject = session.settings(), Subject()
    before = expected_runs(subject, settings, ["weighted", "censored"]).seconds
    task = subject.task(session.current(), settings, "weighted")
    results_cache().put(task.key, {"result": 1})
    keep_summary(results_cache(), task.key, of_numbers(numbers(seconds=7 * before["weighted"])))
    after = expected_runs(subject, settings, ["weighted", "censored"]).seconds
    st.write(" ".join(f"{after[key] / before[key]:.3g}" for key in after))
    keep_summary(results_cache(), task.key, of_numbers(numbers(seconds=before["weighted"] / 4)))
    kept = expected_runs(subject, settings, ["weighted"]).seconds
    st.write(f"{kept['weighted'] / before['weighted']:.3g}")
    keep_summary(results_cache(), task.key, of_numbers(numbers(seconds=300 * before["weighted"])))
    waited = expected_runs(subject, settings, ["weighted"]).seconds
    st.write(f"{waited['weighted'] / before['weighted']:.3g}")
    session.change(session.choices().with_mechanisms("weighted"))
    st.write(f"{long_run(subject, settings, 'censored')}|")  # by what Compare measured of another one
    keep_summary(results_cache(), task.key, of_numbers(numbers(seconds=before["weighted"])))
    st.write(f"{long_run(subject, settings, 'censored')}|")


def test_what_takes_long_is_told_by_what_compare_measured(monkeypatch, tmp_path):
    """28 seconds were promised of a map whose points took 40 seconds each."""
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    monkeypatch.setattr("synth_core.ui.shared.expected.SHORT", 2.0)  # of a table of 60 rows all is short
    at = AppTest.from_function(expected).run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "7 7"
    # The table's own fit was kept: a study of 576 s was announced with 99, and a map of ten minutes with 10 s.
    assert at.markdown[1].value == "1"
    # It had waited for a compiler: an audit of two minutes was announced with four hours.
    assert at.markdown[2].value == "10"
    assert at.markdown[3].value.startswith("about ") and at.markdown[4].value == "|"


def studied():
    import streamlit as st

    from synth_core.ui.robustness import studies
    from synth_core.ui.robustness.kinds import LIKE_MINE
    from synth_core.ui.state import session

    session.take_over()
    session.use_example("beta", 60, 1)
    chosen = session.choices().with_settings(model="lognormal").with_mechanisms("weighted", "anchored")
    session.change(chosen.model_copy(update={"guess_typical": None, "guess_spread": None}))
    asked, _ = studies.choose(session.settings(), LIKE_MINE)
    st.write(" ".join(asked.mechanisms))


def test_a_study_leaves_out_a_mechanism_for_which_something_is_not_declared():
    """All of it was refused, once it was pressed."""
    at = AppTest.from_function(studied).run(timeout=30)
    assert not at.exception
    assert at.markdown[-1].value == "weighted"
    assert any(each.value.startswith("Left out") and "pilot" in each.value for each in at.caption), at.caption
