"""`ledger`: what every series was charged, whether its chain holds, and its limit."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.errors import InputError
from synth_core.mechanisms.composition import DELTA, epsilon_at
from synth_core.release.bounded_text import slug, words
from synth_core.release.ledger.ledger import Ledger
from synth_core.system import limits


def add(commands: Any) -> None:
    """Add the sub-commands."""
    ledger = commands.add_parser("ledger", help="charges, limits and their chain of hashes")
    actions = ledger.add_subparsers(dest="action", required=True)
    show = actions.add_parser("show", help="balances, and the entries of a series")
    show.add_argument("series", nargs="?")
    show.set_defaults(run=run_show)
    verify = actions.add_parser("verify", help="check every chain")
    verify.set_defaults(run=run_verify)
    limit = actions.add_parser("limit", help="set the limit of a series")
    limit.add_argument("series")
    limit.add_argument("epsilon", type=float)
    limit.add_argument("--reason", required=True)
    limit.add_argument("--who", required=True)
    limit.set_defaults(run=run_limit)
    cancel = actions.add_parser("cancel", help="give back the charge of a release that was never finished")
    cancel.add_argument("series")
    cancel.add_argument("release", help="its id, as `ledger show` gives it")
    cancel.add_argument("--reason", required=True)
    cancel.set_defaults(run=run_cancel)


def run_show(args: argparse.Namespace) -> int:
    """Balances of all series, or every entry of one."""
    ledger = Ledger()
    names = [slug(args.series, "The name of the series")] if args.series else ledger.series()
    if args.series and args.series not in ledger.series():
        raise InputError(f"The ledger has no series {args.series}.")
    if not names:
        print("The ledger is empty.")
    for name in names:
        b = ledger.balance(name)
        limit = "no limit" if b.limit is None else f"of {b.limit:g}, {b.left or 0:g} left"
        open_ = f", {b.reserved:g} of it reserved for unfinished releases" if b.reserved > 1e-12 else ""
        print(
            f"{name}: releases: {b.releases}, ε = {b.spent:g} {limit}{open_}; {b.strict:g} under a strict guarantee"
        )
        if b.rho:
            print(
                f"  together, by zCDP: ρ = {b.rho:.4g}, that is ε = {epsilon_at(b.rho):.2f} at δ = {DELTA:g}"
            )
        if args.series:
            for e in ledger.entries(name):
                what = (
                    f"limit {e.details['limit']:g}, {e.details['who']}: {e.details['reason']}"
                    if e.kind == "limit"
                    else e.release
                )
                label = (
                    f"  {e.details['guarantee']}, m = {e.details['m']}" if "guarantee" in e.details else ""
                )
                print(f"{e.number:>4}  {e.time}  {e.kind:<8} {e.epsilon:+.4g}  {what}{label}  {e.hash[:12]}")
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Check every chain; a broken one ends with status 1."""
    for name, entries in Ledger().verify().items():
        print(f"{name}: {entries} entries, the chain holds")
    return 0


def run_limit(args: argparse.Namespace) -> int:
    """Set or change a limit, with a reason."""
    low, high = limits.TOTAL_EPSILON
    if not low <= args.epsilon <= high:
        raise InputError(f"A limit must lie between {low:g} and {high:g}.")
    who, reason = words(args.who, "The name"), words(args.reason, "The reason")
    Ledger().set_limit(slug(args.series, "The name of the series"), args.epsilon, reason, who)
    return 0


def run_cancel(args: argparse.Namespace) -> int:
    """Give back a reservation that no process will finish."""
    from synth_core.release.making.releasing import cancel

    cancel(
        slug(args.series, "The name of the series"),
        slug(args.release, "The release"),
        words(args.reason, "The reason"),
    )
    return 0
