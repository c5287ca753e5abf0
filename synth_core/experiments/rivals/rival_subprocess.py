"""A slow rival in a process of its own: it can be ended at any time, and its memory goes back with it.

jax holds half a gigabyte after a fit, and neither AIM nor MST can be interrupted from within. Question and answer go
through pipes; no file is written.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from synth_core.errors import FitError, InputError
from synth_core.experiments.rivals.cells import Cells
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic
from synth_core.experiments.rivals.registry import RIVALS, RivalSpec, make_rival

LOOK_SECONDS = 0.25
_ROOT = Path(__file__).parents[3]


def make_in_subprocess(
    asked: RivalSpec, problem: Problem, counted: str, look: Callable[[], None] = lambda: None
) -> RivalSynthetic:
    """The synthetic data of a rival, by `make_rival`; a slow one runs in a child process and ends when `look` raises.

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
        return make_rival(asked, problem, counted)
    child = subprocess.Popen(
        [sys.executable, "-m", "synth_core.experiments.rivals.rival_subprocess"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a library's own words may quote counts
    )
    answers: list[bytes] = []
    question = _question(asked, problem, counted)
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
    if not answers or child.returncode != 0:
        raise FitError(f"{asked.label} ended without an answer (out of memory?). Declare fewer bins.")
    answer = json.loads(answers[0])
    if "error" in answer:
        raise InputError(answer["error"])
    rows = None if answer["rows"] is None else np.array(answer["rows"], dtype=np.int64)
    return RivalSynthetic(pd.DataFrame(answer["columns"]), rows)


def _question(asked: RivalSpec, problem: Problem, counted: str) -> bytes:
    """A line of JSON and the codes; a rival that is slow sees no values."""
    words = {
        "asked": asdict(asked),
        "counted": counted,
        "cells": [asdict(cells) for cells in problem.cells],
        "public_names": problem.public_names,
    }
    stream = io.BytesIO()
    stream.write(json.dumps(words).encode() + b"\n")
    for codes in (problem.sensitive, problem.public):
        np.save(stream, codes, allow_pickle=False)
    return stream.getvalue()


def _asked_again(question: bytes) -> tuple[RivalSpec, Problem, str]:
    """What `_question` wrote, without the values of the records."""
    stream = io.BytesIO(question)
    words = json.loads(stream.readline())
    sensitive, public = (np.load(stream, allow_pickle=False) for _ in range(2))
    cells = tuple(
        Cells(**each | {"categories": tuple(each["categories"]), "edges": tuple(each["edges"])})
        for each in words["cells"]
    )
    problem = Problem(pd.DataFrame(), cells, sensitive, tuple(words["public_names"]), public)
    return RivalSpec(**words["asked"]), problem, words["counted"]


def _answer(source: IO[bytes], out: IO[bytes]) -> None:
    """Read the question and write the answer, in the child process."""
    try:
        made = make_rival(*_asked_again(source.read()))
        columns = {name: made.frame[name].tolist() for name in made.frame.columns}
        answer = {"columns": columns, "rows": None if made.rows is None else made.rows.tolist()}
    except InputError as error:
        answer = {"error": str(error)}
    out.write(json.dumps(answer).encode())
    out.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)  # what libraries print is no answer
        _answer(sys.stdin.buffer, pipe)
