"""A private, size-limited cache on disk, keyed by content.

Entries are NumPy archives (no pickle), written to a temporary name and renamed, so a
reader sees a whole entry or none; a damaged one counts as absent. A lock file per key lets
several processes that want the same entry compute it once. Directories are 0700, files 0600.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.errors import InputError
from synth_core.system import files, limits
from synth_core.system.code_version import code_version
from synth_core.system.files import cache_root
from synth_core.system.locks import file_lock
from synth_core.system.plain_paths import plain

Entry = dict[str, Any]  # arrays, and one JSON value per other key

_PRUNE_EVERY = 50
_HALF_WRITTEN_SECONDS = 3600  # after which a temporary file's writer was killed
_log = logging.getLogger(__name__)


def content_key(**parts: Any) -> str:
    """A sha256 over canonical JSON of the parts; arrays count by dtype, shape and bytes."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            digest = hashlib.sha256(array.view(np.uint8).data if array.size else b"")
            return ["array", str(array.dtype), list(array.shape), digest.hexdigest()]
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"cannot key on {type(value).__name__}")

    text = json.dumps(parts | {"code": code_version()}, sort_keys=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """Entries under one directory."""

    def __init__(
        self, directory: Path, max_bytes: int = limits.CACHE_BYTES, max_days: float = limits.CACHE_DAYS
    ):
        self.directory = directory
        self.max_bytes = max_bytes
        self.max_days = max_days
        self.problem: str | None = None  # why the last entry could not be stored; "" if it was
        self._puts = 0

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.npz"

    def get(self, key: str) -> Entry | None:
        """The entry, or None if it is absent, damaged or out of reach."""
        path = self._path(key)
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                entry: Entry = {name: archive[name] for name in archive.files}
            text = json.loads(bytes(entry.pop("__json__")).decode())
            if sorted(entry) != text["arrays"]:  # a damaged index may hide an array
                raise ValueError("arrays are missing")
            with contextlib.suppress(OSError):  # a read-only disk; its age is then not known better
                os.utime(path)
            return entry | text["values"]
        except (OSError, MemoryError):  # absent, or this process cannot read it now: it stays
            return None
        except Exception:  # damaged: the readers of zip, NumPy and JSON raise many kinds
            with contextlib.suppress(OSError):
                path.unlink()
            return None

    def touch(self, key: str) -> bool:
        """Count an entry as used now; False if it is not there."""
        try:
            os.utime(self._path(key))
            return True
        except OSError:
            return False

    def put(self, key: str, entry: Entry) -> None:
        """Store an entry of arrays and JSON values, whole or not at all.

        A cache that cannot be written costs time, not results: `problem` and the log tell.
        """
        arrays = {k: v for k, v in entry.items() if isinstance(v, np.ndarray)}
        values = {k: v for k, v in entry.items() if k not in arrays}
        text = json.dumps({"arrays": sorted(arrays), "values": values})
        named: Entry = {"__json__": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write_whole(path, lambda stream: np.savez(stream, **named), durable=False)
        except OSError as error:
            self._tell(files.explain(error, "The cache", "name another place in SYNTH_RESULTS_DIR"))
            return
        self.problem = ""
        self._puts += 1
        if self._puts % _PRUNE_EVERY == 1:
            self.prune()

    def _tell(self, problem: str) -> None:
        if problem != self.problem:  # once, not with every entry
            _log.warning("%s Until then results are shown and not kept.", problem)
        self.problem = problem

    def get_or_compute(
        self, key: str, compute: Callable[[], Entry], wait: Callable[[], None] = lambda: None
    ) -> tuple[Entry, bool]:
        """The entry and whether it was cached; computed once however many processes ask."""
        entry = self.get(key)
        if entry is not None:
            return entry, True
        try:
            lock = file_lock(self.directory / "locks" / key[:16], wait)
            lock.__enter__()
        except OSError:  # no lock: computed perhaps twice, and stored where that is possible
            entry = compute()
            self.put(key, entry)
            return entry, False
        try:
            entry = self.get(key)
            if entry is not None:
                return entry, True
            entry = compute()
            self.put(key, entry)
            return entry, False
        finally:
            lock.__exit__(None, None, None)

    def _files(self) -> list[tuple[float, int, Path]]:
        entries = []
        for path in self.directory.glob("??/*"):
            try:
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
            except OSError:
                continue
        return sorted(entries)

    def size(self) -> int:
        """Bytes on disk."""
        return sum(size for _, size, _ in self._files())

    def prune(self) -> None:
        """Delete what was not used within the age limit, then the longest unused until the size limit holds."""
        now = time.time()
        oldest = now - self.max_days * 24 * 3600
        files = self._files()
        total = sum(size for _, size, _ in files)
        for used, size, path in files:
            torn = path.suffix == ".tmp" and now - used > _HALF_WRITTEN_SECONDS
            if torn or total > self.max_bytes or used < oldest:
                with contextlib.suppress(OSError):
                    path.unlink()
                total -= size
        for lock in (self.directory / "locks").glob("*"):
            with contextlib.suppress(OSError):  # of one in use: two processes may compute the same
                if lock.stat().st_mtime < oldest:
                    lock.unlink()

    def purge(self) -> None:
        """Delete every entry."""
        shutil.rmtree(self.directory, ignore_errors=True)


class MemoryCache(Cache):
    """Entries of one process, kept while the object lives: for work whose steps nobody asks for again."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull))
        self._entries: dict[str, Entry] = {}

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        self._entries[key] = entry

    def get_or_compute(
        self, key: str, compute: Callable[[], Entry], wait: Callable[[], None] = lambda: None
    ) -> tuple[Entry, bool]:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = compute()
            return entry, False
        return entry, True


def results_cache() -> Cache:
    """The cache of fits and results (SYNTH_RESULTS_DIR, else in the cache directory).

    An entry that nobody used for SYNTH_CACHE_DAYS days is deleted.

    Raises
    ------
    InputError
        If SYNTH_CACHE_DAYS is no positive number.
    """
    directory = os.environ.get("SYNTH_RESULTS_DIR")
    text = os.environ.get("SYNTH_CACHE_DAYS") or str(limits.CACHE_DAYS)
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not days > 0:
        raise InputError("SYNTH_CACHE_DAYS must be a number of days above 0.")
    root = Path(directory) if directory else cache_root() / "results"
    return Cache(root / "plain" if plain() else root, max_days=days)
