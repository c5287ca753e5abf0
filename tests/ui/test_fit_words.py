"""What the row of a variable says of its fit."""

from threading import Event
from types import SimpleNamespace

import pytest

from synth_core.analysis.fit_verdict import fit_verdict
from synth_core.ui.data import fit
from synth_core.ui.data.fit import Fit


def test_the_row_of_a_variable_names_the_difference_of_its_verdict(monkeypatch):
    """30.1 points off stood beside "up to 30.2 percentage points"."""
    verdict = fit_verdict(0.30112, 6811)
    assert "up to 30.2 percentage points" in verdict.words
    monkeypatch.setattr(Fit, "verdict", verdict)
    assert Fit("pay", None, None, "", 0.0, "pay").words == ("misfit", "does not fit, 30.2 points off")


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
        (0.0, 40.0),  # nothing is known yet: as expected
        (20.0, 40.0),  # half the time that was expected, for what may have been kept
        (120.0, 120.0),  # three times as long
    ],
)
def test_how_long_all_fits_take_is_told_by_those_that_are_done(monkeypatch, took, left):
    """36 s were promised, and after 95 s the last was still fitted, without a word on the time."""
    polled, now = [], 1000.0
    monkeypatch.setattr(fit.time, "monotonic", lambda: now)
    monkeypatch.setattr(fit.st, "session_state", {fit.SINCE: (now - took, frozenset({"kept"}))})
    monkeypatch.setattr(fit, "poll", lambda *what: polled.append(what))
    ended, going = SimpleNamespace(finished=Event(), state="done", answer=None, error=""), SimpleNamespace()
    ended.finished.set()
    going.finished, going.state = Event(), "running"

    def one(key, job, seconds):
        return Fit(key, None, None, key, seconds, key, job)

    found = [one("kept", ended, 500.0), one("done", ended, 40.0 if took else 0.0), one("now", going, 40.0)]
    fit.show_progress(found[2:], found)
    [(_, _, jobs, total, end)] = polled
    assert (jobs, total, end - now) == ([going], 3, left)
