"""A clock that is set back, or jumps: the ledger stays in order, nothing is charged twice, nothing is lost."""

import datetime
import os
import time
import zipfile

import pytest

from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.run_store import RunStore
from synth_core.release.state import private_directory
from synth_core.system.cache import Cache
from synth_core.system.locks import file_lock

DETAILS = {"data": "0" * 16, "plan": "p", "m": 1, "guarantee": "ε-DP", "strict": True, "outcome": "x"}
RUN = ({"name": "t", "fingerprint": "f", "rows": 3}, "weighted", {"seed": 1}, {"epsilon": 5.0}, "local")


@pytest.fixture
def at(monkeypatch):
    """Set the clock."""

    when = [0.0]

    def set_to(year):
        when[0] = datetime.datetime(year, 6, 1, tzinfo=datetime.UTC).timestamp()

    set_to(2026)
    monkeypatch.setattr(time, "time", lambda: when[0])
    return set_to


def charge(ledger, release, epsilon=2.0):
    ledger.reserve("s", release, epsilon, DETAILS | {"data": release})
    ledger.commit("s", release, {"archives": {}, "overridden": {}})


def test_charges_stay_in_order_and_add_up(tmp_path, at):
    ledger = Ledger(tmp_path)
    ledger.set_limit("s", 7.0, "a test", "me")
    charge(ledger, "r1")
    ledger.reserve("s", "r2", 2.0, DETAILS | {"data": "r2"})  # and then its process is killed
    at(2019)
    charge(ledger, "r3")
    at(2031)
    ledger.close()
    ledger = Ledger(tmp_path)
    assert ledger.verify() == {"s": 6}
    entries = ledger.entries("s")
    assert [e.number for e in entries] == [1, 2, 3, 4, 5, 6]
    assert [e.time[:4] for e in entries] == ["2026"] * 4 + [
        "2019"
    ] * 2  # as the clock stood, in the order made
    again = ledger.reserve("s", "r2", 2.0, DETAILS | {"data": "r2"})
    assert (again.epsilon, again.time[:4]) == (2.0, "2026")  # found, not charged anew
    ledger.commit("s", "r2", {"archives": {}, "overridden": {}})
    assert ledger.balance("s").spent == 6.0
    assert [ledger.place("s", r).number for r in ("r1", "r2", "r3")] == [1, 2, 3]
    at(2001)
    with pytest.raises(InputError, match="limit of the series s has no room"):
        ledger.reserve("s", "r4", 2.0, DETAILS | {"data": "r4"})
    ledger.set_limit("s", 8.0, "a test", "me")
    charge(ledger, "r4")
    assert ledger.balance("s").limit == 8.0
    ledger.close()


@pytest.mark.slow
@pytest.mark.stan
def test_a_plan_from_the_future_releases_and_repeats(tmp_path, at, monkeypatch, capsys):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    at(2026)
    assert main(["plan", "example:beta", "--rows", "150", "--data-seed", "100", "--mechanism", "censored",
                 "--epsilon", "6", "--tuned-on", "simulated", "--series", "monthly", "--reason", "test",
                 "--decided-by", "me", "--limit", "12", "--draws", "4000", "--warmup", "500", "--chains", "1",
                 "--out", str(plan)]) == 0  # fmt: skip

    def apply(month, *more):
        return main(["apply", str(plan), "example:beta", "--rows", "150", "--data-seed", str(month), "--out", str(out),
                     *more])  # fmt: skip

    at(2024)  # before the plan was made
    assert apply(1) == 0, capsys.readouterr().err
    at(2023)
    assert apply(2) == 0, capsys.readouterr().err
    at(2029)
    capsys.readouterr()
    for month in (1, 2):  # the same releases, with the time that they had
        assert apply(month, "--recompute") == 0, capsys.readouterr().err
        assert "drawn again and found the same" in capsys.readouterr().out
    for number, year in ((1, "2024"), (2, "2023")):
        with zipfile.ZipFile(out / f"monthly-00{number}-releasable.zip") as archive:
            page = archive.read(f"monthly-00{number}/report.html").decode()
        assert f"Release {number} of the series monthly · {year}-06-01" in page
    assert apply(3) == 2
    assert "limit of the series monthly has no room" in capsys.readouterr().err
    ledger = Ledger()
    assert ledger.verify() == {"monthly": 7}  # limit; charge, look and commit of two releases
    assert ledger.balance("monthly").spent == 12.0
    ledger.close()


def test_a_run_that_was_just_finished_is_kept_whatever_the_clock_says(tmp_path, at, monkeypatch):
    monkeypatch.setattr("synth_core.release.run_store.UNNAMED_KEPT", 3)
    store = RunStore("a", tmp_path / "runs.sqlite")
    for i in range(3):
        store.record(f"old{i}", *RUN)
    at(2019)
    store.record("new", *RUN)
    found = store.runs()
    assert len(found) == 3
    assert any(run.time.startswith("2019") for run in found)
    store.close()


def test_a_lock_is_held_by_a_process_and_not_by_a_time(tmp_path, at, monkeypatch):
    """The file of a killed process is no lock, however young it looks; one that is held is, however old."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path))
    path = private_directory("locks") / "release"
    path.write_bytes(b"")
    os.utime(path, (time.time() + 10**8,) * 2)  # left behind, and the clock was set back since
    with file_lock(path, lambda: pytest.fail("nobody holds it")):
        os.utime(path, (0, 0))
        at(2040)
        Cache(tmp_path / "results").prune()  # what is cleared by age is no lock of a release

        class Held(Exception):
            pass

        def held():
            raise Held

        with pytest.raises(Held), file_lock(path, held):
            pytest.fail("held twice")
