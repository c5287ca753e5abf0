"""Finished runs: settings, fingerprints, seed, versions, numbers, guarantee. Never raw records.

The numbers are computed from confidential data, so the file is private (0600), and every owner
(a browser, a signed-in user, the command line) sees its own runs only.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, R
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.errors import InputError
from synth_core.release.bounded_text import words
from synth_core.release.plan.planned_block import PlannedBlock, planned
from synth_core.release.report.report import versions
from synth_core.release.state import StateError, open_database, read, state_root, transaction
from synth_core.system import clock
from synth_core.system.cache import content_key
from synth_core.system.json_text import without_infinities

COMMAND_LINE = "command line"
DAMAGED = "is damaged and not shown. Restore runs.sqlite from a backup, or run it again."
_CHECKED = ("id", "owner", "key", "data", "mechanism", "settings", "numbers", "guarantee", "versions")
UNNAMED_KEPT = 500  # of an owner; named ones stay until they are deleted

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, key TEXT NOT NULL, time TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL, mechanism TEXT NOT NULL, settings TEXT NOT NULL,
  numbers TEXT NOT NULL, guarantee TEXT NOT NULL, versions TEXT NOT NULL,
  checksum TEXT NOT NULL DEFAULT '', UNIQUE (owner, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_owner ON runs (owner, time);
"""


