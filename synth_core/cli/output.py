"""Where a command writes: asked before the work is done, and written whole or not at all."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

from synth_core.errors import FitError, InputError
from synth_core.release.bounded_text import printable
from synth_core.system import files


def check_directory(directory: Path) -> None:
    """Refuse a directory that cannot be written, or cannot be made; raises InputError or FitError.

    The nearest one that exists is tried with a file that has no name.
    """
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise InputError(f"{printable(place, 300)} is a file, not a directory.")
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise FitError(files.explain(error, f"The directory {printable(place, 300)}")) from None


def destination(out: str | None) -> Path | None:
    """The file that --out names, in a directory that can be written; None without one.

    Raises
    ------
    InputError
        If it is no file in a directory that exists.
    FitError
        If the directory cannot be written.
    """
    if out is None:
        return None
    path = Path(out).absolute()
    if not path.parent.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(f"--out must name a file in a directory that exists (given: {printable(out)}).")
    check_directory(path.parent)
    return path


def show_or_write(text: str, path: Path | None) -> None:
    """Print a command's result, or write it to a file of mode 0600; raises FitError."""
    if path is None:
        print(text)
        return
    try:
        files.write_whole(path, text + "\n", durable=True)
    except OSError as error:
        raise FitError(files.explain(error, f"The file {printable(path, 300)}")) from None
    print(f"written to {path}", file=sys.stderr)


def finite(value: float | None) -> float | None:
    """JSON has no number for what is not finite."""
    return value if value is not None and math.isfinite(value) else None
