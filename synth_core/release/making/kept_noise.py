"""The noisy counts of a release, kept in the state directory: noise has no seed that it could be drawn with again.

With them a killed run goes on, a release is made again, and more data sets are made of the same counts. The file is
there from the reservation on, and ends with a mark once all counts of the mechanism are drawn: until then nothing was
shown of them, and what is missing may be drawn; after it, or without the file, nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from synth_core.mechanisms.noise import OPENDP, NoisyAnswer, RecordedNoise
from synth_core.release.ledger.balances import Reservation
from synth_core.release.state import StateError, private_directory
from synth_core.system import files

END = b"end\n"


def kept_noise(reserved: Reservation) -> RecordedNoise:
    """The noise of a release: as it was, then from opendp until all was drawn. The caller holds the release's lock.

    Raises
    ------
    StateError
        If what is kept is damaged, or the disk is full.
    """
    path = _path(reserved.id)
    if reserved.state == "reserved" and not path.exists():
        _append(path, b"")
    answers, ended = _read(path)
    open_ = path.exists() and not ended and reserved.state != "committed"
    key = hashlib.sha256(b"noise" + reserved.secret.to_bytes(32)).digest()
    return RecordedNoise(answers, lambda answer: _append(path, _line(answer)), OPENDP if open_ else None, key)


def end_noise(reserved: Reservation) -> None:
    """Mark that all noise of a release was drawn."""
    path = _path(reserved.id)
    if path.exists() and not _read(path)[1]:
        _append(path, END)


def _path(release: str) -> Path:
    return private_directory("noise") / f"{release}.jsonl"


def _read(path: Path) -> tuple[list[NoisyAnswer], bool]:
    """What was kept, one answer a line, and whether it is all.

    A last line that has no end is of a killed run, which has not used it.
    """
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    ended = whole.endswith(END)
    try:
        read = [json.loads(line) for line in whole.removesuffix(END).splitlines()]
        answers = [
            NoisyAnswer(law, float(scale), np.array(counts, dtype=np.int64).reshape(shape), str(seal))
            for law, scale, shape, counts, seal in read
        ]
    except (ValueError, TypeError, OverflowError):
        raise StateError(
            "The noisy counts of this release, in the state directory, are damaged, or of an earlier version of the "
            "program. Restore them from a backup, or use the version that made the release."
        ) from None
    return answers, ended


def _line(answer: NoisyAnswer) -> bytes:
    counts = answer.counts.ravel().tolist()
    return json.dumps([answer.law, answer.scale, answer.counts.shape, counts, answer.seal]).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    """Add a line, which reaches the disk before this returns."""
    new = not path.exists()
    try:
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as out:
            out.write(line)
            out.flush()
            os.fsync(out.fileno())
        if new:
            files.sync_directory(path.parent)
    except OSError as error:
        raise StateError(files.explain(error, "The state directory, where noisy counts are kept,")) from None
