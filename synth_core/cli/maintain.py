"""`setup` and `purge`: what a machine needs before, and what it may forget after."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.errors import FitError
from synth_core.models import PROGRAMS


def add(commands: Any) -> None:
    """Add the sub-commands."""
    setup = commands.add_parser("setup", help="install CmdStan and compile the models")
    setup.set_defaults(run=run_setup)
    purge = commands.add_parser("purge", help="delete all cached fits and results, and unfinished releases")
    purge.add_argument("--programs", action="store_true", help="own Stan programs too, as text and compiled")
    purge.set_defaults(run=run_purge)


def run_setup(args: argparse.Namespace) -> int:
    """Install what the models need and compile them, with progress."""
    from synth_core.engine.toolchain import compile_programs, ensure_cmdstan

    def report(text: str) -> None:
        print(f"  {text}", flush=True)

    print(f"CmdStan: {ensure_cmdstan(report)}", flush=True)
    compile_programs(PROGRAMS, report)
    return 0


def run_purge(args: argparse.Namespace) -> int:
    """Delete what the cache holds of confidential data: draws, weights, bounds, synthetic values."""
    from synth_core.models.own.sandbox import forget_all
    from synth_core.release.making.drawing import purge_pending
    from synth_core.system.cache import results_cache

    busy = purge_pending()
    cache = results_cache()
    size = cache.size()
    cache.purge()
    if left := cache.size():
        raise FitError(
            f"{left / 1024**2:.1f} MiB of cached results could not be deleted: make the directory writable, or delete "
            "it by hand."
        )
    if args.programs:
        forget_all()
    if busy:
        print(
            f"What {busy} release{'s' if busy > 1 else ''} in the making need{'' if busy > 1 else 's'} stays."
        )
    print(f"Deleted {size / 1024**2:.1f} MiB of cached fits and results.")
    return 0
