"""One job manager a server."""

from __future__ import annotations

import threading

from synth_core.jobs.manager import JobManager

_lock = threading.Lock()
_manager: JobManager | None = None


def manager() -> JobManager:
    """The server's job manager, started with the first request for it."""
    global _manager
    with _lock:
        if _manager is None:
            _manager = JobManager()
        return _manager


def close_manager() -> None:
    """End the workers and their samplers."""
    global _manager
    with _lock:
        if _manager is not None:
            _manager.close()
            _manager = None
