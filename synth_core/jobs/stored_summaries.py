"""Summaries of finished mechanisms, kept beside their results: the server shows them before a worker is warm."""

from __future__ import annotations

from synth_core.analysis.summary import ResultSummary
from synth_core.system.cache import Cache, content_key
from synth_core.system.entries import read, to_entry


def keep_summary(cache: Cache, key: str, summary: ResultSummary) -> None:
    """Store what a screen shows of the result `key`."""
    cache.put(_key(key), to_entry(summary))


def stored_summary(cache: Cache, key: str) -> ResultSummary | None:
    """The summary of the result `key`, if both are stored."""
    summary = read(cache, ResultSummary, _key(key)) if cache.touch(key) else None
    return None if summary is None else summary.from_cache()


def has_summary(cache: Cache, key: str) -> bool:
    """Whether the summary of the result `key` can be read."""
    return cache.touch(key) and cache.touch(_key(key))


def _key(result: str) -> str:
    return content_key(kind="summary of numbers", result=result)
