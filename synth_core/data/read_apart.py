"""Read a file in a process of its own, under limits of time and memory, so that a reading can be stopped.

A small file may ask for hours or for all memory: long rows, archives within archives, lengths that lie. Nothing but
the process that reads it pays for that. Run as a program, this module is that process: it gets the file through its
standard input and gives the table to its standard output, as Arrow columns: nothing that it says is ever run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc

from synth_core.data.codebook import Codebook
from synth_core.data.readers import ReadOptions, reader_errors_in_words
from synth_core.data.table import Table, read_table
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.apart import TooLong, end_with, limit_process, receive, send
from synth_core.system.characters import one_line, visible

_ROOT = Path(__file__).parents[2]
_WATCH_SECONDS = 0.2
WRITTEN = "written:"  # before the name of a column of cells as they were written


class Reading:
    """A file that is being read; close() it, or ask `finished` every few seconds.

    Parameters
    ----------
    content, name, options, confidential
        As for `read_table`.
    abandoned_after : float
        Seconds after the last look at it, after which it ends by itself: its browser has left.
    """

    def __init__(
        self,
        content: bytes,
        name: str,
        options: ReadOptions = ReadOptions(),
        confidential: bool = True,
        abandoned_after: float = 10.0,
    ):
        self.name = visible(one_line(name))
        self._started = self._looked = time.monotonic()
        self._abandoned_after = abandoned_after
        self._cancelled = self._left = False
        self._table: Table | None = None
        self._error = ""
        self._done = threading.Event()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "synth_core.data.read_apart", str(os.getpid())],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a parser's own words may quote cells
            start_new_session=True,
        )
        self._confidential = confidential
        question = json.dumps({"name": name, "options": _as_json(options)}).encode()
        threading.Thread(target=self._talk, args=(question, content), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def seconds(self) -> float:
        """How long it has been read."""
        return time.monotonic() - self._started

    def finished(self, wait: float = 0.0) -> bool:
        """Whether there is an answer; waits for it up to `wait` seconds."""
        self._looked = time.monotonic()
        return self._done.wait(wait)

    def table(self) -> Table:
        """What was read; waits for it. Raises InputError."""
        while not self.finished(1.0):
            pass
        if self._table is None:
            raise InputError(self._error)
        return self._table

    def close(self) -> None:
        """End the reading."""
        self._cancelled = True
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)

    def _watch(self) -> None:
        while not self._done.wait(_WATCH_SECONDS):
            self._left |= time.monotonic() - self._looked > self._abandoned_after
            if self._left or self.seconds > limits.READ_SECONDS:
                self._end()

    def _talk(self, question: bytes, content: bytes) -> None:
        child = self._child
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            send(child.stdin, question, content)
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        try:
            head, answer = receive(child.stdout, most_unpacked(len(content)))
        except TooLong:  # the reader ends, and the server has not grown
            self._end()
            head = answer = b""
            most = most_unpacked(len(content)) // 1024**2
            self._error = (
                f"The file {self.name} unpacks to more than {most:,} MB: too large to be read. Leave out columns of "
                "long texts, or of values that repeat."
            )
        child.stdout.close()
        status = child.wait()
        try:
            found = json.loads(head) if status == 0 else {}
            self._error = found.get("error", self._error)
            if "options" in found:
                self._table = _of_answer(found, answer, self.name, self._confidential)
        except (ValueError, TypeError, pyarrow.ArrowException, MemoryError):
            self._table = None
        if self._table is None and not self._error:
            self._error = self._reason(status)
        self._done.set()

    def _reason(self, status: int) -> str:
        if self._cancelled:
            return f"The reading of {self.name} was cancelled."
        if self._left:
            return f"The reading of {self.name} was ended because its page was left. Read it again."
        if self.seconds > limits.READ_SECONDS or -status == signal.SIGXCPU:
            return (
                f"The file {self.name} was not read within {limits.READ_SECONDS} seconds. Save the table as CSV or "
                "Parquet, with only the columns that are needed."
            )
        return (
            f"The file {self.name} could not be read: its reader ended, or needed more than "
            f"{limits.READ_MEMORY_MB / 1024:g} GiB of memory. Save the table as CSV or Parquet."
        )


def most_unpacked(size: int) -> int:
    """How many bytes a file of so many may become in the server."""
    mb = 1024**2
    return min(
        max(limits.UNPACKED_FREE_MB * mb, limits.UNPACKED_TIMES * size), 2 * limits.MAX_UNPACKED_MB * mb
    )


def _as_json(options: ReadOptions) -> dict[str, Any]:
    return {**vars(options), "codebook": options.codebook.model_dump(mode="json")}


def _options(found: dict[str, Any]) -> ReadOptions:
    """As they were before JSON, which knows no tuples."""
    codebook = Codebook.model_validate(found["codebook"])
    listed = {name: tuple(found[name]) for name in ("sheets", "notices")}
    return ReadOptions(**found | listed | {"codebook": codebook})


def _of_answer(found: dict[str, Any], answer: bytes, name: str, confidential: bool) -> Table:
    """The table of a reader's answer: its frame, and beside it the cells as they were written."""
    both = pyarrow.ipc.open_file(answer).read_all()
    n_columns = found["n_columns"]
    frame = both.select(list(range(n_columns))).to_pandas(integer_object_nulls=True)
    texts = both.select(list(range(n_columns, both.num_columns)))
    written = {each: texts.column(i).combine_chunks() for i, each in enumerate(texts.schema.names)}
    return Table(
        name,
        frame,
        confidential,
        _options(found["options"]),
        codebook=Codebook.model_validate(found["codebook"]),
        written={each.removeprefix(WRITTEN): cells for each, cells in written.items()},
        questions=found["questions"],
        labelled=found["labelled"],
    )


def main(parent: int) -> None:
    """Read what comes through standard input."""
    end_with(parent)
    os.nice(5)
    limit_process(limits.READ_MEMORY_MB, limits.READ_SECONDS)
    head, content = receive(sys.stdin.buffer)
    question = json.loads(head)
    name, columns = question["name"], io.BytesIO()
    try:
        table = read_table(content, name, _options(question["options"]))
        with reader_errors_in_words(name):
            both = pyarrow.Table.from_pandas(table.frame, preserve_index=False)
            for column, cells in table.written.items():
                both = both.append_column(WRITTEN + column, cells)
            with pyarrow.ipc.new_file(columns, both.schema) as stream:
                stream.write_table(both)
        answer: dict[str, Any] = {
            "options": _as_json(table.read_options),
            "n_columns": table.frame.shape[1],
            "codebook": table.codebook.model_dump(mode="json"),
            "questions": table.questions,
            "labelled": table.labelled,
        }
    except InputError as error:
        answer = {"error": str(error)}
    send(sys.stdout.buffer, json.dumps(answer).encode(), columns.getvalue())


if __name__ == "__main__":
    main(int(sys.argv[1]))
