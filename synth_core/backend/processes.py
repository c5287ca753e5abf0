"""A worker process of its own, and a pool of them. The only door to joblib.

Each worker is a single-process loky executor, so that one that dies takes its own task only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ProcessPoolExecutor,
    ShutdownExecutorError,
)

from synth_core import guard
from synth_core.backend.base import AGAIN, Answer, Failure, WorkerLost, failure_of

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerProcess:
    """One worker process, the leader of its own process group; started by `start`, ended by `kill`.

    Parameters
    ----------
    scratch : Path
        Working files of its own, so that those of a killed worker can be removed.
    """

    def __init__(self, scratch: Path):
        self._scratch = scratch
        self._executor: ProcessPoolExecutor | None = None
        self.pid: int | None = None

    def start(self) -> None:
        """Start the process and import what the first fit needs."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(mode=0o700)
        environment = dict.fromkeys(_THREADS, "1") | {"TMPDIR": str(self._scratch)}
        self._executor = ProcessPoolExecutor(
            max_workers=1, initializer=guard.start, initargs=(os.getpid(),), env=environment
        )
        self.pid = self.call(os.getpid)
        self.call(guard.warm_up)

    @property
    def running(self) -> bool:
        return self._executor is not None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's answer, computed there; raises WorkerLost if the process ends meanwhile."""
        if self._executor is None:
            raise WorkerLost("the worker process is not running")
        try:
            return self._executor.submit(function, *arguments).result()
        except (BrokenProcessPool, ShutdownExecutorError) as error:
            raise WorkerLost("the worker process ended") from error

    def kill(self) -> None:
        """End the worker's whole process group, its samplers with it."""
        executor, self._executor = self._executor, None
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.pid = None
        if executor is not None:
            executor.shutdown(wait=False, kill_workers=True)


class LokyBackend:
    """Tasks on worker processes of this machine; a context manager that leaves none behind.

    Parameters
    ----------
    directory : Path
        Private, for the workers' files.
    """

    def __init__(self, n_workers: int, directory: Path):
        self.n_workers = n_workers
        self.description = f"{n_workers} process{'es' if n_workers != 1 else ''} of this machine"
        directory.mkdir(mode=0o700, exist_ok=True)
        self._directory = directory
        self._workers = [WorkerProcess(directory / f"worker-{i}") for i in range(n_workers)]
        self._closed = threading.Event()

    def __enter__(self) -> LokyBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        for each in self._workers:
            each.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def worker_pids(self) -> list[int]:
        """The processes that run now."""
        return [pid for each in self._workers if (pid := each.pid) is not None]

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Answer]:
        """Answers as they come, each with its task's index.

        A task whose worker died runs again on a new one, at most twice; a failure is an answer.
        """
        waiting = iter(enumerate(tasks))
        again: list[tuple[int, Any, int]] = []
        lock = threading.Lock()
        answers: queue.Queue[Answer | None] = queue.Queue()

        def following() -> tuple[int, Any, int] | None:
            with lock:
                if self._closed.is_set():
                    return None
                if again:
                    return again.pop()
                item = next(waiting, None)
                return None if item is None else (*item, 0)

        def feed(process: WorkerProcess) -> None:
            try:
                while (item := following()) is not None:
                    index, task, lost = item
                    try:
                        if not process.running:
                            process.start()
                        answers.put(Answer(index, process.call(function, task)))
                    except WorkerLost:
                        process.kill()
                        if lost < AGAIN:
                            with lock:
                                again.append((index, task, lost + 1))
                        else:
                            answers.put(Answer(index, Failure("its worker process ended three times")))
                    except Exception as error:
                        answers.put(Answer(index, failure_of(error)))
            finally:
                if self._closed.is_set():  # it may have started while the others were ended
                    process.kill()
                answers.put(None)

        threads = [threading.Thread(target=feed, args=(each,), daemon=True) for each in self._workers]
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            try:
                answer = answers.get(timeout=0.5)  # a wait without an end would hold back Ctrl-C
            except queue.Empty:
                continue
            if answer is None:
                running -= 1
            else:
                yield answer
