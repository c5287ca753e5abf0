"""`setup` and `purge`: what a machine needs before, and what it may forget after."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.errors import FitError
from synth_core.models import MODELS


def add(commands: Any) -> None:
    """Add the sub-commands."""
    setup = commands.add_parser("setup", help="install CmdStan and compile the models")
    setup.set_defaults(run=run_setup)
    purge = commands.add_parser("purge", help="delete all cached fits and results, and unfinished releases")
    purge.add_argument("--programs", action="store_true", help="own Stan programs too, as text and compiled")
    purge.set_defaults(run=run_purge)


def run_setup(args: argparse.Namespace) -> int:
    """Install what the models need and compile them, with progress."""
    from synth_core.toolchain import compile_program, ensure_cmdstan

    cmdstan = ensure_cmdstan(lambda text: print(f"  {text} …", flush=True))
    print(f"CmdStan: {cmdstan}", flush=True)
    programs = sorted({model.program for model in MODELS.values()})
    for done, program in enumerate(programs, start=1):
        print(f"  model {done} of {len(programs)}: {program} …", flush=True)
        compile_program(program)
    return 0


def run_purge(args: argparse.Namespace) -> int:
    """Delete what the cache holds of confidential data: draws, weights, bounds, synthetic values."""
    from synth_core.cache import results_cache
    from synth_core.release.run import purge_pending
    from synth_core.toolchain.limited import forget_all

    purge_pending()
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
    print(f"Deleted {size / 1024**2:.1f} MiB of cached fits and results.")
    return 0
