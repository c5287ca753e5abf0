"""The ledger: charged once, never beyond the limit, edited never unnoticed; the run store beside it."""

import errno
import json
import os
import shutil
import sqlite3
import stat

import pytest

from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.mechanisms.composition import Count
from synth_core.release.ledger.balances import NewLimit
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import over_limit
from synth_core.release.run_store import UNNAMED_KEPT, RunStore, compare_runs
from synth_core.release.state import StateError
from tests.support.ledger_race import race

DETAILS = {"data": "0" * 16, "plan": "p", "m": 1, "guarantee": "ε-DP", "strict": True, "outcome": "x"}


def details(data):
    return DETAILS | {"data": data}


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.set_limit("income", 10.0, "a test", "tester")
    yield ledger
    ledger.close()


def test_charges_add_up_and_the_limit_holds(ledger):
    for i in range(3):
        ledger.reserve("income", f"r{i}", 3.0, details(str(i)))
        ledger.commit("income", f"r{i}", {})
    balance = ledger.balance("income")
    assert (balance.committed, balance.reserved, balance.limit, balance.releases) == (9.0, 0.0, 10.0, 3)
    assert balance.strict == 9.0
    with pytest.raises(InputError, match="limit of the series income has no room"):
        ledger.reserve("income", "r3", 1.1, details("3"))
    ledger.reserve("income", "r3", 1.0, details("3"))
    assert ledger.balance("income").spent == pytest.approx(10)
    assert ledger.verify() == {"income": 8}


def test_what_is_spent_beyond_a_limit_that_was_lowered_is_said(ledger):
    ledger.reserve("income", "r", 10.0, DETAILS)
    assert over_limit(ledger.balance("income")) == ""
    ledger.set_limit("income", 5.0, "less", "tester")
    assert over_limit(ledger.balance("income")).startswith(
        "the limit is 5 now and allows less than what is spent"
    )


def test_tenths_fill_a_limit_of_one(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.set_limit("s", 1.0, "r", "w")
    for i in range(10):  # 0.1 ten times is 0.9999999999999999 in floating point
        ledger.reserve("s", str(i), 0.1, details(str(i)))
    with pytest.raises(InputError):
        ledger.reserve("s", "10", 0.1, details("10"))


def test_a_release_is_charged_once_and_keeps_its_secret(ledger):
    first = ledger.reserve("income", "r", 4.0, DETAILS)
    again = ledger.reserve("income", "r", 4.0, DETAILS)
    assert again == first
    assert ledger.balance("income").spent == 4.0
    ledger.cancel("income", "r", {"because": "test"})
    assert ledger.balance("income").spent == 0.0
    anew = ledger.reserve("income", "r", 4.0, DETAILS)
    assert anew.secret == first.secret  # asking again does not draw another data set
    ledger.commit("income", "r", {"archives": {}})
    ledger.commit("income", "r", {"archives": {}})
    assert ledger.reserve("income", "r", 4.0, DETAILS).state == "committed"
    assert ledger.balance("income").spent == 4.0
    with pytest.raises(InputError, match="no open reservation"):
        ledger.cancel("income", "r", {})
    other = ledger.reserve("income", "other", 1.0, details("1"))
    assert other.secret != first.secret
    assert first.secret.bit_length() > 200


def test_without_a_limit_nothing_is_charged(tmp_path):
    with pytest.raises(InputError, match="no limit yet"):
        Ledger(tmp_path).reserve("new", "r", 1.0, DETAILS)


def test_a_table_is_charged_in_one_series_only(ledger):
    ledger.reserve("income", "r", 1.0, details("same"))
    ledger.set_limit("alias", 10.0, "r", "w")
    with pytest.raises(InputError, match="under the series income"):
        ledger.reserve("alias", "r2", 1.0, details("same"))
    ledger.reserve("income", "r3", 1.0, details("in this order") | {"records": "rows"})
    with pytest.raises(InputError, match="under the series income"):
        ledger.reserve("alias", "r4", 1.0, details("in another") | {"records": "rows"})
    ledger.reserve("alias", "r5", 1.0, details("other") | {"records": "others"})


def test_a_raised_charge_respects_the_limit(ledger):
    ledger.reserve("income", "r", 4.0, DETAILS)
    ledger.raise_to("income", "r", 9.0, DETAILS)
    assert ledger.balance("income").spent == 9.0
    with pytest.raises(InputError, match="limit"):
        ledger.raise_to("income", "r", 11.0, DETAILS)
    assert ledger.place("income", "r").spent == 9.0


def edit(ledger, *statements):
    """As someone with a text editor for SQLite would."""
    ledger.close()
    with sqlite3.connect(ledger.directory / "ledger.sqlite") as db:
        for trigger in ("entries_stay", "entries_remain"):
            db.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            db.execute(statement)
    db.close()
    return Ledger(ledger.directory)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '4.0', '0.4') WHERE number = 2",
        "UPDATE entries SET series = 'other' WHERE number = 2",
        "DELETE FROM entries WHERE number = 2",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries",
        "UPDATE entries SET hash = (SELECT hash FROM entries WHERE number = 1) WHERE number = 3",
        "INSERT INTO entries SELECT series, 4, body, hash FROM entries WHERE number = 3",
    ],
)
def test_an_edited_ledger_is_found_and_releases_nothing(ledger, statement):
    ledger.reserve("income", "r", 4.0, DETAILS)
    ledger.commit("income", "r", {})
    edited = edit(ledger, statement)
    for action in (
        edited.verify,
        lambda: edited.balance("income"),
        lambda: edited.reserve("income", "new", 1.0, details("1")),
    ):
        with pytest.raises(StateError, match="does not hold"):
            action()


