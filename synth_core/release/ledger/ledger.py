"""What every confidential table has been charged: append-only, chained, limited.

One chain of entries a series (a table over its periods). Each entry carries the keyed hash
(HMAC-SHA256, with a key of mode 0600 beside the database) of itself and of the one before, and
a second file holds the newest hash of every series, so that an edited, removed or half-written
entry is found. Every release that is kept beside it, and every secret, must have its entry: so a ledger
that is gone, or has lost the end of a chain with its note, is found too. What it cannot find is
the whole state directory restored from an older backup: compare with the head that the last
internal report names.

A release is charged once: reserve (the charge and a secret seed, before anything is drawn), then
the data set, then commit. A repeat finds its reservation, and with it the same seed. Once anything that
a draw gave was seen, be it a refusal or a look at the gate, the charge is not given back.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.composition import Count
from synth_core.release.ledger.balances import (
    GENESIS,
    LOOKS,
    MORE,
    Balance,
    Entry,
    NewLimit,
    Place,
    Reservation,
    balance_of,
    limits_of,
    next_number,
    place_of,
)
from synth_core.release.ledger.chain_heads import Heads
from synth_core.release.ledger.column_marks import MarkedColumn, marked
from synth_core.release.ledger.elsewhere import Columns, check_elsewhere
from synth_core.release.ledger.limit_room import check_count, check_room
from synth_core.release.state import (
    StateError,
    open_database,
    private_directory,
    read,
    read_database,
    reading,
    state_root,
    transaction,
)
from synth_core.system import clock

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  series TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL,
  PRIMARY KEY (series, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (id TEXT PRIMARY KEY, secret TEXT NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS entries_stay BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_remain BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS secrets_stay BEFORE UPDATE ON secrets
  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


class Ledger:
    """The ledger in a directory; safe between processes."""

    def __init__(self, directory: Path | None = None):
        self.directory = directory or private_directory("ledger")
        self._heads = Heads(self.directory)
        self._db = open_database(self.directory / "ledger.sqlite", _SCHEMA)
        with transaction(self._db):
            some = self._db.execute("SELECT 1 FROM entries UNION SELECT 1 FROM secrets LIMIT 1").fetchone()
            self._key = self._heads.open_key(some is not None or bool(self._kept()))

    @staticmethod
    def to_read(directory: Path | None = None) -> Ledger | None:
        """The ledger for reading alone, which needs no place to write; None where there is none yet.

        Raises
        ------
        StateError
            If it is lost or damaged.
        """
        found = Ledger.__new__(Ledger)
        found.directory = directory or state_root() / "ledger"
        if not found.directory.is_dir():
            found._check_known(set())
            return None
        found._heads = Heads(found.directory)
        if not (found.directory / "ledger.sqlite").exists():
            found._check_known(set())
            return None
        found._db = read_database(found.directory / "ledger.sqlite")
        found._key = found._heads.read_key()
        return found

    def _kept(self) -> set[str]:
        """Ids of the releases that are kept beside the ledger."""
        releases = self.directory.parent / "releases"
        return (
            {path.name for path in releases.iterdir() if path.name[:1] != "."} if releases.is_dir() else set()
        )

    def _check_known(self, known: set[str]) -> None:
        """Refuse to go on where a kept release, or one that has a secret, has no entry; raises StateError."""
        unknown = self._kept() - known
        if hasattr(self, "_db"):
            unknown |= {str(row["id"]) for row in read(self._db, "SELECT id FROM secrets")} - known
        if unknown:
            raise StateError(
                f"The ledger does not know {len(unknown):,} of the releases that are kept beside it: entries were "
                f"lost, and with them what was charged. Nothing is released until it is restored from a backup of the "
                f"whole state directory."
            )

    def marked(self, table: Table, names: Iterable[str]) -> tuple[MarkedColumn, ...]:
        """Columns as this ledger remembers them."""
        return marked(table, names, self._key)

    def close(self) -> None:
        self._db.close()

    # -- reading -------------------------------------------------------------------------------

    def series(self) -> list[str]:
        """Names of all series."""
        rows = read(self._db, "SELECT DISTINCT series FROM entries ORDER BY series")
        return [row["series"] for row in rows]

    def entries(self, series: str) -> list[Entry]:
        """All entries of a series, verified; raises StateError if the chain does not hold."""
        entries, before = [], GENESIS
        rows = read(
            self._db, "SELECT number, body, hash FROM entries WHERE series = ? ORDER BY number", (series,)
        )
        for expected, row in enumerate(rows, start=1):
            genuine = self._sign(series, expected, str(row["body"]), before)
            if row["number"] != expected or not hmac.compare_digest(
                genuine.encode(), str(row["hash"]).encode()
            ):
                raise StateError(_tampered(series, f"entry {expected} was changed or is missing"))
            body = json.loads(row["body"])
            entries.append(Entry(series, expected, hash=genuine, **body))
            before = genuine
        number, head = self._heads.read(series, self._key)
        lost = number > len(entries) or len(entries) - number > self._heads.MAX_LAG
        if lost or (number and entries[number - 1].hash != head):
            raise StateError(
                _tampered(series, "its entries and the separate note of its newest one disagree")
            )
        return entries

    def verify(self) -> dict[str, int]:
        """Check every chain, the database itself and the releases beside it; entries by series. Raises StateError."""
        with reading(self._db):
            if self._db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise StateError("The ledger's database is damaged. Restore it from a backup.")
            names = set(self.series()) | set(self._heads.names(self._key))
            found = {name: self.entries(name) for name in sorted(names)}
            self._check_known({e.release for entries in found.values() for e in entries})
            return {name: len(entries) for name, entries in found.items()}

    def balance(self, series: str) -> Balance:
        """The sum so far."""
        return balance_of(series, self.entries(series))

    def reservation(self, series: str, release: str) -> Reservation | None:
        """What is known of a release."""
        mine = [e for e in self.entries(series) if e.release == release and e.kind != MORE]
        if not mine:
            return None
        rows = read(self._db, "SELECT secret FROM secrets WHERE id = ?", (release,))
        if not rows:
            raise StateError(_tampered(series, "the secret of a release is missing"))
        try:
            secret = int(rows[0]["secret"], 16)
        except (TypeError, ValueError):
            raise StateError(_tampered(series, "the secret of a release is damaged")) from None
        state = {"commit": "committed", "cancel": "cancelled"}.get(mine[-1].kind, "reserved")
        if state == "reserved" and any(e.kind in LOOKS for e in mine):
            state = "looked"
        return Reservation(
            release,
            secret,
            [e.time for e in mine if e.kind == "reserve"][-1],
            sum(e.epsilon for e in mine),
            state,
            mine[-1].details if state == "committed" else {},
            tuple([e for e in mine if e.kind == "reserve"][-1].details.get("warnings", ())),
        )

    def later(self, series: str, release: str) -> list[Entry]:
        """The entries of data sets that were drawn of a release after it was made, in order."""
        return [e for e in self.entries(series) if e.release == release and e.kind == MORE]

    def place(self, series: str, release: str) -> Place:
        """Where a release stood when it was reserved."""
        return place_of(release, self.entries(series))

    # -- writing -------------------------------------------------------------------------------

    def set_limit(self, series: str, limit: float, reason: str, who: str, count: Count | None = None) -> None:
        """Set or change the limit of a series; recorded with its reason.

        Parameters
        ----------
        count : Count, optional
            What it counts, fixed with the first limit; None: as before, or the sum of ε.

        Raises
        ------
        InputError
            If it shall count otherwise than the first limit did.
        """
        with transaction(self._db):
            self._append_limit(series, "", NewLimit(limit, reason, who, count))
        self._note(series)

    def reserve(
        self,
        series: str,
        release: str,
        epsilon: float,
        details: dict[str, Any],
        columns: Columns = Columns(),
        limit: NewLimit | None = None,
    ) -> Reservation:
        """Charge a release before it is drawn, or find that it was charged already.

        Parameters
        ----------
        epsilon : float
            m times the epsilon of one data set.
        details : dict
            JSON values: data (the fingerprint), records (the same in no order of the rows; may be left out), plan, m,
            guarantee, strict, rho (of all data sets).
        columns : Columns
            Of the table, by `marked`: the sensitive ones are remembered, and known again.
        limit : NewLimit, optional
            Of a series that has none: set with the charge, and given back with it.

        Raises
        ------
        InputError
            If the limit would be passed, none is set, it counts ρ and there is none, the table was charged
            under another series, or a predictor is sensitive elsewhere.
        StateError
            If the ledger is damaged.
        """
        with transaction(self._db):
            known = self.reservation(series, release)
            if known is None or known.state == "cancelled":
                every = {name: self.entries(name) for name in self.series()}
                self._check_known({e.release for entries in every.values() for e in entries})
                self._refuse_other_series(series, {details["data"], details.get("records")} - {None})
                warnings = check_elsewhere(columns, series, release, every)
                if limit is not None:
                    self._append_limit(series, release, limit)
                self._check_room(series, release, epsilon, details)
                if known is None:
                    self._db.execute("INSERT INTO secrets VALUES (?, ?)", (release, new_secret()))
                number = next_number(self.entries(series))
                more: dict[str, Any] = {"number": number}
                if columns.sensitive:
                    more["columns"] = [column.mark.as_json() for column in columns.sensitive]
                if warnings:
                    more["warnings"] = warnings
                self._append(series, "reserve", epsilon, release, details | more)
                known = self.reservation(series, release)
                assert known is not None
        self._note(series)
        return known

    def raise_to(self, series: str, release: str, epsilon: float, details: dict[str, Any]) -> None:
        """Charge more for a reserved release, up to `epsilon` in all; `details` are those of a reservation."""
        with transaction(self._db):
            known = self._open(series, release)
            if epsilon > known.epsilon:
                self._check_room(series, release, epsilon, details)
                self._append(series, "raise", epsilon - known.epsilon, release, details)
        self._note(series)

    def commit(self, series: str, release: str, details: dict[str, Any]) -> None:
        """Record that the data set was written; the charge stays for ever."""
        with transaction(self._db):
            known = self.reservation(series, release)
            if known is not None and known.state == "committed":
                return
            self._open(series, release)
            self._append(series, "commit", 0.0, release, details)
        self._note(series)

    def note_more(self, series: str, release: str, details: dict[str, Any]) -> None:
        """Record that more data sets were drawn of a committed release, of the noise that it paid for: no charge."""
        with transaction(self._db):
            self._append(series, MORE, 0.0, release, details)
        self._note(series)

    def look(self, series: str, release: str, details: dict[str, Any]) -> None:
        """Record, before it is told, that what a draw of the release gave was seen: the charge stays for ever."""
        with transaction(self._db):
            if self._open(series, release).state == "looked":
                return
            self._append(series, "look", 0.0, release, details)
        self._note(series)

    def cancel(self, series: str, release: str, details: dict[str, Any]) -> None:
        """Give the charge of a release back of which nothing was seen. Its secret stays.

        Raises
        ------
        InputError
            If there is no open charge, or its draw was looked at.
        """
        with transaction(self._db):
            known = self._open(series, release)
            if known.state == "looked":
                raise InputError(
                    f"The draw of {release} was looked at, so its charge stays. Made again under the same label it is "
                    f"the same draw, at no further charge."
                )
            strict = any(e.details.get("strict") for e in self.entries(series) if e.release == release)
            self._append(series, "cancel", -known.epsilon, release, details | {"strict": strict})
        self._note(series)

    # -- inside --------------------------------------------------------------------------------

    def _append_limit(self, series: str, release: str, limit: NewLimit) -> None:
        details: dict[str, Any] = {"limit": limit.limit, "reason": limit.reason, "who": limit.who}
        fixed = check_count(self.balance(series), limit.count)
        if fixed.delta is not None:
            details["delta"] = fixed.delta
        self._append(series, "limit", 0.0, release, details)

    def _open(self, series: str, release: str) -> Reservation:
        known = self.reservation(series, release)
        if known is None or known.state not in ("reserved", "looked"):
            raise InputError(f"There is no open reservation {release} in the series {series}.")
        return known

    def _check_room(self, series: str, release: str, epsilon: float, details: dict[str, Any]) -> None:
        entries = self.entries(series)
        beside = [e for e in entries if e.kind != "limit" and e.release != release]
        others = balance_of(series, limits_of(entries) + beside)
        check_room(others, epsilon, details.get("rho"), str(details.get("guarantee", "")))

    def _refuse_other_series(self, series: str, table: set[str]) -> None:
        for name in self.series():
            entries = self.entries(name)
            last = {e.release: e.kind for e in entries}
            known = (
                {e.details.get("data"), e.details.get("records")}
                for e in entries
                if last[e.release] != "cancel"
            )
            if name != series and any(table & each for each in known):
                raise InputError(
                    f"Data were released from this very table under the series {name}: charge it there, so that its "
                    f"sum stays in one place."
                )

    def _append(self, series: str, kind: str, epsilon: float, release: str, details: dict[str, Any]) -> None:
        entries = self.entries(series)
        body = json.dumps(
            {"kind": kind, "time": clock.now(), "epsilon": epsilon, "release": release, "details": details},
            sort_keys=True,
        )
        number = len(entries) + 1
        signed = self._sign(series, number, body, entries[-1].hash if entries else GENESIS)
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (series, number, body, signed))

    def _sign(self, series: str, number: int, body: str, before: str) -> str:
        text = json.dumps([series, number, body, before])
        return hmac.new(self._key, text.encode(), sha256).hexdigest()

    def _note(self, series: str) -> None:
        """Copy the newest hash to the second file; it may lag behind a commit, never lead."""
        with transaction(self._db):
            entries = self.entries(series)
            self._heads.write(series, len(entries), entries[-1].hash, self._key)


def new_secret() -> str:
    """256 bits of the system's entropy, for one release; they never leave the ledger's database."""
    return secrets.token_hex(32)


def _tampered(series: str, what: str) -> str:
    return (
        f"The ledger of the series {series} does not hold: {what}. Nothing is released until it is restored from "
        f"a backup; see `ledger verify`."
    )
