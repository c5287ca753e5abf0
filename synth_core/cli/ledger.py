"""`ledger`: what every series was charged, whether its chain holds, and its limit."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.cli.limit_arguments import add_count, count_from
from synth_core.errors import InputError
from synth_core.release.bounded_text import slug, words
from synth_core.release.ledger.balances import Entry
from synth_core.release.ledger.by_release import ABOUT, by_release
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import left_words, limit_words, other_words, spent_words
from synth_core.system import limits
from synth_core.system.number_text import rounded_up
from synth_core.system.text_table import aligned


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
    add_count(limit)
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
    ledger = Ledger.to_read()
    known = ledger.series() if ledger else []
    names = [slug(args.series, "The name of the series")] if args.series else known
    if args.series and args.series not in known:
        raise InputError(f"The ledger has no series {args.series}.")
    if ledger is None or not names:
        print("The ledger is empty.")
        return 0
    for name in names:
        b = ledger.balance(name)
        limit = "" if b.limit is None else f" of {limit_words(b)}"
        open_ = ", some of it reserved for unfinished releases" if b.reserved > 1e-12 else ""
        if open_ and b.pure:
            open_ = f", ε = {b.reserved:g} reserved for unfinished releases"
        strict = f"; ε = {b.strict:g} under a strict guarantee" if b.pure else ""
        print(f"{name}: releases: {b.releases}, {spent_words(b)}{limit}, {left_words(b)}{open_}{strict}")
        if b.rho:
            print(f"  {'; '.join(filter(None, (other_words(b), f'ρ = {rounded_up(b.rho, 4)}')))}")
        if args.series:
            entries = ledger.entries(name)
            rows = by_release(entries)
            if rows:
                print(ABOUT)
                print(
                    "\n".join(
                        f"  {line}" for line in aligned([list(rows[0]), *(list(r.values()) for r in rows)])
                    )
                )
            for e in entries:
                what = (
                    f"limit {e.details['limit']:g}{_delta(e)}, {e.details['who']}: {e.details['reason']}"
                    if e.kind == "limit"
                    else e.release
                )
                sets = f"m = {e.details['m']}" if "m" in e.details else ""
                label = ", ".join(filter(None, (e.details.get("guarantee"), sets)))
                words = "  ".join(filter(None, (what, label, e.hash[:12])))
                print(f"{e.number:>4}  {e.time}  {e.kind:<8} {e.epsilon:+.4g}  {words}")
    return 0


def _delta(limit: Entry) -> str:
    return f" at δ = {limit.details['delta']:g}" if "delta" in limit.details else ""


def run_verify(args: argparse.Namespace) -> int:
    """Check every chain; a broken one ends with status 1."""
    ledger = Ledger.to_read()
    for name, entries in ledger.verify().items() if ledger else ():
        print(f"{name}: {entries} entries, the chain holds")
    return 0


def run_limit(args: argparse.Namespace) -> int:
    """Set or change a limit, with a reason."""
    low, high = limits.TOTAL_EPSILON
    if not low <= args.epsilon <= high:
        raise InputError(f"A limit must lie between {low:g} and {high:g}.")
    who, reason = words(args.who, "The name"), words(args.reason, "The reason")
    series = slug(args.series, "The name of the series")
    Ledger().set_limit(series, args.epsilon, reason, who, count_from(args))
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
