"""The picture while mechanisms finish: every mechanism has a row, with numbers or with a reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from synth_core.jobs.job import Job
from synth_core.ui.shared.picture import Last, assemble, brings_news, last_picture
from tests.summary_numbers import numbers
from tests.support.summaries import of_numbers
from tests.support.tasks import INPUT, SETTINGS, NamedTask


def job(name, state, key="new", **more):
    task = NamedTask(mechanism=name, name=f"{key}-{name}")
    return Job(task, Path("nowhere"), state=state, **more)


def done(name, key="new"):
    return job(name, "done", key, answer=named(name, key))


def named(name, key):
    """The summary of a mechanism that a job has made; its label says which job."""
    return of_numbers(numbers(mechanism=name, label=key))


@pytest.fixture
def last():
    found = {name: (f"old-{name}", named(name, "old")) for name in ("weighted", "censored")}
    return Last(found, SETTINGS, "table")


def test_no_mechanism_is_missing_without_a_word(last):
    jobs = [
        done("unweighted"),
        job("weighted", "running"),
        job("anchored", "queued"),
        job("censored", "failed", error="ε is too small."),
        job("histogram", "failed", error="Histogram: needs declared bounds"),
    ]
    found = assemble(jobs, last, "table")
    assert [s.mechanism for s in found.summaries] == ["unweighted", "weighted"]
    assert found.summaries[1] == replace(named("weighted", "old"), old=True)
    assert found.missing == {
        "anchored": "is being fitted …",
        "censored": "ε is too small.",  # not its old numbers
        "histogram": "Needs declared bounds",  # the row begins with its name
    }
    assert not found.complete


def test_an_older_row_is_of_the_same_table_and_variable(last):
    jobs = [job("weighted", "running")]
    assert assemble(jobs, last, "table").summaries
    assert not assemble(jobs, last, "another table").summaries
    jobs[0].task = replace(jobs[0].task, given=INPUT.changed(outcome="rent"))
    assert assemble(jobs, last, "table").missing == {"weighted": "is being fitted …"}


def test_it_is_complete_once_nothing_is_awaited(last):
    assert assemble([done("weighted"), job("censored", "failed", error="x")], last, "table").complete
    assert not assemble([done("weighted"), job("censored", "cancelled")], last, "table").complete
    assert assemble([job("anchored", "cancelled")], last, "table").missing == {"anchored": "cancelled"}


def test_each_finished_row_is_a_new_version(last):
    one, two = job("weighted", "running"), job("censored", "running")
    versions = [assemble([one, two], last, "table").version]
    one.state, one.answer = "done", named("weighted", "new")
    versions.append(assemble([one, two], last, "table").version)
    two.state, two.error = "failed", "x"
    versions.append(assemble([one, two], last, "table").version)
    assert len(set(versions)) == 3


def test_what_was_known_is_no_news(last):
    known = done("weighted", "old")
    assert not brings_news([known, job("censored", "running")], last)
    assert brings_news([known, job("censored", "failed", error="x")], last)
    assert brings_news([done("weighted"), job("censored", "running")], last)
    assert brings_news([known], None)


def test_the_last_picture_keeps_its_version(last):
    again = assemble([done("weighted", "old"), done("censored", "old")], None, "table")
    assert last_picture(last).version == again.version
