"""What the row of a variable says of its fit."""

from threading import Event
from types import SimpleNamespace

import pytest

from synth_core.analysis.fit_verdict import fit_verdict
from synth_core.ui.data import fit
from synth_core.ui.data.fit import Fit
from synth_core.ui.shared import expected


def test_the_row_of_a_variable_names_the_difference_of_its_verdict(monkeypatch):
    """30.1 points off stood beside "up to 30.2 percentage points"."""
    verdict = fit_verdict(0.30112, 6811)
    assert "up to 30.2 percentage points" in verdict.words
    monkeypatch.setattr(Fit, "verdict", verdict)
    assert Fit("pay", None, None, "", 0.0, "pay").words == ("misfit", "does not fit, 30.2 points off")
    missing = Fit(
        "pay is missing", None, None, "", 0.0, "pay"
    )  # "1.4 points off" stood above "0.8 points from even"
    assert missing.words == ("misfit", "does not fit, 30.2 points off, as to which are missing")


def test_a_row_that_fits_roughly_for_its_residuals_says_so(monkeypatch):
    """It said "fits roughly, 0.2 points off", where a variable that is 0.2 points off fits."""
    monkeypatch.setattr(Fit, "verdict", fit_verdict(0.002, 9000, residuals=0.031))
    assert Fit("pay", None, None, "", 0.0, "pay").words == (
        "roughly",
        "fits roughly, residuals 3.1 points off",
    )


def test_a_fit_that_few_records_cannot_deny_says_so(monkeypatch):
    """A row said in green "fits, residuals 14.9 points off": of 62 records chance gives as much."""
    verdict = fit_verdict(0.05, 62, residuals=0.149)
    assert verdict.level == "fits" and verdict.words.startswith(
        "The model fits as far as 62 records can tell:"
    )
    monkeypatch.setattr(Fit, "verdict", verdict)
    assert Fit("x", None, None, "", 0.0, "x").words == (
        "fits",
        "fits, residuals 14.9 points off, by chance among 62 records",
    )
    assert fit_verdict(0.01, 62).few == 0


@pytest.mark.parametrize(
    ("took", "left"),
    [
        (0.0, 42.0),  # nothing is known yet: as expected
        (21.0, 42.0),  # half the time that was expected, for what may have been kept
        (126.0, 42 * (126 + 10) / (42 + 10)),  # three times as long, its start included
    ],
)
def test_how_long_all_fits_take_is_told_by_those_that_are_done(monkeypatch, took, left):
    """36 s were promised, and after 95 s the last was still fitted, without a word on the time."""
    polled, now = [], 1000.0
    monkeypatch.setattr(expected.time, "monotonic", lambda: now)
    batch = now - took, frozenset({"done", "now"}), frozenset({"now"})
    monkeypatch.setattr(fit.st, "session_state", {fit.BATCH: batch})
    monkeypatch.setattr(fit, "manager", lambda: SimpleNamespace(n_lanes=2))
    monkeypatch.setattr(fit, "compiling_seconds", lambda models: 0.0)
    monkeypatch.setattr(fit, "poll", lambda *what: polled.append(what))
    ended, going = SimpleNamespace(finished=Event(), state="done", answer=None, error=""), SimpleNamespace()
    ended.finished.set()
    going.finished, going.state = Event(), "running"

    def one(key, job, seconds):
        return Fit(key, SimpleNamespace(model="lognormal"), None, key, seconds, key, job)

    found = [one("kept", ended, 500.0), one("done", ended, 40.0 if took else 0.0), one("now", going, 40.0)]
    fit.show_progress(found[2:], found)
    [(_, _, jobs, total, end)] = polled
    assert (jobs, total, end - now) == ([going], 3, pytest.approx(left))


def test_runs_that_others_were_asked_for_beside_are_a_new_batch(monkeypatch):
    """Compare told no time for "another run computes the same": what all take is told beside."""
    now, state = [1000.0], {}
    monkeypatch.setattr(expected.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(expected.st, "session_state", state)
    seconds = {"a": 10.0, "b": 30.0, "c": 20.0, "d": 50.0}
    assert expected.expected_end("runs", seconds, ["a", "b", "c"], 2) == 1030  # 60 s by two at once
    now[0] = 1040
    # a took four times as long; of the 40 s ten may have been its start: "about 92 s left" were told of 20
    assert expected.expected_end("runs", seconds, ["b", "c"], 2) == 1040 + 50 * (40 + 10) / (10 + 10)
    assert (
        expected.expected_end("runs", seconds, ["c", "d"], 2) == 1040 + 50
    )  # d is new, and one task: it alone takes as long
    now[0] = 1050
    assert expected.expected_end("runs", seconds, ["d"], 2) == 1050 + 50
    now[0] = 2000  # "about 17 min left": what was done was asked for again, after a walk over other pages
    assert expected.expected_end("runs", seconds, ["c", "d"], 2) == 2000 + 50
    assert expected.expected_end("runs", {}, ["c", "d"], 2) == 2000  # nothing is known
    end = expected.expected_end("others", seconds, ["a", "b"], 2, before=80.0)
    assert end == 2000 + 80 + 30  # compiled first
    now[0] = 2090  # a is done 10 s after the compiler
    assert expected.expected_end("others", seconds, ["b"], 2, before=0.0) == 2090 + 30
    assert expected.expected_end("unknown", {}, ["d"], 2) == 2090
    now[0] = 2200
    assert expected.expected_end("unknown", {}, ["d"], 2) == 2200  # and it is not late
    left = {2200: "", 2235.2: "about 35 s left in all", 2196: "", 2190: "longer than expected"}
    assert {end: expected.seconds_left(end) for end in left} == left  # it fell silent where it was late


def test_models_that_are_not_compiled_yet_say_how_long_that_takes(monkeypatch):
    """An own program has no file in stan/, and the page broke where its time was asked for."""
    monkeypatch.setattr(expected, "is_compiled", lambda program: program == "lognormal.stan")
    assert expected.compiling_seconds(["lognormal", "own"]) == 0
    assert (
        expected.compiling_seconds(["ordered", "lognormal", "bracketed", "beta"])
        == 2 * expected.COMPILE_SECONDS
    )
