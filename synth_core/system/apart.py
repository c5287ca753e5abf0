"""A process of its own for work that a file asks for: limits that it sets itself, and how it is talked to."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import IO

_WATCH_SECONDS = 0.2
_CHUNK = 1024**2


class TooLong(ValueError):
    """More was sent than may be received."""


def limit_process(memory_mb: int, seconds: int) -> None:
    """Limits of this process: memory, processor time, no core dump."""
    import resource

    memory = memory_mb * 1024**2
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a stricter limit of the machine stays
            resource.setrlimit(what, (most, most))


def end_with(parent: int) -> None:
    """End this process when its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def send(stream: IO[bytes], head: bytes, content: bytes) -> None:
    """Write two texts, so that `receive` knows where one ends."""
    for part in (len(head).to_bytes(8, "big"), head, content):
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes], most: int | None = None) -> tuple[bytes, bytes]:
    """What was sent, up to the end of the stream; raises TooLong, and keeps nothing, beyond `most` bytes."""
    length = int.from_bytes(stream.read(8), "big")
    if most is not None and length > most:
        raise TooLong
    head, parts, size = stream.read(length), [], length
    while part := stream.read(_CHUNK):
        size += len(part)
        if most is not None and size > most:
            raise TooLong
        parts.append(part)
    return head, b"".join(parts)
