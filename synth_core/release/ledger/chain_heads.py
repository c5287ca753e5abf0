"""Beside the ledger's database: its key, and how far every chain had come."""

from __future__ import annotations

import hmac
import json
import secrets
from hashlib import sha256
from pathlib import Path

from synth_core.release.state import StateError
from synth_core.system import files


class Heads:
    """The key of the chains and their newest hashes, in two files of mode 0600.

    The database is made before the note of heads and that before the key: a key without either means that one was lost.

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

    def open_key(self, in_use: bool) -> bytes:
        """The key of the chains, made with the first ledger of a directory, under the database's write lock.

        Parameters
        ----------
        in_use : bool
            Whether there is anything of an earlier ledger: entries, secrets, or releases that it charged.
        """
        if not self._key_file.exists():
            if in_use:
                raise StateError(
                    "The ledger's key is missing, or the ledger as a whole, and what it charged is there. Restore the "
                    "state directory from a backup."
                )
            key = secrets.token_bytes(32)
            self._save({}, key)  # before the key: so whatever has a key has had a note
            files.write_whole(self._key_file, key, durable=True)
        return self.read_key()

    def read_key(self) -> bytes:
        """The key of the chains, where there is one; raises StateError."""
        if not self._key_file.exists():
            raise StateError("The ledger's key is missing. Restore the state directory from a backup.")
        key = self._key_file.read_bytes()
        if len(key) != 32:
            raise StateError("The ledger's key is damaged. Restore the state directory from a backup.")
        self._load(key)
        return key

    def read(self, series: str, key: bytes) -> tuple[int, str]:
        """Number of entries and newest hash of a series; (0, "") if it is new."""
        return self._load(key).get(series, (0, ""))

    def names(self, key: bytes) -> list[str]:
        """All series that ever had an entry."""
        return list(self._load(key))

    def write(self, series: str, number: int, head: str, key: bytes) -> None:
        """Note the newest hash, under the database's write lock; raises StateError if it cannot be written."""
        self._save(self._load(key) | {series: (number, head)}, key)

    def _save(self, heads: dict[str, tuple[int, str]], key: bytes) -> None:
        content = {"heads": heads, "signature": _signature(heads, key)}
        try:
            files.write_whole(self._file, json.dumps(content), durable=True)
        except OSError as error:
            raise StateError(files.explain(error, "The ledger's file of heads")) from None

    def _load(self, key: bytes) -> dict[str, tuple[int, str]]:
        try:
            found = json.loads(self._file.read_text())
            signed = isinstance(found.get("heads"), dict)  # an older program's note has no signature
            heads = {str(k): (int(n), str(h)) for k, (n, h) in (found["heads"] if signed else found).items()}
            genuine = not signed or hmac.compare_digest(str(found["signature"]), _signature(heads, key))
        except FileNotFoundError:
            raise StateError(
                "The ledger's file of heads is missing. Restore the state directory from a backup."
            ) from None
        except (OSError, ValueError, AttributeError, TypeError, KeyError):
            raise StateError(
                "The ledger's file of heads is damaged. Restore the state directory from a backup."
            ) from None
        if not genuine:
            raise StateError(
                "The ledger's key and its file of heads do not belong together: one of them was changed. Restore the "
                "state directory from a backup."
            )
        return heads


def _signature(heads: dict[str, tuple[int, str]], key: bytes) -> str:
    return hmac.new(key, json.dumps(heads, sort_keys=True).encode(), sha256).hexdigest()
