"""Stored dataclasses: what comes back is what was kept, and any other entry counts as absent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from synth_core.system.cache import MemoryCache, content_key
from synth_core.system.entries import from_entry, get_or_compute, read, to_entry

KEY = content_key(what="an entry")


@dataclass(frozen=True)
class Part:
    name: str
    interval: tuple[float, float]


@dataclass(frozen=True)
class Whole:
    values: np.ndarray
    draws: dict[str, np.ndarray]
    parts: tuple[Part, ...]
    tuned: dict[str, int | float] = field(default_factory=dict)
    part: Part | None = None


WHOLE = Whole(
    np.arange(3.0),
    {"a": np.ones((2, 2)), "b": np.empty(0)},
    (Part("x", (0.0, np.inf)), Part("y", (1.5, 2.0))),
    {"k": 2.5, "refits": 3},
)


def same(first, second):
    for name in ("a", "b"):
        np.testing.assert_array_equal(first.draws[name], second.draws[name])
    np.testing.assert_array_equal(first.values, second.values)
    assert (first.parts, first.tuned, first.part) == (second.parts, second.tuned, second.part)
    assert list(map(type, first.tuned.values())) == list(map(type, second.tuned.values()))


def test_it_comes_back_from_the_disk_and_from_memory(cache):
    for each in (cache, MemoryCache()):
        found, cached = get_or_compute(each, Whole, KEY, lambda: WHOLE)
        again, cached_again = get_or_compute(each, Whole, KEY, lambda: pytest.fail("computed twice"))
        assert (cached, cached_again) == (False, True)
        same(found, WHOLE)
        same(again, WHOLE)
        same(read(each, Whole, KEY), WHOLE)


def test_arrays_are_not_copied():
    entry = to_entry(WHOLE)
    assert entry["values"] is WHOLE.values and entry["draws:a"] is WHOLE.draws["a"]
    assert from_entry(Whole, entry).draws["a"] is WHOLE.draws["a"]


@pytest.mark.parametrize(
    "change",
    [
        {"values": 3.0},
        {"values": None},
        {"draws": [1]},
        {"parts": [{"name": "x"}]},
        {"parts": [{"name": "x", "interval": [1.0]}]},
        {"tuned": {"k": "much"}},
        {"more": 1},
        {"more:a": np.zeros(2)},
    ],
)
def test_another_kind_of_entry_counts_as_absent(cache, change):
    cache.put(KEY, to_entry(WHOLE) | change)
    assert read(cache, Whole, KEY) is None
    found, cached = get_or_compute(cache, Whole, KEY, lambda: WHOLE)
    assert not cached
    same(found, WHOLE)
    same(read(cache, Whole, KEY), WHOLE)
