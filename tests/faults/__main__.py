"""`python -m tests.faults` repeats the faults and prints a log; `python -m tests.faults soak` is random use."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.faults.cases import CASES
from tests.faults.scene import Scene
from tests.faults.soak import soak


def run_faults(minutes: float, seed: int, only: str) -> int:
    """Every case at least once, then at random until the time is over; the status is 1 if anything was lost."""
    rng, started = random.Random(seed), time.monotonic()
    wanted = [case for case in CASES if only in case.name]
    rows: dict[str, list] = defaultdict(lambda: [0, 0, 0, set(), ""])
    waiting = list(wanted)
    while waiting or time.monotonic() - started < 60 * minutes:
        case = waiting.pop(0) if waiting else rng.choice(wanted)
        row = rows[case.name]
        with tempfile.TemporaryDirectory(prefix="synth-faults-") as directory:
            scene = Scene(Path(directory), rng.randrange(2**31))
            try:
                case.run(scene)
            except pytest.skip.Exception as error:
                row[4] = f"skipped: {error}"
            except Exception as error:
                row[4] = f"FAILED: {type(error).__name__}: {str(error)[:300]}"
        row[0] += 1
        row[1] += scene.log.struck
        row[2] += scene.log.compared
        row[3] |= scene.log.messages
        print(
            f"{time.monotonic() - started:6.0f} s  {case.name}: {row[4] or 'held'}",
            file=sys.stderr,
            flush=True,
        )
    print("| fault | during | rounds | times it struck | results compared | lost or wrong |")
    print("|---|---|---|---|---|---|")
    for case in wanted:
        done, struck, compared, _, failure = rows[case.name]
        print(
            f"| {case.fault} | {case.activity} | {done} | {struck:,} | {compared:,} | {failure or 'nothing'} |"
        )
    print("\nWhat was shown:\n")
    for message in sorted(set().union(*(row[3] for row in rows.values()))):
        print(f"- {message}")
    return int(any(row[4].startswith("FAILED") for row in rows.values()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("faults", "soak"), default="faults")
    parser.add_argument("--minutes", type=float, default=0.0, help="at least; 0 is every fault once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--browsers", type=int, default=4, help="of a soak")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    args = parser.parse_args()
    if args.what == "faults":
        return run_faults(args.minutes, args.seed, args.only)
    report = soak(args.minutes, args.browsers, args.seed, lambda line: print(line, flush=True))
    print(report.text())
    return int(bool(report.problems()))


if __name__ == "__main__":
    sys.exit(main())
