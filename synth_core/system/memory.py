"""Memory that a process has freed goes back to the system: allocators keep it for the next large table."""

from __future__ import annotations

import contextlib
import ctypes

import pyarrow


def give_back() -> None:
    """Ask Arrow and the C library to return what they hold unused; some milliseconds."""
    pyarrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # of glibc only
        ctypes.CDLL(None).malloc_trim(0)
