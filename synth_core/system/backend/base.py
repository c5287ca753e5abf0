"""What every backend answers with, and how a failure is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from synth_core.errors import Cancelled, FitError, InputError
from synth_core.system import files

Prepare = Callable[[], str | None]  # what a worker does before its first task; says what it lacks


class WorkerLost(RuntimeError):
    """A worker process ended while it had a task."""


@dataclass(frozen=True)
class Failure:
    """Why a task has no result, in words that quote no data. `bad_input` is the user's to mend."""

    message: str
    bad_input: bool = False

    def error(self) -> Exception:
        """The exception that the caller raises."""
        return InputError(self.message) if self.bad_input else FitError(self.message)


@dataclass(frozen=True)
class Answer:
    """What came of the task `index`: its value, or a Failure."""

    index: int
    value: Any


class Backend(Protocol):
    """Runs tasks somewhere. A context manager; leaving it ends what still runs."""

    description: str

    def __enter__(self) -> Backend: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Answer]: ...


def failure_of(error: BaseException) -> Failure:
    """An exception as an answer; one that is a fault of ours shows its kind only."""
    if isinstance(error, (InputError, FitError, Cancelled)):
        return Failure(str(error), isinstance(error, InputError))
    if isinstance(error, OSError):
        return Failure(files.explain(error, files.WORKING_FILES))
    cause: BaseException | None = error  # a cluster wraps what it could not read
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    if cause is not None:
        return Failure(
            f"There is no Python package '{cause.name}' there. Install this project's requirements.txt on every "
            f"machine, and start the scheduler and the workers with PYTHONPATH naming the project's directory."
        )
    return Failure(f"Something went wrong inside the program ({type(error).__name__}). Please report it.")


class SerialBackend:
    """Tasks one after another in this process: for a single short study, and to compare with."""

    description = "this process"

    def __enter__(self) -> SerialBackend:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Answer]:
        """Answers in the order of the tasks."""
        for index, task in enumerate(tasks):
            try:
                value = function(task)
            except Exception as error:
                value = failure_of(error)
            yield Answer(index, value)
