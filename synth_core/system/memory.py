"""Memory that a process has freed goes back to the system: allocators keep it for the next large table."""

from __future__ import annotations

import contextlib
import ctypes
import functools

import pyarrow

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, in malloc.h


def give_back() -> None:
    """Ask Arrow and the C library to return what they hold unused; some milliseconds."""
    pyarrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # of glibc only
        _keep_little()
        ctypes.CDLL(None).malloc_trim(0)


@functools.cache
def _keep_little() -> None:
    """Let no thread's heap keep more than 8 MB at its end, which malloc_trim leaves alone: glibc goes up to 64."""
    library = ctypes.CDLL(None)
    library.mallopt(_MMAP_THRESHOLD, 32 * 1024**2)  # what glibc comes to by itself; the next line freezes it
    library.mallopt(_TRIM_THRESHOLD, 8 * 1024**2)
