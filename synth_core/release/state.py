"""Where releases are remembered: a private directory, and SQLite files that only its owner reads."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synth_core.errors import FitError
from synth_core.system import files

BUSY_SECONDS = 30.0


class StateError(FitError):
    """What the program remembers is damaged, edited or out of reach. The message says what to do."""


def state_root() -> Path:
    """The state directory (SYNTH_STATE_DIR, else XDG's data directory), created 0700."""
    return files.user_directory("state", "SYNTH_STATE_DIR", "XDG_DATA_HOME", ".local/share", StateError)


def private_directory(*parts: str) -> Path:
    """A directory under the state directory, 0700; raises StateError if it cannot be made."""
    path = state_root()
    for part in parts:
        path = path / part
        try:
            path.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StateError(files.explain(error, "The state directory")) from None
    return path


def plans_directory() -> Path:
    """Where the app keeps plans and risk maps."""
    return private_directory("plans")


def open_database(path: Path, schema: str) -> sqlite3.Connection:
    """Open or create a database of mode 0600; every commit reaches the disk before it returns.

    Raises
    ------
    StateError
        If the file is damaged or cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # its journals take over this mode
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.executescript(schema)
    except (sqlite3.Error, OSError) as error:
        raise StateError(_explain(path, error)) from None
    return connection


def read_database(path: Path) -> sqlite3.Connection:
    """Open a database for reading alone: on a disk that is read-only, too; raises StateError."""
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro", BUSY_SECONDS, isolation_level=None, uri=True
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA trusted_schema = OFF")
    except (sqlite3.Error, OSError) as error:
        raise StateError(_explain(path, error)) from None
    return connection


@contextlib.contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read inside is of one moment; raises StateError if the database cannot be read."""
    try:
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StateError(_explain(_file_of(connection), error)) from None


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock first, so that what is read stays true until it is written.

    Raises
    ------
    StateError
        If the database is damaged, full or locked for too long.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite has done it already after some errors
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise StateError(_explain(_file_of(connection), error)) from None


def read(connection: sqlite3.Connection, query: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
    """All rows of a query; raises StateError if the database cannot be read."""
    try:
        return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise StateError(_explain(_file_of(connection), error)) from None


def _file_of(connection: sqlite3.Connection) -> Path:
    try:
        return Path(connection.execute("PRAGMA database_list").fetchone()["file"])
    except sqlite3.Error:
        return Path("of the database")


def _explain(path: Path, error: Exception) -> str:
    """What happened to a database, and what to do: only damage needs a backup."""
    file = f"The file {path.name} in the state directory"
    if isinstance(error, OSError):
        return files.explain(error, file)
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith("SQLITE_FULL"):
        return files.explain(OSError(errno.ENOSPC, ""), file)
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return files.explain(OSError(errno.EACCES, ""), file)
    if code.startswith("SQLITE_IOERR"):
        return files.explain(OSError(errno.EIO, ""), file)
    if "append-only" in str(error):
        return f"{file} is append-only: what was entered stays."
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{file} cannot be used: another program holds it. Run it again when that has finished."
    forget = (
        " If there is none, move it away: finished runs are then listed anew." if path.stem == "runs" else ""
    )
    return f"{file} cannot be used: it is damaged. Restore it from a backup.{forget}"
