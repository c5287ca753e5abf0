"""Summaries of finished mechanisms, kept beside their results: the server shows them before a worker is warm."""

from __future__ import annotations

from typing import Any

from synth_core.system.cache import Cache, content_key


def keep_summary(cache: Cache, key: str, summary: dict[str, Any]) -> None:
    """Store what a screen shows of the result `key`."""
    cache.put(content_key(kind="summary", result=key), {"summary": summary})


def stored_summary(cache: Cache, key: str, alone: bool = False) -> dict[str, Any] | None:
    """The summary of the result `key`, if it is stored.

    Parameters
    ----------
    alone : bool
        No screen asks for the result itself; else that must be stored too.
    """
    entry = cache.get(content_key(kind="summary", result=key)) if alone or cache.touch(key) else None
    return None if entry is None else entry["summary"] | {"cached": True}
