"""Markov chains as processes: started with the command line that cmdstanpy composes, followed, and read.

Reading the output once and waiting for the processes without polling costs a small fit half of what
cmdstanpy's own `sample` does.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.engine import stop_reason

_ITERATION = re.compile(rb"Iteration:\s*(\d+)\s*/\s*(\d+)")
_PIPE_BYTES = 2**16


@dataclass(frozen=True)
class Chains:
    """What chains wrote.

    Attributes
    ----------
    values : array of shape (n_draws, n_chains, n_columns)
    columns : names of the columns, as in the sampler's CSV: "beta.1".
    inv_metric : array of shape (n_chains, n_coordinates)
        Its diagonal; without columns where it is the identity.
    step_size : array of shape (n_chains,)
    """

    values: np.ndarray
    columns: tuple[str, ...]
    inv_metric: np.ndarray
    step_size: np.ndarray

    def variable(self, name: str) -> np.ndarray:
        """Draws of a Stan variable, of shape (n_draws * n_chains, ...), chains one after another."""
        places = [i for i, column in enumerate(self.columns) if column.split(".")[0] == name]
        shape: tuple[int, ...] = (0,)  # a variable without elements is not written
        if places:
            shape = tuple(int(size) for size in self.columns[places[-1]].split(".")[1:])
        found = np.swapaxes(self.values[:, :, places], 0, 1)
        found = found.reshape(-1, *shape[::-1])  # the first index runs fastest
        return np.ascontiguousarray(found.transpose(0, *range(len(shape), 0, -1)))


def command_lines(
    executable: Path, data: Path, outputs: list[Path], sampling: Any, seed: int, **others: Any
) -> list[list[str]]:
    """What starts each chain.

    Parameters
    ----------
    sampling : cmdstanpy's SamplerArgs
    others : of cmdstanpy's CmdStanArgs
    """
    from cmdstanpy.cmdstan_args import CmdStanArgs

    every = CmdStanArgs(
        executable.stem,
        str(executable),
        chain_ids=list(range(1, len(outputs) + 1)),
        method_args=sampling,
        data=str(data),
        seed=seed,
        sig_figs=17,
        **others,
    )
    return [every.compose_command(place, str(output)) for place, output in enumerate(outputs)]


def run_together(
    commands: list[list[str]],
    scratch: Path,
    progress: Callable[[float], None] = lambda share: None,
    environment: dict[str, str] | None = None,
) -> None:
    """Run chains at the same time; what each prints goes to a file in `scratch`.

    Parameters
    ----------
    progress : callable
        Called with the share of iterations done. What it raises ends the chains.
    environment : dict, optional
        Of the processes, beside that of this one.

    Raises
    ------
    RuntimeError
        With the return codes, if a chain failed.
    """
    done = [0.0] * len(commands)
    with contextlib.ExitStack() as stack:
        ready = stack.enter_context(selectors.DefaultSelector())
        running = []
        for place, command in enumerate(commands):
            process = stack.enter_context(_started(command, environment or {}))
            stack.callback(_end, process)
            console = stack.enter_context((scratch / f"console-{place}.txt").open("wb"))
            assert process.stdout is not None
            ready.register(process.stdout, selectors.EVENT_READ, (place, console))
            running.append(process)
        while ready.get_map():
            for key, _ in ready.select():
                place, console = key.data
                text = os.read(key.fd, _PIPE_BYTES)
                console.write(text)
                if not text:
                    ready.unregister(key.fileobj)
                for match in _ITERATION.finditer(text):  # one that is cut in two is told by the next
                    done[place] = int(match[1]) / int(match[2])
                    progress(sum(done) / len(done))
        codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError(f"retcodes={codes}")


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | environment,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()


def read_outputs(files: list[Path], draws: int) -> Chains:
    """What chains wrote; raises ValueError if it is not all there."""
    stop_reason.require_whole([str(file) for file in files])
    columns, tables, metrics, steps = b"", [], [], []
    for file in files:
        lines = file.read_bytes().split(b"\n")
        comments = [line for line in lines if line.startswith(b"#")]
        columns, *rows = [line for line in lines if line and not line.startswith(b"#")]
        numbers = np.fromstring(b",".join(rows), sep=",")
        tables.append(numbers.reshape(draws, columns.count(b",") + 1))
        metrics.append(_after(b"# Diagonal elements of inverse mass matrix", comments))
        steps.append(float(next(x for x in comments if x.startswith(b"# Step size")).split(b"=")[1]))
    names = tuple(columns.decode().split(","))
    return Chains(np.stack(tables, axis=1), names, np.array(metrics), np.array(steps))


def _after(title: bytes, comments: list[bytes]) -> np.ndarray:
    """The numbers in the line after a title."""
    for line, following in pairwise(comments):
        if line.startswith(title):
            return np.fromstring(following[1:], sep=",")
    return np.empty(0)
