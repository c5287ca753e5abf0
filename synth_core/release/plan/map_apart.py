"""Read a risk map in a process of its own, under limits of time and memory, before the server reads it.

Arrays in a map say themselves how long they are. Run as a program, this module is that process.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

from synth_core.errors import InputError
from synth_core.release.plan.frozen_map import load_maps
from synth_core.release.plan.plan import Plan, parse_plan
from synth_core.system import limits
from synth_core.system.apart import end_with, limit_process, receive, send

_ROOT = Path(__file__).parents[3]


def require_sound_map(plan: Plan, content: bytes) -> None:
    """Refuse a file that is not the plan's risk map, or that asks for too much; raises InputError."""
    question = io.BytesIO()
    send(question, plan.canonical().encode(), content)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "synth_core.release.plan.map_apart", str(os.getpid())],
            cwd=_ROOT,
            input=question.getvalue(),
            capture_output=True,  # a parser's own words may quote cells: not shown
            timeout=limits.READ_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"The risk map was not read within {limits.READ_SECONDS} seconds.") from None
    if done.returncode:
        raise InputError("The risk map could not be read: it asks for too much memory or time.")
    if done.stdout:
        raise InputError(done.stdout.decode())


def main(parent: int) -> None:
    """Read what comes through standard input; what is wrong with it goes to standard output."""
    end_with(parent)
    limit_process(limits.RISK_MAP_MEMORY_MB, limits.READ_SECONDS)
    plan, content = receive(sys.stdin.buffer)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            load_maps(parse_plan(plan), content)
            wrong = ""
        except InputError as error:
            wrong = str(error)
    sys.stdout.write(wrong)


if __name__ == "__main__":
    main(int(sys.argv[1]))
