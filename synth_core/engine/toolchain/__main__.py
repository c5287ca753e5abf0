"""`python -m synth_core.engine.toolchain [PROGRAM ...]`: the toolchain, then these Stan programs, with progress.

Starts in a tenth of a second. Without a program it works before the requirements are installed, and
leaves an official CmdStan, which needs cmdstanpy, for later.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

from synth_core.engine.toolchain import compile_programs, ensure_cmdstan, from_registry
from synth_core.errors import FitError


def _report(text: str) -> None:
    print(f"  {text}", flush=True)


def main() -> int:
    """Run it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m synth_core.engine.toolchain")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="a file name in stan/")
    parser.add_argument("--server", type=int, metavar="PID", help="at low priority, until this parent ends")
    args = parser.parse_args()
    if args.server is None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & would ignore it
    else:
        from synth_core.system.backend import process_guard

        process_guard.start(args.server)
        os.nice(19)
        with contextlib.suppress(OSError):  # Linux shares its cores among sessions before it looks at that
            Path("/proc/self/autogroup").write_text("19")
    try:
        if args.programs or from_registry():
            ensure_cmdstan(_report)
        compile_programs(args.programs, _report)
    except FitError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
