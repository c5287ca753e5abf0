"""Beside the ledger's database: its key, and how far every chain had come."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from synth_core.release.state import StateError
from synth_core.system import files


class Heads:
    """The key of the chains and their newest hashes, in two files of mode 0600.

    The database is made before the key, so a key without a database means that one was lost.

    Raises
    ------
    StateError
        If one of database, key and heads is there without the others.
    """

    MAX_LAG = 20  # entries whose note a killed process may have left out

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = directory / "heads.json"
        self._key_file = directory / "ledger.key"
        known = self._key_file.exists() or self._file.exists()
        if known and not (directory / "ledger.sqlite").exists():
            raise StateError("The ledger's database is missing. Restore the state directory from a backup.")

    def open_key(self, has_entries: bool) -> bytes:
        """The key of the chains, made with the first ledger of a directory, under the database's write lock."""
        if not self._key_file.exists():
            if has_entries or self._file.exists():
                raise StateError("The ledger's key is missing. Restore the state directory from a backup.")
            files.write_whole(self._key_file, secrets.token_bytes(32), durable=True)
        key = self._key_file.read_bytes()
        if len(key) != 32:
            raise StateError("The ledger's key is damaged. Restore the state directory from a backup.")
        return key

    def read(self, series: str) -> tuple[int, str]:
        """Number of entries and newest hash of a series; (0, "") if it is new."""
        number, head = self._load().get(series, (0, ""))
        return int(number), str(head)

    def names(self) -> list[str]:
        """All series that ever had an entry."""
        return list(self._load())

    def write(self, series: str, number: int, head: str) -> None:
        """Note the newest hash, under the database's write lock; raises StateError if it cannot be written."""
        heads = self._load() | {series: [number, head]}
        try:
            files.write_whole(self._file, json.dumps(heads), durable=True)
        except OSError as error:
            raise StateError(files.explain(error, "The ledger's file of heads")) from None

    def _load(self) -> dict[str, Any]:
        try:
            heads = json.loads(self._file.read_text())
            return {str(k): (int(n), str(h)) for k, (n, h) in heads.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError):
            raise StateError(
                "The ledger's file of heads is damaged. Restore the state directory from a backup."
            ) from None
