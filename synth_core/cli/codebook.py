"""`codebook`: what the columns of a file are, as its reader proposes it: to correct, and to give to --codebook."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.cli.data import add_reading, options_of
from synth_core.cli.output import destination, show_or_write
from synth_core.data.table import open_table
from synth_core.system.text_table import aligned


def add(commands: Any) -> None:
    """Add the sub-command."""
    command = commands.add_parser("codebook", help="propose what each column of a file is, with the reason")
    option = command.add_argument
    option("data", metavar="FILE", help="the table")
    option("--out", metavar="FILE.json", help="write the proposal; without it, it is printed")
    add_reading(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print or write the codebook; what can be read in two ways is said."""
    path = destination(args.out)  # before the file is read
    table = open_table(args.data, options_of(args)).with_missing(args.missing)
    for said in (*table.questions.values(), *table.read_options.notices):
        print(f"! {said}")
    if args.out is None:
        print(table.codebook.to_json(), end="")
        return 0
    rows = [[entry.column, entry.kind, entry.note] for entry in table.codebook.columns]
    print("\n".join(aligned([["column", "kind", "why"], *rows])))
    show_or_write(table.codebook.to_json().rstrip("\n"), path)
    return 0
