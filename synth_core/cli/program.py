"""`check-program`: whether an own Stan program keeps the contract on a table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from synth_core.cli.data import add_reading, add_simulated, table_of
from synth_core.cli.settings_arguments import add_settings, settings_from
from synth_core.data.examples import EXAMPLES


def add(commands: Any) -> None:
    """Add the sub-command."""
    check = commands.add_parser("check-program", help="check that an own Stan program keeps the contract")
    add = check.add_argument
    add("program", metavar="FILE.stan")
    add("data", help=f"a file, or example:NAME with NAME in {', '.join(EXAMPLES)}")
    add_settings(check, ("outcome", "predictors", "categorical", "bounds", "unit"))
    add_simulated(check)
    add_reading(check)
    check.set_defaults(run=run_check)


def run_check(args: argparse.Namespace) -> int:
    """Print every check; the exit status is 2 if one fails."""
    from synth_core.analysis.own_program_check import check_table
    from synth_core.system.cache import results_cache

    table = table_of(args, args.data)
    settings = settings_from(args, args.data, table=table)
    report = check_table(table, settings, results_cache(), _Progress())
    for check in report.checks:
        print(f"{'kept  ' if check.passed else 'BROKEN'}  {check.name}: {check.words}")
        if check.detail:
            print(check.detail)
    return 0 if report.passed else 2


class _Progress:
    """Says on standard error what is being done, once for each thing."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, text: str, share: float) -> None:
        if text != self._last and sys.stderr.isatty():
            print(f"  {text} …", file=sys.stderr, flush=True)
        self._last = text
