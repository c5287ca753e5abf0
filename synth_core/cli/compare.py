"""`compare`: run mechanisms on a table, side by side."""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.result import Result
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings
from synth_core.cli.compare_output import as_json, print_table
from synth_core.cli.data import add_simulated, load_data
from synth_core.cli.settings_arguments import add_settings, settings_from
from synth_core.data.examples import EXAMPLES
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import MECHANISMS, NO_TABLE, find_mechanism
from synth_core.release.plan.frozen_map import find_map, load_map
from synth_core.release.plan.plan import read_plan
from synth_core.release.run_store import RunStore, run_record
from synth_core.release.state import StateError, plans_directory


def add(commands: Any) -> None:
    """Add the sub-command."""
    compare = commands.add_parser("compare", help="run mechanisms on a table, side by side")
    add_options(compare, ["unweighted", "weighted"])
    compare.add_argument("--format", choices=("table", "json"), default="table")
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
        f"[/censored|/anchored][/averaged|/truncated], for example count/censored",
    )


def add_table(command: argparse.ArgumentParser) -> None:
    """Arguments that name a table, and all settings."""
    command.add_argument("data", help=f"a file, or example:NAME with NAME in {', '.join(EXAMPLES)}")
    add_settings(command)
    add_simulated(command)


def load_reference(settings: Settings, data_seed: int) -> Table | RiskMap | None:
    """What the settings' risk map is frozen on: a table, or the map that a plan carries."""
    name = settings.risk_reference
    if name == "current":
        return None
    if name.lower().endswith(".json"):
        plan = read_plan(name)
        content = find_map(plan, [Path(name).parent, plans_directory()])
        if content is None:
            raise InputError(f"The plan {name} has no risk map: its mechanism uses no weights.")
        return load_map(plan, content)
    # A simulated reference is another sample of the design, not the table itself.
    return load_data(name, None, data_seed + 1000)


def load_anchor(settings: Settings, data_seed: int) -> Table | None:
    """The table that the settings' anchor names, if it is one."""
    if settings.anchor in NO_TABLE:
        return None
    name = settings.anchor.removeprefix("release:").removeprefix("public:")
    return load_data(name, None, data_seed + 1000)


def record_run(analysis: Analysis, result: Result) -> None:
    """Keep a finished run in the run store; where that cannot be written, the run still counts."""
    with contextlib.suppress(StateError):
        store = RunStore()
        store.record(*run_record(analysis, result))
        store.close()


def open_analysis(args: argparse.Namespace) -> tuple[Analysis, list[str]]:
    """The table, settings and mechanisms that the options name."""
    from synth_core.system.cache import results_cache

    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    if args.match_epsilon:
        find_mechanism(args.match_epsilon)
    table = load_data(args.data, args.rows, args.data_seed)
    settings = settings_from(args, args.data)
    reference = load_reference(settings, args.data_seed)
    anchor = load_anchor(settings, args.data_seed)
    return Analysis(table, settings, results_cache(), reference=reference, anchor=anchor), keys


def run_compare(args: argparse.Namespace) -> int:
    """Run the mechanisms one after another and print them."""
    analysis, keys = open_analysis(args)
    results = []
    for key in keys:
        results.append(analysis.run(key))
        record_run(analysis, results[-1])
    if args.format == "json":
        print(json.dumps(as_json(analysis, results), indent=2, ensure_ascii=False))
    else:
        print_table(analysis, results, print)
    return 0
