"""A slow rival in a process of its own: it can be ended at any time, and its memory goes back with it.

jax holds half a gigabyte after a fit, and neither AIM nor MST can be interrupted from within. Question and answer go
through pipes; no file is written.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from synth_core.errors import FitError, InputError
from synth_core.experiments.rivals.problem import Problem, Synthetic
from synth_core.experiments.rivals.registry import RIVALS, Asked, made_by

LOOK_SECONDS = 0.25
_ROOT = Path(__file__).parents[3]


def made_apart(
    asked: Asked, problem: Problem, counted: str, look: Callable[[], None] = lambda: None
) -> Synthetic:
    """As `made_by`; a slow rival runs in a child process, which ends when `look` raises.

    Parameters
    ----------
    look : callable
        Called several times a second.

    Raises
    ------
    InputError
        Of the rival.
    FitError
        If the process ended without an answer.
    """
    if not RIVALS[asked.who].slow:
        look()
        return made_by(asked, problem, counted)
    child = subprocess.Popen(
        [sys.executable, "-m", "synth_core.experiments.rivals.apart"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a library's own words may quote counts
    )
    answers: list[bytes] = []
    question = pickle.dumps((asked, problem, counted))
    talk = threading.Thread(target=lambda: answers.append(child.communicate(question)[0]), daemon=True)
    talk.start()
    try:
        while talk.is_alive():
            look()
            talk.join(LOOK_SECONDS)
    finally:
        child.kill()
        talk.join()
    look()  # whoever cancels ends the child first
    answer = pickle.loads(answers[0]) if answers and child.returncode == 0 else None
    if isinstance(answer, InputError):
        raise answer
    if not isinstance(answer, Synthetic):
        raise FitError(f"{asked.label} ended without an answer (out of memory?). Declare fewer bins.")
    return answer


def _answer(source: IO[bytes], out: IO[bytes]) -> None:
    """In the child: read the question, and write the answer."""
    answer: Synthetic | InputError
    try:
        answer = made_by(*pickle.load(source))
    except InputError as error:
        answer = error
    out.write(pickle.dumps(answer))
    out.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)  # what libraries print is no answer
        _answer(sys.stdin.buffer, pipe)
