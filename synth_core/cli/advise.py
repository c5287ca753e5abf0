"""`advise`: a model for a sensitive variable, from what is publicly known of it or from a look at the table."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from synth_core.analysis.model_advice import KINDS, Advice, advise_kind, advise_table
from synth_core.cli.data import add_reading, add_simulated, chosen_columns, table_of
from synth_core.cli.settings_arguments import option_name
from synth_core.errors import InputError


def add(commands: Any) -> None:
    """Add the sub-command."""
    command = commands.add_parser(
        "advise", help="propose a model, a scale and a unit: from public knowledge, or by looking at a table"
    )
    option = command.add_argument
    option("data", nargs="?", metavar="DATA", help="look at this table: a file, or example:NAME")
    option("--outcome", metavar="COLUMN", help="the sensitive variable")
    option("--predictors", nargs="*", metavar="COLUMN", help="non-sensitive columns")
    kinds = "; ".join(f"{kind}: {words.lower()}" for kind, words in KINDS.items())
    option("--kind", choices=tuple(KINDS), help=f"what is publicly known, instead of a table: {kinds}")
    option("--typical", type=float, metavar="VALUE", help="with --kind: a typical value, publicly known")
    add_simulated(command)
    add_reading(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the proposal, its reasons, what it gives away, and the options that make it."""
    if (args.data is None) == (args.kind is None):
        raise InputError("Name a table to look at, or say what is publicly known (--kind), one of both.")
    codes: tuple[str, ...] = ()
    if args.data is None:
        advice = advise_kind(args.kind, args.typical, bool(args.predictors))
    else:
        if args.typical is not None:
            raise InputError("--typical belongs to --kind: of a table that is looked at, it is seen.")
        _, outcome, predictors = chosen_columns(args.data, args.outcome, args.predictors)
        table = table_of(args, args.data)
        advice, codes = advise_table(table, outcome, bool(predictors)), table.codes_among(predictors)
    print(f"{advice.title}.")
    for reason in advice.reasons:
        print(f"  {reason}")
    print(advice.leak)
    if codes:
        print(
            f"Few whole numbers, as codes have: {', '.join(codes)}. If they are codes, name them: --categorical."
        )
    if advice.settings:
        print(f"Options: {_options(advice)}")
    return 0


def _options(advice: Advice) -> str:
    """The proposal as options of the other commands."""
    words = []
    for name, value in advice.settings.items():
        if value is False:
            continue  # a switch that is off is not written
        values = value if isinstance(value, tuple) else (value,)
        words += [
            option_name(name),
            *(f"{v:g}" if isinstance(v, float) else shlex.quote(str(v)) for v in values),
        ]
    return " ".join(words)
