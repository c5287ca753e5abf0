"""`--count` and `--delta`: what the limit of a series counts."""

from __future__ import annotations

import argparse

from synth_core.errors import InputError
from synth_core.mechanisms.composition import DELTA, SUM, Count


def add_count(parser: argparse.ArgumentParser) -> None:
    """Add both options."""
    option = parser.add_argument
    option(
        "--count",
        choices=("sum", "zcdp"),
        help="what the limit counts: the sum of ε (default), or ε at a δ, through zCDP; fixed with the first limit",
    )
    option("--delta", type=float, help=f"δ of --count zcdp (default: {DELTA:g})")


def count_from(args: argparse.Namespace) -> Count | None:
    """What was asked for; None if nothing was.

    Raises
    ------
    InputError
        If δ is out of bounds, or given for a sum.
    """
    if args.count != "zcdp":
        if args.delta is not None:
            raise InputError("--delta belongs to --count zcdp.")
        return SUM if args.count == "sum" else None
    return Count(DELTA if args.delta is None else args.delta)


def count_beside(limit: float | None, args: argparse.Namespace) -> Count | None:
    """What was asked for beside `--limit`; raises InputError if there is no limit."""
    count = count_from(args)
    if count is not None and limit is None:
        raise InputError("--count belongs to --limit.")
    return count
