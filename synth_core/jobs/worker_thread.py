"""A lane: a thread that feeds one worker process. A killed worker breaks no other job."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Protocol

from synth_core.jobs import worker
from synth_core.jobs.job import Job
from synth_core.jobs.warm_up import warm_up
from synth_core.jobs.worker import WorkerReply
from synth_core.system.backend.base import WorkerLost, failure_of
from synth_core.system.backend.processes import WorkerProcess

WARM_UP_SECONDS = 3.0  # after which a process is started that nobody waits for: the first page loads before


class JobQueue(Protocol):
    """What a lane needs of the manager."""

    directory: Path
    closed: bool
    needed: threading.Event  # set once a job waits for a process
    warming: threading.Lock  # held by the lane whose process imports what it needs

    def next_job(self) -> Job | None: ...

    def finish(self, job: Job, reply: WorkerReply) -> None: ...

    def retry(self, job: Job) -> None: ...


class WorkerThread:
    """A thread that feeds one worker process."""

    def __init__(self, manager: JobQueue, index: int):
        self._manager = manager
        self._process = WorkerProcess(manager.directory / f"lane-{index}", warm_up)
        self._known: set[str] = set()
        self._thread = threading.Thread(target=self._run, name=f"lane-{index}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def _start(self) -> None:
        self._known.clear()
        self._process.start()

    def kill(self) -> None:
        """End the worker's whole process group."""
        self._process.kill()

    def _run(self) -> None:
        self._manager.needed.wait(WARM_UP_SECONDS)
        with self._manager.warming:  # one after another: the first is ready sooner, and a core is left
            if not self._manager.closed:
                self._restart()
        while (job := self._manager.next_job()) is not None:
            try:
                self._manager.finish(job, self._answer(job))
            except WorkerLost:
                if self._manager.closed:
                    return
                self._restart()
                self._manager.retry(job)
            except Exception as error:  # no toolchain, no room, or a fault of ours
                self._manager.finish(job, WorkerReply(error=failure_of(error).message))
            finally:
                if job.finished.is_set():
                    shutil.rmtree(job.directory, ignore_errors=True)
        self.kill()

    def _restart(self) -> None:
        self.kill()
        try:
            self._start()
        except Exception:  # reported with the first job, which will fail the same way
            self.kill()

    def _answer(self, job: Job) -> WorkerReply:
        if not self._process.running:
            self._start()
        task = job.task  # loses its tables when the job is cancelled meanwhile
        tables = list(task.given.tables)
        new = [table for table in tables if table.identity not in self._known]
        arguments = (task.sent, str(job.directory))
        reply: WorkerReply = self._process.call(worker.run_job, *arguments, new)
        if reply.needs_tables:
            reply = self._process.call(worker.run_job, *arguments, tables)
        self._known.update(table.identity for table in tables)
        return reply
