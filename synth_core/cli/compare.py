"""`compare`: run mechanisms on a table, side by side."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.feasible import require_feasible
from synth_core.analysis.subgroups import MIN_RECORDS, Group, groups_of
from synth_core.cli.compare_output import as_json, groups_json, print_groups, print_table
from synth_core.cli.data import add_reading, add_simulated, load_anchor, load_reference, table_of
from synth_core.cli.division import add_accuracy, run_division
from synth_core.cli.notices import say_notices
from synth_core.cli.recorded import record_run
from synth_core.cli.records import add_blocks, check_no_shares, run_blocks
from synth_core.cli.settings_arguments import add_settings, settings_from
from synth_core.cli.written_tables import add_write, writable, write_tables
from synth_core.data.examples import EXAMPLES
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import MECHANISMS, find_mechanism
from synth_core.mechanisms.likelihoods import LIKELIHOODS
from synth_core.mechanisms.standards import STANDARDS
from synth_core.models import family
from synth_core.system.json_text import json_text


def add(commands: Any) -> None:
    """Add the sub-command."""
    compare = commands.add_parser("compare", help="run mechanisms on a table, side by side")
    add_options(compare, ["unweighted", "weighted"])
    add_blocks(compare)
    add_accuracy(compare)
    compare.add_argument("--format", choices=("table", "json"), default="table")
    compare.add_argument("--by", metavar="PREDICTOR", help="accuracy within groups of a predictor, too")
    add_write(compare)
    compare.set_defaults(run=run_compare)


def add_options(command: argparse.ArgumentParser, mechanisms: list[str]) -> None:
    """The options of every command that runs mechanisms."""
    add_table(command)
    command.add_argument(
        "--mechanism",
        nargs="+",
        default=mechanisms,
        metavar="NAME",
        help=f"of {', '.join(MECHANISMS)}, or composed: scheme[+adjustment...]"
        f"[/likelihood][/standard] with the likelihoods {', '.join(LIKELIHOODS)} and the standards "
        f"{', '.join(STANDARDS)}, for example count/censored",
    )


def add_table(command: argparse.ArgumentParser) -> None:
    """Arguments that name a table, and all settings."""
    command.add_argument("data", help=f"a file, or example:NAME with NAME in {', '.join(EXAMPLES)}")
    add_settings(command)
    add_simulated(command)
    add_reading(command)


def open_analysis(args: argparse.Namespace) -> tuple[Analysis, list[str]]:
    """The table, settings and mechanisms that the options name."""
    from synth_core.system.cache import results_cache

    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    if args.match_epsilon:
        find_mechanism(args.match_epsilon)
    table = table_of(args, args.data)
    settings = settings_from(args, args.data, table=table)
    reference = load_reference(settings, args.data_seed, table)
    anchor = load_anchor(settings, args.data_seed, table)
    require_feasible(keys, settings, reference=reference is not None)
    analysis = Analysis(table, settings, results_cache(), reference=reference, anchor=anchor)
    say_notices(analysis)
    return analysis, keys


def run_compare(args: argparse.Namespace) -> int:
    """Run the mechanisms one after another and print them."""
    directory = writable(args.write)
    if args.accuracy:
        if directory is not None:
            raise InputError("--write is of a comparison, and --accuracy divides ε.")
        return run_division(args)
    if args.block:
        return run_blocks(args)
    check_no_shares(args)
    analysis, keys = open_analysis(args)
    groups = None if args.by is None else predictor_groups(analysis, args.by)
    results = []
    for key in keys:
        results.append(analysis.run(key))
        record_run(analysis, results[-1])
        if directory is not None:
            write_tables(directory, analysis, results[-1])
    if args.format == "json":
        answer = as_json(analysis, results)
        if groups is not None:
            for one, result in zip(answer["results"], results, strict=True):
                one["groups"] = groups_json(analysis, result, groups)
        print(json_text(answer))
    else:
        print_table(analysis, results, print)
        if groups is not None:
            print_groups(analysis, results, groups, args.by, print)
    return 0


def predictor_groups(analysis: Analysis, by: str) -> list[Group]:
    """The groups of a predictor; raises InputError for another column."""
    s = analysis.settings
    if not family(s.model).ordered:
        raise InputError(
            f"--by compares means and percentiles, and '{s.outcome}' has categories without an order."
        )
    if by not in s.predictors:
        raise InputError(
            f"--by must name a predictor; '{by}' is none of {', '.join(s.predictors) or 'none'}."
        )
    groups = groups_of(analysis.table, analysis.selection, by, s.categorical)
    if not groups:
        raise InputError(f"No group of '{by}' has {MIN_RECORDS} records.")
    return groups