def test_the_database_itself_refuses_edits(ledger):
    with sqlite3.connect(ledger.directory / "ledger.sqlite") as db:
        for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute(statement)
    db.close()


def test_lost_and_half_written_files_are_found(ledger):
    for i in range(20):
        ledger.reserve("income", f"r{i}", 0.1, details(str(i)))
    ledger.close()
    database, key = (ledger.directory / name for name in ("ledger.sqlite", "ledger.key"))
    whole = database.read_bytes()
    database.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError):
        Ledger(ledger.directory).verify()
    database.unlink()
    with pytest.raises(StateError, match="database is missing"):
        Ledger(ledger.directory)
    database.write_bytes(whole)
    assert Ledger(ledger.directory).verify() == {"income": 21}
    content = key.read_bytes()
    key.unlink()
    with pytest.raises(StateError, match="key is missing"):
        Ledger(ledger.directory)
    key.write_bytes(content[::-1])
    with pytest.raises(StateError, match="do not belong together"):
        Ledger(ledger.directory).balance("income")


def delete_entries(ledger):
    edit(ledger, "DELETE FROM entries").close()


def lose_tail(ledger):
    """The last entries of the chain, and what its note said of them; the secret of the release stays."""
    note = ledger.directory / "heads.json"
    known = json.loads(note.read_text())
    delete_entries(ledger)
    note.write_text(json.dumps({"heads": {}, "signature": known["signature"]}))


def lose_note_and_entries(ledger):
    delete_entries(ledger)
    (ledger.directory / "heads.json").unlink()


def lose_note_by_an_older_form(ledger):
    """A note without a signature, as an older program wrote it, that knows of nothing."""
    delete_entries(ledger)
    (ledger.directory / "heads.json").write_text("{}")


def lose_everything(ledger):
    ledger.close()
    shutil.rmtree(ledger.directory)


def lose_all_but_the_key(ledger):
    ledger.close()
    for name in ("ledger.sqlite", "heads.json"):
        (ledger.directory / name).unlink()


@pytest.mark.parametrize(
    "lose",
    [lose_tail, lose_note_and_entries, lose_note_by_an_older_form, lose_everything, lose_all_but_the_key],
)
@pytest.mark.parametrize("kept", ["releases", "secrets"])
def test_a_loss_is_found_where_all_witnesses_in_the_ledger_are_gone(ledger, lose, kept):
    """Releases that are kept beside the ledger, and secrets within it, have an entry each."""
    ledger.reserve("income", "r", 4.0, DETAILS)
    ledger.commit("income", "r", {})
    if kept == "releases":
        (ledger.directory.parent / "releases" / "r").mkdir(parents=True)
    elif lose is lose_everything:
        pytest.skip("nothing is left that could tell")
    lose(ledger)
    with pytest.raises(StateError, match=r"Restore|restored"):
        Ledger(ledger.directory).verify()
    with pytest.raises(StateError, match=r"Restore|restored"):
        again = Ledger(ledger.directory)
        again.reserve("income", "new", 1.0, details("1"), limit=NewLimit(100.0, "r", "w"))


def test_a_ledger_of_an_older_program_is_read_and_its_note_is_signed_with_the_next_entry(ledger):
    ledger.reserve("income", "r", 4.0, DETAILS)
    note = ledger.directory / "heads.json"
    note.write_text(json.dumps(json.loads(note.read_text())["heads"]))
    ledger.commit("income", "r", {})
    assert ledger.verify() == {"income": 3}
    assert set(json.loads(note.read_text())) == {"heads", "signature"}


def test_a_read_only_ledger_is_shown(ledger, monkeypatch):
    """Nothing is opened for writing: a read-only disk, and a backup, are read."""
    ledger.reserve("income", "r", 4.0, DETAILS)
    ledger.close()
    before = {path: path.stat().st_mtime_ns for path in (ledger.directory, *ledger.directory.iterdir())}
    opened = os.open

    def read_only(path, flags, *more, **named):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "read-only")
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setenv("SYNTH_STATE_DIR", str(ledger.directory.parent))
    assert main(["ledger", "show", "income"]) == 0
    assert main(["ledger", "verify"]) == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}
    with pytest.raises(StateError):
        Ledger(ledger.directory)


