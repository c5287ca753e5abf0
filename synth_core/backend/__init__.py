"""Where tasks run: processes of this machine (loky), or an existing Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable

from synth_core.backend.base import Answer, Backend, Failure, SerialBackend
from synth_core.backend.processes import LokyBackend
from synth_core.errors import InputError
from synth_core.working import working_directory

SCHEDULER = "SYNTH_DASK_SCHEDULER"
MAX_WORKERS = 256


def open_backend(n_workers: int | None = None, prepare: Callable[[], str | None] | None = None) -> Backend:
    """The backend that the environment names: a Dask cluster at SYNTH_DASK_SCHEDULER, else loky.

    Parameters
    ----------
    n_workers : int, optional
        Processes of this machine; None is one per core. 0 runs in this process.
    prepare : callable
        What a Dask worker checks before its first task.
    """
    address = os.environ.get(SCHEDULER, "").strip()
    if address:
        from synth_core.backend.cluster import DaskBackend

        return DaskBackend(address, prepare)
    if n_workers == 0:
        return SerialBackend()
    if n_workers is not None and not 0 < n_workers <= MAX_WORKERS:
        raise InputError(f"--jobs must lie between 0 and {MAX_WORKERS} (given: {n_workers}).")
    return LokyBackend(n_workers or len(os.sched_getaffinity(0)), working_directory("synth-study"))


__all__ = ["Answer", "Backend", "Failure", "LokyBackend", "SerialBackend", "open_backend"]
