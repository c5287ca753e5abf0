"""A worker process of its own, and a pool of them. The only door to joblib.

Each worker is a single-process loky executor, so that one that dies takes its own task only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ProcessPoolExecutor,
    ShutdownExecutorError,
)

from synth_core.system.attempts import Attempts
from synth_core.system.backend import process_guard
from synth_core.system.backend.base import Answer, Failure, Prepare, WorkerLost, failure_of

# loky's tracker speaks of semaphores when a server ends its workers at once, and removes them by itself.
sys.warnoptions.append("ignore:resource_tracker:UserWarning")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerProcess:
    """One worker process, the leader of its own process group; started by `start`, ended by `kill`.

    Parameters
    ----------
    scratch : Path
        Working files of its own, so that those of a killed worker can be removed.
    prepare : callable
        Called there first, so that the first task does not pay for imports; its answer is not used.
    """

    def __init__(self, scratch: Path, prepare: Prepare | None = None):
        self._prepare = prepare
        self._scratch = scratch
        self._executor: ProcessPoolExecutor | None = None
        self.pid: int | None = None

    def start(self) -> None:
        """Start the process and prepare it."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(mode=0o700)
        environment = dict.fromkeys(_THREADS, "1") | {"TMPDIR": str(self._scratch)}
        self._executor = ProcessPoolExecutor(
            max_workers=1, initializer=process_guard.start, initargs=(os.getpid(),), env=environment
        )
        self.pid = self.call(os.getpid)
        if self._prepare is not None:
            self.call(self._prepare)

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
        pid = self.pid  # another thread may start the worker anew meanwhile
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self.pid = None
        if executor is not None:
            executor.shutdown(wait=False, kill_workers=True)


_Item = tuple[int, Any, Attempts]  # index, task, how often its worker died


class _Waiting:
    """Tasks that no worker has; those that were given back come first."""

    def __init__(self, tasks: Iterable[Any]):
        self._tasks = enumerate(tasks)
        self._again: list[_Item] = []
        self._lock = threading.Lock()

    def following(self) -> _Item | None:
        with self._lock:
            if self._again:
                return self._again.pop()
            item = next(self._tasks, None)
            return None if item is None else (*item, Attempts())

    def give_back(self, item: _Item) -> None:
        with self._lock:
            self._again.append(item)


def _tried(process: WorkerProcess, function: Callable[..., Any], item: _Item) -> Answer | None:
    """What came of a task; None if its worker died and it is to run again."""
    index, task, attempts = item
    try:
        if not process.running:
            process.start()
        return Answer(index, process.call(function, task))
    except WorkerLost:
        process.kill()
        if attempts.again():
            return None
        return Answer(index, Failure(f"its worker process ended {attempts.lost} times"))
    except Exception as error:
        return Answer(index, failure_of(error))


class LokyBackend:
    """Tasks on worker processes of this machine; a context manager that leaves none behind.

    Parameters
    ----------
    directory : Path
        Private, for the workers' files.
    prepare : callable
        Called once on every worker, before its first task.
    """

    def __init__(self, n_workers: int, directory: Path, prepare: Prepare | None = None):
        self.n_workers = n_workers
        self.description = f"{n_workers} process{'es' if n_workers != 1 else ''} of this machine"
        directory.mkdir(mode=0o700, exist_ok=True)
        self._directory = directory
        self._workers = [WorkerProcess(directory / f"worker-{i}", prepare) for i in range(n_workers)]
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
        waiting, answers = _Waiting(tasks), queue.Queue[Answer | None]()

        def feed(process: WorkerProcess) -> None:
            try:
                while not self._closed.is_set() and (item := waiting.following()) is not None:
                    answer = _tried(process, function, item)
                    if answer is None:
                        waiting.give_back(item)
                    else:
                        answers.put(answer)
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