def test_an_empty_state_directory_is_an_empty_ledger(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path))
    assert main(["ledger", "show"]) == 0
    assert "empty" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_limit_that_came_with_a_release_goes_with_it(tmp_path):
    """What is refused before a draw fixes neither a limit nor what it counts, nor ties the table."""
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(InputError, match="limit of the series pay has no room"):
        ledger.reserve("pay", "r", 4.0, DETAILS | {"rho": 2.0}, limit=NewLimit(1.0, "r", "w", Count(1e-6)))
    assert ledger.series() == []
    ledger.reserve("pay", "r", 4.0, DETAILS, limit=NewLimit(20.0, "r", "w"))
    assert ledger.balance("pay").limit == 20.0
    ledger.cancel("pay", "r", {"because": "nobody in the pilot"})
    assert ledger.balance("pay").limit is None
    with pytest.raises(InputError, match="has no limit yet"):
        ledger.reserve("pay", "r", 4.0, DETAILS)
    other = ledger.reserve("other", "q", 4.0, DETAILS, limit=NewLimit(5.0, "r", "w"))  # of the same table
    assert other.state == "reserved"
    ledger.cancel("other", "q", {})
    ledger.reserve("pay", "r", 4.0, DETAILS, limit=NewLimit(9.0, "r", "w"))
    ledger.commit("pay", "r", {})
    balance = ledger.balance("pay")
    assert (balance.limit, balance.spent, balance.count.delta) == (9.0, 4.0, None)
    assert ledger.place("pay", "r").limit == 9.0


def test_an_older_copy_of_the_database_alone_is_found(ledger):
    old = (ledger.directory / "ledger.sqlite").read_bytes()
    ledger.reserve("income", "r", 9.0, DETAILS)
    ledger.close()
    (ledger.directory / "ledger.sqlite").write_bytes(old)
    with pytest.raises(StateError, match="does not hold"):
        Ledger(ledger.directory).reserve("income", "again", 9.0, DETAILS)


def test_files_are_private(ledger):
    ledger.reserve("income", "r", 1.0, DETAILS)
    for path in ledger.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(ledger.directory.stat().st_mode) == 0o700


def reserve_one(ledger, name):
    ledger.reserve("income", name, 1.0, details(name))


@pytest.mark.slow
def test_processes_at_once_cannot_spend_the_last_of_the_budget_twice(ledger):
    found = race(ledger.directory, reserve_one, 8)
    assert found.count("reserved") == 10  # of a limit of 10
    assert ledger.balance("income").spent == 10.0
    assert ledger.verify() == {"income": 11}


# -- run store -----------------------------------------------------------------------------------

RUN = ({"name": "t", "fingerprint": "f", "rows": 9, "reference": None}, "weighted", {"outcome": "x", "scale": 1.0},
       {"epsilon": 2.0, "ecdf_max": float("inf")}, "asymptotic DP")  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def test_runs_are_kept_named_compared_deleted(path):
    store = RunStore("a", path)
    store.record("k1", *RUN)
    store.record("k1", *RUN)
    store.record("k2", RUN[0], "censored", RUN[2] | {"scale": 0.5}, RUN[3], "ε-DP")
    assert len(store.runs()) == 2
    first, second = sorted(RunStore("a", path).runs(), key=lambda r: r.mechanism)  # after a restart
    store.describe(first.id, name="chosen", note="<b>why</b>")
    assert store.find("chosen").note == "<b>why</b>"
    assert [row[0] for row in compare_runs(first, second)] == ["mechanism", "scale"]
    assert first.numbers["ecdf_max"] is None
    with pytest.raises(InputError, match="control"):
        store.describe(first.id, note="\x07")
    store.delete("chosen")
    assert [r.id for r in store.runs()] == [second.id]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_another_owner_cannot_guess_a_run(path):
    RunStore("a", path).record("k", *RUN)
    [run] = RunStore("a", path).runs()
    stranger = RunStore("b", path)
    assert stranger.runs() == []
    for action in (stranger.find, stranger.delete, lambda i: stranger.describe(i, note="x")):
        with pytest.raises(InputError, match="no such run"):
            action(run.id)
    for attempt in ("' OR 1=1 --", "%", "", "../a"):
        with pytest.raises(InputError, match="no such run"):
            stranger.find(attempt)
    assert len(RunStore("a", path).runs()) == 1


def test_unnamed_runs_do_not_grow_for_ever(path, monkeypatch):
    assert UNNAMED_KEPT >= 100
    monkeypatch.setattr("synth_core.release.run_store.UNNAMED_KEPT", 3)
    store = RunStore("a", path)
    store.record("kept", *RUN)
    store.describe(store.runs()[0].id, name="kept")
    for i in range(6):
        store.record(f"k{i}", *RUN)
    assert len(store.runs()) == 4
    assert store.find("kept")
    assert json.dumps(RUN[2])
