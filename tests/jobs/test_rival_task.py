"""A run of another synthesizer as a background task: plain values, the same again, and stopped."""

import pytest

from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.experiments.rivals.map_runs import planned
from synth_core.jobs.tasks import RivalTask
from synth_core.jobs.worker import WorkerReply, run_job

SETTINGS = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), seed=2)


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))


def tasks(table, **changes):
    settings = SETTINGS.model_copy(update=changes)
    return [
        RivalTask.of(table, settings, each) for each in planned(["histogram"], [2.0], settings, 2, "rho", ())
    ]


def test_a_run_comes_back_as_plain_values_and_is_kept(tmp_path):
    table = load_example("beta", 200)
    first, second = tasks(table)
    assert first.background
    [sample] = planned(["sample"], [], SETTINGS, 1, "rho", ())
    assert (
        not first.samples and not RivalTask.of(table, SETTINGS, sample).samples
    )  # what it runs is none of ours
    assert first.key != second.key
    answers = []
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        answers.append(run_job(first.sent, str(tmp_path / place), [table]).answer)
    assert (answers[0].who, answers[0].epsilon, answers[0].seed) == ("histogram", 2.0, 2)
    assert not answers[0].cached
    assert answers[1].cached
    assert answers[0].errors == answers[1].errors
    # What only moves our mechanisms makes no other run; the table and the seed do.
    assert tasks(table, scale=0.3, epsilon=9.0, match_epsilon="weighted")[0].key == first.key
    assert tasks(load_example("beta", 201))[0].key != first.key
    assert tasks(table, seed=3)[0].key == second.key


def test_a_run_that_is_cancelled_says_so(tmp_path):
    table = load_example("beta", 200)
    (tmp_path / "cancel").touch()
    assert run_job(tasks(table)[0].sent, str(tmp_path), [table]) == WorkerReply(cancelled=True)


def test_a_run_without_bins_fails_in_words(tmp_path):
    table = load_example("lognormal", 200)
    settings = make_settings(outcome="x", model="lognormal")
    [asked] = planned(["histogram"], [2.0], settings, 1, "rho", ())
    answer = run_job(RivalTask.of(table, settings, asked).sent, str(tmp_path), [table])
    assert "declare their edges" in answer.error
