"""Progress of parts side by side, and how one that fails ends the others."""

import threading

import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.parallel_progress import ParallelProgress
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table
from synth_core.errors import Cancelled, FitError
from tests.analysis.records.test_records import BLOCKS, COMMON, people


def test_the_first_part_that_runs_is_told():
    told = []
    telling = ParallelProgress(lambda text, share: told.append((text, share)))
    first, second = telling.of(0, "sex"), telling.of(1, "work")
    first("model", 0.0)  # before any runs
    with telling.running(1):
        second("fit", 0.5)  # alone
        with telling.running(0):
            second("fit", 0.6)  # the first has told nothing yet
            first("fit", 0.1)
            second("fit", 0.7)
        second("bounds", 0.8)
    assert told == [
        ("sex: model", 0.0),
        ("work: fit", 0.5),
        ("work: fit", 0.6),
        ("sex: fit", 0.1),
        ("sex: fit", 0.1),
        ("work: bounds", 0.8),
    ]


def test_what_still_runs_is_ended_and_may_run_again():
    telling = ParallelProgress(lambda text, share: None)
    tell = telling.of(0, "sex")
    with telling.running(0):
        telling.stop()
        with pytest.raises(Cancelled):
            tell("fit", 0.5)
    telling.stop()  # nothing runs
    with telling.running(0):
        tell("fit", 0.5)


@pytest.fixture
def records(cache):
    few = COMMON | {"draws": 100, "warmup": 100, "chains": 1}
    return lambda progress: RecordsAnalysis(Table("people", people(1)), BLOCKS, few, cache, progress)


def test_a_part_that_fails_is_told_and_ends_the_others(records, monkeypatch):
    """Its own error, not that of the part that was ended because of it; those that wait are never begun."""
    begun, failed = [], threading.Event()

    def run(self, key):
        begun.append(self.settings.outcome)
        if len(begun) == 2:
            failed.set()
            raise FitError("the sampler failed")
        failed.wait(10)
        for _ in range(1000):
            self.progress("sampling", 0.5)
            threading.Event().wait(0.01)
        raise AssertionError("never ended")

    monkeypatch.setattr(Analysis, "run", run)
    with pytest.raises(FitError, match=r"Block '(sex|work is missing)': the sampler failed"):
        records(lambda text, share: None).run("unweighted")
    assert len(begun) == 2


def test_cancelling_ends_all_parts(records):
    def progress(text, share):
        if share > 0.3:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        records(progress).run("unweighted")
