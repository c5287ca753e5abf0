"""`check-program`: whether an own Stan program keeps the contract on a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from synth_core import limits
from synth_core.cli.data import chosen_columns, load_data
from synth_core.errors import InputError
from synth_core.examples import EXAMPLES
from synth_core.models import OwnProgram
from synth_core.settings import make_settings
from synth_core.toolchain.limited import approve, require_enabled


def add(commands: Any) -> None:
    """Add the sub-command."""
    check = commands.add_parser("check-program", help="check that an own Stan program keeps the contract")
    add = check.add_argument
    add("program", metavar="FILE.stan")
    add("data", help=f"a file, or example:NAME with NAME in {', '.join(EXAMPLES)}")
    add("--outcome", help="the sensitive variable")
    add("--predictors", nargs="*", help="non-sensitive columns, the design Z")
    add("--categorical", nargs="*", default=[], help="numeric predictors that are categories")
    add("--bounds", type=float, nargs=2, metavar=("L", "U"), help="declared bounds of the outcome")
    add("--unit", type=float, default=1.0, help="unit in which the density is taken, in the table's unit")
    add("--rows", type=int, help="records of a simulated example")
    add("--data-seed", type=int, default=1, help="seed of a simulated example")
    check.set_defaults(run=run_check)


def own_program(model: str | None, path: str | None) -> dict[str, Any]:
    """The settings of an own program; empty if there is none."""
    if path is None:
        return {}
    if model is not None:
        raise InputError("Give --model or --program, not both.")
    return {"model": OwnProgram.name, "program": read_program(path)}


def read_program(path: str) -> str:
    """The source of an own program; raises InputError."""
    require_enabled()
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}.")
    if file.stat().st_size > limits.MAX_PROGRAM_BYTES:
        raise InputError(f"The program is longer than {limits.MAX_PROGRAM_BYTES // 1024} KiB.")
    try:
        source = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {path} is not a text in UTF-8.") from None
    approve(source)  # who names the file wants it to run
    return source


def run_check(args: argparse.Namespace) -> int:
    """Print every check; the exit status is 2 if one fails."""
    from synth_core.cache import results_cache
    from synth_core.contract import check_table

    source = read_program(args.program)
    _, outcome, predictors = chosen_columns(args.data, args.outcome, args.predictors)
    settings = make_settings(
        model=OwnProgram.name,
        program=source,
        outcome=outcome,
        predictors=predictors,
        categorical=tuple(args.categorical),
        bounds=tuple(args.bounds) if args.bounds else None,
        unit=args.unit,
    )
    table = load_data(args.data, args.rows, args.data_seed)
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
