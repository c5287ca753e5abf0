"""Frozen dataclasses as cache entries and back, by pydantic; arrays stay arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter

from synth_core.system.cache import Cache, Entry

T = TypeVar("T")

# What a caller of `get_or_compute` tells while another process holds the key.
WAITING = "another run computes the same, and its result is taken as soon as it is there"

_CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind | None, config=_CONFIG)  # a dataclass by itself takes none here
    return _adapters[kind]


def to_entry(value: Any) -> Entry:
    """A frozen dataclass as plain values; arrays in a dictionary get an entry each, such as "draws:beta"."""
    entry: Entry = _adapter(type(value)).dump_python(value)
    for name, part in list(entry.items()):
        if isinstance(part, dict):
            arrays = {key: each for key, each in part.items() if isinstance(each, np.ndarray)}
            entry[name] = {key: each for key, each in part.items() if key not in arrays}
            entry |= {f"{name}:{key}": array for key, array in arrays.items()}
    return entry


def from_entry(kind: type[T], entry: Entry) -> T:
    """The dataclass again; raises ValueError if the entry is none of this kind."""
    values = {name: part for name, part in entry.items() if ":" not in name}
    for path, array in entry.items():
        name, _, key = path.partition(":")
        if key and isinstance(part := values.get(name, {}), dict):
            values[name] = part | {key: array}
    value: T | None = _adapter(kind).validate_python(values)
    assert value is not None
    return value


def read(cache: Cache, kind: type[T], key: str) -> T | None:
    """The value that is stored under a key; None if it is absent, or another kind of entry."""
    entry = cache.get(key)
    try:
        return None if entry is None else from_entry(kind, entry)
    except ValueError:
        return None


def get_or_compute(
    cache: Cache, kind: type[T], key: str, compute: Callable[[], T], wait: Callable[[], None] = lambda: None
) -> tuple[T, bool]:
    """The value under a key and whether it was stored; computed once however many processes ask.

    An entry of another kind counts as absent, as a damaged one does.
    """
    entry, cached = cache.get_or_compute(key, lambda: to_entry(compute()), wait)
    try:
        return from_entry(kind, entry), cached
    except ValueError:
        entry = to_entry(compute())
        cache.put(key, entry)
        return from_entry(kind, entry), False
