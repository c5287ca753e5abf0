"""The time of day, which may be set back: it is written down, and nothing is decided by it."""

from __future__ import annotations

import datetime
import time


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.fromtimestamp(time.time(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
