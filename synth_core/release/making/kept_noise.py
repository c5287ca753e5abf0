"""The noise of a release, kept in the state directory: it has no seed that it could be drawn with again.

What is kept are noisy counts, which the release has paid for. With them a killed run goes on, a release is made again,
and more data sets are made of the same counts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from synth_core.mechanisms.noise import OPENDP, NoisyAnswer, RecordedNoise
from synth_core.release.state import StateError, private_directory
from synth_core.system import files


def kept_noise(release: str, new: bool) -> RecordedNoise:
    """The noise of a release: as it was, then from opendp.

    Parameters
    ----------
    release : str
        Its id. The caller holds its lock.
    new : bool
        Whether more may be drawn: not once a draw was looked at or released.

    Raises
    ------
    StateError
        If what is kept is damaged.
    """
    path = private_directory("noise") / f"{release}.jsonl"
    return RecordedNoise(_read(path), lambda answer: _append(path, answer), OPENDP if new else None)


def _read(path: Path) -> list[NoisyAnswer]:
    """What was kept, one answer a line; a last line without its end is of a killed run, which has not used it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    try:
        read = [json.loads(line) for line in whole.splitlines()]
        return [
            NoisyAnswer(law, scale, np.array(counts, dtype=np.int64).reshape(shape))
            for law, scale, shape, counts in read
        ]
    except (ValueError, TypeError):
        raise StateError(
            "The noise of this release, in the state directory, is damaged. Restore it from a backup."
        ) from None


def _append(path: Path, answer: NoisyAnswer) -> None:
    line = json.dumps([answer.law, answer.scale, answer.counts.shape, answer.counts.ravel().tolist()])
    try:
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as out:
            out.write(f"{line}\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise StateError(files.explain(error, "The state directory, where noise is kept,")) from None
