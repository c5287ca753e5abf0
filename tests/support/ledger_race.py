"""Two processes that reserve from one ledger at the same moment."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

from synth_core.errors import InputError
from synth_core.release.ledger.ledger import Ledger

Reserve = Callable[[Ledger, str], object]  # a function of a module: it is sent to a process


def race(directory: Path, reserve: Reserve, each: int) -> list[str]:
    """Releases "0-0", "0-1", ... and "1-0", ...: for each of them "reserved" or "refused"."""
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(2), context.Queue()
    workers = [
        context.Process(
            target=_spend, args=(directory, reserve, [f"{w}-{i}" for i in range(each)], gate, answers)
        )
        for w in range(2)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=60) for _ in range(2 * each)]
    for worker in workers:
        worker.join(10)
        assert worker.exitcode == 0
    return found


def _spend(directory, reserve, names, gate, answers):
    ledger = Ledger(directory)
    gate.wait()
    for name in names:
        try:
            reserve(ledger, name)
            answers.put("reserved")
        except InputError:
            answers.put("refused")
