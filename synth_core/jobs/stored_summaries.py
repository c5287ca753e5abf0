"""Summaries of finished mechanisms, kept beside their results: the server shows them before a worker is warm."""

from __future__ import annotations

from typing import Any

from synth_core.system.cache import Cache, content_key


def keep_summary(cache: Cache, key: str, summary: dict[str, Any]) -> None:
    """Store what a screen shows of the result `key`."""
    cache.put(_key(key), {"summary": summary})


def stored_summary(cache: Cache, key: str) -> dict[str, Any] | None:
    """The summary of the result `key`, if both are stored."""
    entry = cache.get(_key(key)) if cache.touch(key) else None
    return None if entry is None else entry["summary"] | {"cached": True}


def has_summary(cache: Cache, key: str) -> bool:
    """Whether the summary of the result `key` can be read."""
    return cache.touch(key) and cache.touch(_key(key))


def _key(result: str) -> str:
    return content_key(kind="summary of numbers", result=result)
