"""Background processes: a queue of our own, one single-process loky executor per core.

A lane is a thread with one worker process; a worker that dies
takes its own job only, which is queued again. Jobs are keyed by content: two sessions that
ask the same share one job. A job that no session asks for any more is cancelled. Background
jobs (a map's points) wait behind those that somebody waits for, and make room for them: what
they had finished is in the cache, so that giving way costs at most one fit.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

from synth_core.analysis.summary import ResultSummary
from synth_core.jobs.job import Job, cancelled_job, refused_job
from synth_core.jobs.stored_summaries import stored_summary
from synth_core.jobs.task import Task
from synth_core.jobs.worker import WorkerReply
from synth_core.jobs.worker_thread import WorkerThread
from synth_core.system import files
from synth_core.system.cache import results_cache
from synth_core.system.scratch import working_directory

FINISHED_KEPT = 64  # that nobody looks at; others are found in the cache, and take up to 0.8 MiB each


class JobManager:
    """Runs jobs on `n_lanes` worker processes. Thread-safe; close() it."""

    def __init__(self, n_lanes: int | None = None):
        self.n_lanes = n_lanes or max(1, min(4, os.cpu_count() or 1))
        self.directory = working_directory("synth-jobs")
        self._condition = threading.Condition()
        self._queue: deque[Job] = deque()
        self._background: deque[Job] = deque()
        self._idle = 0  # lanes that wait for a job
        self.needed = threading.Event()
        self.warming = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._wanted: dict[str, set[str]] = {}
        self._stopped: dict[str, set[str]] = {}  # what an owner cancelled, until it runs it again
        self.closed = False
        self.storage_problem = ""  # why results are shown and not kept
        self._counter = 0
        self._lanes = [WorkerThread(self, i) for i in range(self.n_lanes)]
        self._housekeeper = threading.Thread(target=self._sweep, daemon=True)
        self._housekeeper.start()

    # -- what a session calls ------------------------------------------------------------------

    def submit(self, owner: str, tasks: Sequence[Task[Any]]) -> list[Job]:
        """Jobs for these tasks, new or shared; what `owner` wanted before is dropped.

        What samples no posterior is begun first: it is there while the others still fit.

        What this owner cancelled stays cancelled for it, and what it saw fail stays failed,
        until `forget`; for another owner it runs.
        """
        jobs: dict[str, Job] = {}
        stored = self._stored(tasks)
        refused = {task.key: task.refusal for task in tasks}  # made before all lanes wait
        with self._condition:
            for task in sorted(tasks, key=lambda each: each.samples):
                if task.key in self._stopped.get(owner, set()):
                    jobs[task.key] = cancelled_job(task)
                    continue
                if refused[task.key]:
                    jobs[task.key] = refused_job(task, refused[task.key])
                    continue
                job = self._jobs.get(task.key)
                if job is not None and job.state == "failed" and owner not in job.shown_to:
                    del self._jobs[task.key]
                    job = None
                if job is None:
                    self._counter += 1
                    directory = self.directory / str(self._counter)  # made when the job starts
                    job = Job(task, directory)
                    self._jobs[task.key] = job
                    if task.key in stored:
                        job.state, job.answer = "done", stored[task.key]
                        job.end()
                    else:
                        (self._background if task.background else self._queue).append(job)
                        self.needed.set()
                job.last_asked = time.monotonic()
                job.shown_to.add(owner)
                self._jobs.move_to_end(task.key)
                jobs[task.key] = job
            self._wanted[owner] = set(jobs)
            self._drop_unwanted()
            self._make_room()
            self._condition.notify_all()
        return [jobs[task.key] for task in tasks]

    def cancel(self, owner: str) -> None:
        """Cancel what `owner` waits for; what another session waits for too goes on for that one."""
        with self._condition:
            keys = self._wanted.get(owner, set())
            unfinished = {k for k in keys if k in self._jobs and not self._jobs[k].finished.is_set()}
            self._stopped.setdefault(owner, set()).update(unfinished)
            self.drop(owner)

    def drop(self, owner: str) -> None:
        """Forget what `owner` wanted: it may ask again, and nothing is marked as cancelled."""
        with self._condition:
            self._wanted.pop(owner, None)
            self._drop_unwanted()

    def forget(self, owner: str, jobs: list[Job]) -> None:
        """Let what failed or was cancelled run again when `owner` asks for it next."""
        with self._condition:
            self._stopped.pop(owner, None)
            for job in jobs:
                if job.state == "failed" or job.task.repeated:
                    self._jobs.pop(job.key, None)

    def touch(self, jobs: list[Job]) -> None:
        """Say that a session still looks at these jobs."""
        for job in jobs:
            job.last_asked = time.monotonic()

    def ahead_of(self, job: Job) -> int:
        """How many tasks a queued one waits for: those that run, and those before it."""
        with self._condition:
            running = sum(each.state == "running" for each in self._jobs.values())
            queue = self._background if job.background else self._queue
            before = [each for each in queue if each.state == "queued"]
            return running + (before.index(job) if job in before else 0)

    def worker_pids(self) -> list[int]:
        """Process ids of the running workers."""
        return [pid for lane in self._lanes if (pid := lane.pid) is not None]

    def close(self) -> None:
        """End every worker and its sampler processes, and remove all working files."""
        with self._condition:
            self.closed = True
            self.needed.set()
            for job in self._jobs.values():
                self._cancel(job)
            self._condition.notify_all()
        for lane in self._lanes:
            lane.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    # -- inside --------------------------------------------------------------------------------

    def _stored(self, tasks: Sequence[Task[Any]]) -> dict[str, ResultSummary]:
        """Summaries of results that an earlier server kept, read here: no worker need be warm for them."""
        new = [t.key for t in tasks if t.stored and t.key not in self._jobs]
        summaries = {key: stored_summary(results_cache(), key) for key in new}
        return {key: summary for key, summary in summaries.items() if summary is not None}

    def _drop_unwanted(self) -> None:
        wanted = set().union(*self._wanted.values())
        for job in list(self._jobs.values()):
            if job.key not in wanted and job.state in ("queued", "running"):
                self._cancel(job)
                self._jobs.pop(job.key, None)  # asked for again, it starts anew
        finished = [job for job in self._jobs.values() if job.finished.is_set() and job.key not in wanted]
        for job in finished[: max(0, len(finished) - FINISHED_KEPT)]:
            self._jobs.pop(job.key, None)

    def _cancel(self, job: Job) -> None:
        if job.finished.is_set():
            return
        if job.state == "queued":  # no worker has it
            shutil.rmtree(job.directory, ignore_errors=True)
        else:  # its lane removes the directory once the worker has let go of it
            with contextlib.suppress(OSError):
                (job.directory / "cancel").touch()
        job.state = "cancelled"
        job.end()

    def _make_room(self) -> None:
        """Ask as many background jobs as needed to give their process to what waits."""
        running = [job for job in self._jobs.values() if job.state == "running" and job.background]
        waiting = sum(job.state == "queued" for job in self._queue)
        needed = waiting - self._idle - sum(job.yielding for job in running)
        for job in [job for job in reversed(running) if not job.yielding][: max(0, needed)]:
            job.yielding = True
            with contextlib.suppress(OSError):
                (job.directory / "cancel").touch()

    def _sweep(self) -> None:
        while not self.closed:
            time.sleep(1.0)
            with self._condition:
                now = time.monotonic()
                for owner, keys in list(self._wanted.items()):
                    mine = [self._jobs[key] for key in keys if key in self._jobs]
                    if all(job.abandoned(now) for job in mine):
                        del self._wanted[owner]
                        self._stopped.pop(owner, None)
                self._drop_unwanted()

    def next_job(self) -> Job | None:
        """The next queued job, waiting for one; None when the manager is closed."""
        with self._condition:
            while True:
                for queue in (self._queue, self._background):
                    while queue:
                        job = queue.popleft()
                        if job.state == "queued" and self._given_directory(job):
                            job.state = "running"
                            return job
                if self.closed:
                    return None
                self._idle += 1
                self._condition.wait()
                self._idle -= 1

    def _given_directory(self, job: Job) -> bool:
        """Make the job's directory; where there is no room for one the job has failed, not the lane."""
        try:
            self.directory.mkdir(mode=0o700, exist_ok=True)  # a system may clear it under a running server
            job.directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            job.state = "failed"
            job.error = files.explain(error, files.WORKING_FILES)
            job.end()
        return job.state == "queued"

    def finish(self, job: Job, reply: WorkerReply) -> None:
        """Record what a worker said."""
        with self._condition:
            if reply.storage is not None:
                self.storage_problem = reply.storage
            if job.finished.is_set():
                return
            if reply.cancelled and job.yielding:
                job.state, job.yielding = "queued", False
                shutil.rmtree(job.directory, ignore_errors=True)  # with its request to cancel
                self._background.appendleft(job)
                self._condition.notify()
                return
            if reply.cancelled:
                job.state = "cancelled"
            elif reply.error:
                job.state, job.error = "failed", reply.error
            else:
                job.state, job.answer = "done", reply.answer
            job.end()

    def retry(self, job: Job) -> None:
        """Queue a job again whose worker died, twice at most; one that was asked to give way has lost nothing."""
        with self._condition:
            if job.finished.is_set():
                return
            if not job.yielding and not job.attempts.again():
                job.state = "failed"
                job.error = (
                    "The background process ended without an answer "
                    f"{job.attempts.lost} times (out of memory?). Try fewer draws."
                )
                job.end()
                return
            job.state, job.yielding = "queued", False
            shutil.rmtree(job.directory, ignore_errors=True)
            (self._background if job.background else self._queue).appendleft(job)
            self._condition.notify()
