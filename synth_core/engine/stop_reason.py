"""Why a sampler stopped, and what to do about it, in words that quote no data."""

from __future__ import annotations

import contextlib
import errno
import re
import signal
from pathlib import Path

from synth_core.engine import process_limits
from synth_core.system import files
from synth_core.system.attempts import AGAIN

_TAIL_BYTES, _ROOM_BYTES = 4096, 64 * 1024


def no_room(error: OSError) -> str:
    """The sampler's files could not be written."""
    return "The sampler stopped. " + files.no_room(error)


def _is_whole(file: Path) -> bool:
    """Whether a sampler wrote its output to the end; on a disk that filled, its last number may be cut."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
        return b"(Total)" in stream.read()


def require_whole(files: list[str]) -> None:
    """Refuse a sampler's output that ends early; raises ValueError."""
    if not all(_is_whole(Path(name)) for name in files):
        raise ValueError("the sampler's output ends early")


def _return_codes(text: str) -> list[int]:
    """The return code of every chain, from cmdstanpy's message; a negative one is the signal that ended it."""
    match = re.search(r"retcodes=\[([-\d, ]*)\]", text)
    return [int(code) for code in match[1].split(",")] if match and match[1].strip() else []


def was_killed(text: str) -> bool:
    """Whether a sampler was ended from outside, as by a system that ran out of memory."""
    return any(-code in (signal.SIGKILL, signal.SIGTERM) for code in _return_codes(text))


def explain(error: Exception, scratch: Path) -> str:
    """Why a fit has no result and what to do. `scratch` holds the sampler's files, which are still there."""
    text = str(error)
    limit = process_limits.reason(text, scratch)
    if limit is not None:
        return f"The own program stopped: {limit}."
    if isinstance(error, OSError) and error.errno is not None:
        return no_room(error)
    if was_killed(text):
        return (
            f"The sampler's process was killed {1 + AGAIN} times (did the machine run out of memory?). End "
            "other programs, or take fewer draws or chains."
        )
    # Stan's own words may quote data, so they are looked at and not passed on.
    for path in scratch.glob("*.txt"):
        with contextlib.suppress(OSError):
            text += path.read_text(errors="replace")[-10_000:]
    if "shared libraries" in text:
        return (
            "The sampler stopped: a library of the Stan toolchain is missing. Delete the directory 'toolchain' in "
            "the cache directory (~/.cache/synth_core, or SYNTH_CACHE_DIR) and run it again: it is made anew."
        )
    full = OSError(errno.ENOSPC, "No space left on device")
    ended_well = not any(_return_codes(text))  # and yet its output is not all there
    cut = ended_well and not all(_is_whole(path) for path in scratch.glob("*.csv"))
    if cut or "No space left" in text or not _has_room(scratch):
        return no_room(full)
    if "Initialization failed" in text or "Rejecting initial value" in text:
        reason = "no starting point with a finite likelihood was found"
    else:
        reason = "its process ended with an error"
    return (
        f"The sampler stopped: {reason}. Try other settings of the mechanism, another seed "
        f"or a longer warm-up."
    )


def _has_room(scratch: Path) -> bool:
    """Whether the sampler's directory can take one more block."""
    try:
        (scratch / "room").write_bytes(bytes(_ROOM_BYTES))
    except OSError as error:
        return not files.is_full(error)
    return True
