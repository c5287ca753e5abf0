"""Data of a Stan program to a file: the JSON that stanio writes, in blocks and by the encoder in C."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_BLOCK = 2**16  # elements whose text is held at once

StanData = dict[str, Any]  # numbers and arrays by their names in the data block


def write_data(data: Mapping[str, Any], path: Path) -> None:
    """Write numbers and arrays of numbers by name, for the owner alone; raises OSError where there is no room."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        for place, (name, value) in enumerate(data.items()):
            stream.write(("{" if place == 0 else ", ") + json.dumps(name) + ": ")
            stream.writelines(_text(np.asarray(value)))
        stream.write("}" if data else "{}")


def _text(values: np.ndarray) -> Iterator[str]:
    if values.dtype == bool:
        values = values.astype(int)  # Stan knows no other
    if values.size <= _BLOCK:
        yield json.dumps(values.tolist())
        return
    yield "["
    step = max(1, _BLOCK * len(values) // values.size)
    for first in range(0, len(values), step):
        yield (", " if first else "") + json.dumps(values[first : first + step].tolist())[1:-1]
    yield "]"