@dataclass(frozen=True)
class StoredRun:
    """One finished run.

    `data` holds the table's name, fingerprint, rows and risk reference, and as `blocks` all sensitive variables of
    whole records; the settings then name the first of them.
    """

    id: str
    time: str
    name: str
    note: str
    data: dict[str, Any]
    mechanism: str
    settings: dict[str, Any]
    numbers: dict[str, Any]
    guarantee: str
    versions: dict[str, str]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The sensitive variables of whole records; empty where one is sensitive."""
        return tuple(PlannedBlock(**each).block for each in self.data.get("blocks", ()))

    @property
    def variables(self) -> str:
        """The sensitive variables by name."""
        return ", ".join(block.name for block in self.blocks) or str(self.settings["outcome"])


class RunStore:
    """The runs of one owner; safe between processes.

    SQLite notices damage of its structure only, so every run carries a checksum of what it says:
    one that does not hold is never shown, and `damaged` counts those that the last list left out.
    """

    def __init__(self, owner: str = COMMAND_LINE, path: Path | None = None):
        self.owner = owner
        self.damaged = 0
        self._db = open_database(path or state_root() / "runs.sqlite", _SCHEMA)
        columns = [row["name"] for row in read(self._db, "PRAGMA table_info(runs)")]
        if "checksum" not in columns:  # of an earlier version
            with transaction(self._db):
                self._db.execute("ALTER TABLE runs ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")

    def close(self) -> None:
        self._db.close()

    def record(
        self,
        key: str,
        data: dict[str, Any],
        mechanism: str,
        settings: dict[str, Any],
        numbers: dict[str, Any],
        guarantee: str,
    ) -> None:
        """Keep a finished run; the same run (by its result's key) is kept once.

        Parameters
        ----------
        numbers : dict of plain numbers, strings and flat dicts of them; no arrays.
        """

        def text(part: Any) -> str:
            return json.dumps(without_infinities(part), sort_keys=True)

        kept = {
            "id": secrets.token_hex(4),
            "owner": self.owner,
            "key": key,
            "data": text(data),
            "mechanism": mechanism,
            "settings": text(settings),
            "numbers": text(numbers),
            "guarantee": guarantee,
            "versions": text(versions()),
        }
        kept |= {"time": clock.now(), "checksum": _checksum(kept)}
        with transaction(self._db):
            self._db.execute(
                f"INSERT INTO runs ({', '.join(kept)}) VALUES ({', '.join('?' * len(kept))}) "
                "ON CONFLICT (owner, key) DO UPDATE SET time = excluded.time",
                tuple(kept.values()),
            )
            self._db.execute(
                "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE owner = ? AND name = '' AND note = '' "
                "ORDER BY key = ? DESC, time DESC LIMIT -1 OFFSET ?)",  # this one stays: a clock may be set back
                (self.owner, key, UNNAMED_KEPT),
            )

    def runs(self) -> list[StoredRun]:
        """All runs of the owner, the newest first."""
        rows = read(self._db, "SELECT * FROM runs WHERE owner = ? ORDER BY time DESC, id", (self.owner,))
        sound = [row for row in rows if _sound(row)]
        self.damaged = len(rows) - len(sound)
        return [_run(row) for row in sound]

    def find(self, run: str) -> StoredRun:
        """A run of the owner by its id or name; raises InputError, whoever else may have it."""
        rows = read(
            self._db,
            "SELECT * FROM runs WHERE owner = ? AND (id = ? OR (name = ? AND name != ''))",
            (self.owner, run, run),
        )
        if len(rows) != 1:
            raise InputError(
                "There is no such run." if not rows else "Several runs have this name: use the id."
            )
        if not _sound(rows[0]):
            raise StateError(f"What was kept of this run {DAMAGED}")
        return _run(rows[0])

    def describe(self, run: str, name: str | None = None, note: str | None = None) -> None:
        """Give a run a name, or a note."""
        known = self.find(run)
        for column, text in (("name", name), ("note", note)):
            if text is not None:
                if text:
                    words(text, f"The {column}")
                with transaction(self._db):
                    self._db.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (text[:200], known.id))

    def delete(self, run: str) -> None:
        """Forget a run. What was released from it stays in the ledger."""
        known = self.find(run)
        with transaction(self._db):
            self._db.execute("DELETE FROM runs WHERE id = ?", (known.id,))


def _checksum(row: Any) -> str:
    """A checksum of what never changes of a run; a name and a note may."""
    return hashlib.sha256(json.dumps([str(row[name]) for name in _CHECKED]).encode()).hexdigest()


def _sound(row: Any) -> bool:
    return row["checksum"] in ("", _checksum(row))  # empty: kept by an earlier version


def _run(row: Any) -> StoredRun:
    parts = {name: json.loads(row[name]) for name in ("data", "settings", "numbers", "versions")}
    plain = {name: row[name] for name in ("id", "time", "name", "note", "mechanism", "guarantee")}
    return StoredRun(**plain, **parts)


def run_record(analysis: AnyAnalysis[R], result: R) -> tuple[Any, ...]:
    """What `record` keeps of a finished run."""
    s, table = analysis.settings, analysis.loaded
    key = analysis.result_key(result.point)
    data: dict[str, Any] = {
        "name": table.name,
        "fingerprint": table.fingerprint,
        "rows": table.rows,
        "reference": analysis.reference_fingerprint,
    }
    if table.missing:
        data["missing"] = list(table.missing)
    if analysis.blocks:
        key, data["blocks"] = content_key(run=key), planned(analysis.blocks)
    numbers = numbers_of(result.summary_numbers)
    return key, data, result.mechanism, s.model_dump(mode="json"), numbers, result.guarantee.label


def numbers_of(numbers: ResultNumbers) -> dict[str, Any]:
    """The numbers of a result that a run keeps."""
    kept = (
        "lipschitz_bound",
        "epsilon",
        "epsilon_replace",
        "n_records",
        "n_datasets",
        "n_truncated",
        "n_censored",
        "match_risk",
        "ecdf_max",
        "ecdf_avg",
        "overlap",
        "seconds",
        "tuned",
    )
    statistics: dict[str, Any] = dict(numbers.errors)
    if numbers.several:
        statistics |= {f"difference of {each.name}": each.ecdf_max for each in numbers.variables}
    return {k: getattr(numbers, k) for k in kept} | {"converged": not numbers.problems} | statistics


def compare_runs(first: StoredRun, second: StoredRun) -> list[tuple[str, Any, Any]]:
    """What differs between two runs: settings and numbers, by name."""
    rows: list[tuple[str, Any, Any]] = []
    pairs = (("mechanism", first.mechanism, second.mechanism), ("data", first.data, second.data))
    rows += [(name, a, b) for name, a, b in pairs if a != b]
    for a, b in ((first.settings, second.settings), (first.numbers, second.numbers)):
        for name in {**a, **b}:
            if name != "seconds" and a.get(name) != b.get(name):
                rows.append((name, a.get(name), b.get(name)))
    return rows
