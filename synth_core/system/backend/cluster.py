"""Tasks on an existing Dask cluster. The only door to dask and distributed.

`Client.submit` is used, not joblib's own Dask backend, which waits for ever when a worker is
killed or lacks a package.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from synth_core.errors import Cancelled, FitError, InputError
from synth_core.system.attempts import Attempts
from synth_core.system.backend.base import Answer, Failure, Prepare, failure_of

CONNECT_SECONDS = 5
PREPARE_SECONDS = 900  # a worker without a toolchain assembles one first
NO_WORKERS_SECONDS = 30
LOOK_SECONDS = 1.0  # between two looks at which workers are there
GO_ON = "What was finished is stored; the same command goes on from there."
AHEAD = 2  # tasks sent per worker thread, so that none waits for the next


_LOST = object()
_stopped: set[str] = set()  # on a worker: the runs that were cancelled
_one_at_a_time = threading.Lock()  # cmdstanpy's output is read per process, not per thread


def _stop(name: str) -> None:
    _stopped.add(name)


def _work(function: Callable[..., Any], task: Any, name: str) -> Any:
    """Runs on a worker: the task, unless its run was cancelled."""

    def check() -> None:
        if name in _stopped:
            raise Cancelled("cancelled")

    with _one_at_a_time:
        check()
        return function(task, check)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "SYNTH_DASK_SCHEDULER is set, but the package 'distributed' is not installed here: "
            "pip install -r requirements-dask.txt"
        ) from None
    return distributed


class DaskBackend:
    """Tasks on the workers of a scheduler that somebody else started.

    Parameters
    ----------
    address : str
        Such as tcp://10.0.0.5:8786.
    prepare : callable
        Called once on every worker, before its first task: returns None, or what is missing.

    Raises
    ------
    FitError
        Within seconds, if nothing answers there or no worker can be used.
    """

    def __init__(self, address: str, prepare: Prepare | None = None):
        distributed = _distributed()
        if "://" not in address:
            raise InputError(f"SYNTH_DASK_SCHEDULER must look like tcp://host:port (given: {address}).")
        try:
            self._client = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="synth_core"
            )
        except (OSError, TimeoutError, ValueError, RuntimeError):
            raise FitError(
                f"No Dask scheduler answers at {address} (waited {CONNECT_SECONDS} s). Start one with "
                f"'dask scheduler', or unset SYNTH_DASK_SCHEDULER to use this machine."
            ) from None
        self._name = uuid.uuid4().hex[:12]
        self._prepare = prepare
        self._futures: dict[Any, tuple[int, Any, Attempts]] = {}
        try:
            self._check_workers(address)
        except BaseException:
            self._client.close(timeout=2)
            raise

    def _check_workers(self, address: str) -> None:
        workers = self._workers()
        if not workers:
            raise FitError(f"The Dask scheduler at {address} has no workers; start some with 'dask worker'.")
        self._slots = sum(each["nthreads"] for each in workers.values())
        self.description = f"{len(workers)} Dask workers at {address}"
        if self._prepare is None:
            return
        # As tasks, not by Client.run: a toolchain takes minutes, and the worker must stay responsive.
        asked = {
            each: self._client.submit(
                self._prepare, workers=[each], pure=False, key=f"synth-{self._name}-{each}"
            )
            for each in workers
        }
        for each, future in asked.items():
            missing = self._answered(each, future)
            if missing:
                raise FitError(f"The Dask worker {each} cannot be used: {missing}")

    def _answered(self, worker: str, future: Any) -> str | None:
        """What the worker lacks; None for one that lacks nothing, or that left meanwhile."""
        started = looked = time.monotonic()
        while not future.done():
            time.sleep(0.005)
            now = time.monotonic()
            if now - looked < LOOK_SECONDS:
                continue
            looked = now
            if worker not in self._workers():
                return None
            if now - started > PREPARE_SECONDS:
                return f"it did not answer within {PREPARE_SECONDS} s."
        if future.status == "cancelled":
            return None
        error = future.exception()
        return future.result() if error is None else failure_of(error).message

    def __enter__(self) -> DaskBackend:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # whatever the cluster answers now, nobody waits for it
            if self._futures:
                self._client.cancel(list(self._futures), force=True)
                self._client.run(_stop, self._name, on_error="ignore")
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Answer]:
        """Answers as they come. The scheduler moves a lost worker's tasks to the others."""
        distributed = _distributed()
        waiting = iter(enumerate(tasks))
        done = distributed.as_completed(loop=self._client.loop, with_results=False, raise_errors=False)

        def send(index: int, task: Any, attempts: Attempts) -> None:
            # A key of its own: numbers do not depend on it, and nothing is taken from another run.
            future = self._client.submit(
                _work,
                function,
                task,
                self._name,
                key=f"synth-{self._name}-{index}-{attempts.lost}",
                pure=False,
                retries=0,
            )
            self._futures[future] = (index, task, attempts)
            done.add(future)

        for _ in range(AHEAD * self._slots):
            item = next(waiting, None)
            if item is not None:
                send(*item, Attempts())
        while self._futures:
            future = self._next(done)
            index, task, attempts = self._futures.pop(future)
            value = self._value(distributed, future)
            if value is _LOST and attempts.again():
                send(index, task, attempts)
                continue
            item = next(waiting, None)
            if item is not None:
                send(*item, Attempts())
            lost = Failure(f"its worker ended {attempts.lost} times")
            yield Answer(index, lost if value is _LOST else value)

    def _next(self, done: Any) -> Any:
        """The next future that ended; an error when nothing is left that could end one."""
        looked, alone_since = time.monotonic(), None
        while not done.has_ready():
            time.sleep(0.005)
            now = time.monotonic()
            if now - looked < LOOK_SECONDS:
                continue
            looked = now
            alone_since = None if self._workers() else (alone_since or now)
            if alone_since is not None and now - alone_since > NO_WORKERS_SECONDS:
                raise FitError(f"The Dask scheduler has had no workers for {NO_WORKERS_SECONDS} s. {GO_ON}")
        return next(done)

    def _workers(self) -> dict[str, Any]:
        """The workers that the scheduler knows; raises FitError when it answers no more."""
        try:
            if self._client.status != "running":
                raise OSError
            return self._client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, ValueError):
            raise FitError(f"The connection to the Dask scheduler was lost. {GO_ON}") from None

    @staticmethod
    def _value(distributed: Any, future: Any) -> Any:
        """The result or a Failure; _LOST when the worker died and the task is to run again."""
        if future.status == "finished":
            return future.result()
        if future.status in ("cancelled", "lost"):
            return _LOST
        error = future.exception()
        return _LOST if isinstance(error, distributed.KilledWorker) else failure_of(error)
