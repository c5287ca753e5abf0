"""Where tasks run: processes of this machine (loky), or an existing Dask cluster."""

from __future__ import annotations

import os

from synth_core.errors import InputError
from synth_core.system.backend.base import Answer, Backend, Failure, Prepare, SerialBackend
from synth_core.system.backend.processes import LokyBackend
from synth_core.system.scratch import working_directory

SCHEDULER = "SYNTH_DASK_SCHEDULER"
MAX_WORKERS = 256


def open_backend(n_workers: int | None = None, prepare: Prepare | None = None) -> Backend:
    """The backend that the environment names: a Dask cluster at SYNTH_DASK_SCHEDULER, else loky.

    Parameters
    ----------
    n_workers : int, optional
        Processes of this machine; None is one per core. 0 runs in this process.
    prepare : callable
        What every worker does before its first task; a Dask worker that lacks something is not used.
    """
    address = os.environ.get(SCHEDULER, "").strip()
    if address:
        from synth_core.system.backend.cluster import DaskBackend

        return DaskBackend(address, prepare)
    if n_workers == 0:
        return SerialBackend()
    if n_workers is not None and not 0 < n_workers <= MAX_WORKERS:
        raise InputError(f"--jobs must lie between 0 and {MAX_WORKERS} (given: {n_workers}).")
    return LokyBackend(n_workers or len(os.sched_getaffinity(0)), working_directory("synth-study"), prepare)


__all__ = ["Answer", "Backend", "Failure", "LokyBackend", "SerialBackend", "open_backend"]
