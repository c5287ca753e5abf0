"""A lane: a thread that feeds one worker process. A killed worker breaks no other job."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, Any

from synth_core import storage, worker
from synth_core.backend.base import WorkerLost
from synth_core.backend.processes import WorkerProcess
from synth_core.errors import FitError

if TYPE_CHECKING:
    from synth_core.jobs import JobManager
    from synth_core.tasks import Job


class Lane:
    """A thread that feeds one worker process."""

    def __init__(self, manager: JobManager, index: int):
        self._manager = manager
        self._process = WorkerProcess(manager.directory / f"lane-{index}")
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
        self._restart()
        while (job := self._manager.next_job()) is not None:
            try:
                self._manager.finish(job, self._answer(job))
            except WorkerLost:
                if self._manager.closed:
                    return
                self._restart()
                self._manager.retry(job)
            except FitError as error:  # no toolchain: the advice is in the message
                self._manager.finish(job, {"fit_error": str(error)})
            except OSError as error:
                words = storage.explain(error, storage.WORKING_FILES)
                self._manager.finish(job, {"fit_error": words})
            except Exception as error:  # a fault of ours: reported, never a traceback on screen
                self._manager.finish(
                    job,
                    {
                        "fit_error": "Something went wrong inside the program "
                        f"({type(error).__name__}). Please report it."
                    },
                )
            finally:
                if job.finished.is_set():
                    shutil.rmtree(job.directory, ignore_errors=True)

    def _restart(self) -> None:
        self.kill()
        try:
            self._start()
        except Exception:  # reported with the first job, which will fail the same way
            self.kill()

    def _answer(self, job: Job) -> dict[str, Any]:
        if not self._process.running:
            self._start()
        tables = list(job.tables)  # emptied when the job is cancelled meanwhile
        new = [table for table in tables if table.fingerprint not in self._known]
        arguments = (job.spec, str(job.directory))
        answer = self._process.call(worker.run_job, *arguments, new)
        if "needs_tables" in answer:
            answer = self._process.call(worker.run_job, *arguments, tables)
        self._known.update(table.fingerprint for table in tables)
        return answer
