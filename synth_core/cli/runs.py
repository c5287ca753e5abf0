"""`runs`: what was run from the command line, to be named, noted, compared, deleted."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from synth_core.release.bounded_text import printable
from synth_core.release.run_store import DAMAGED, RunStore, compare_runs
from synth_core.system.json_text import json_text
from synth_core.system.number_text import ceiling


def add(commands: Any) -> None:
    """Add the sub-commands."""
    runs = commands.add_parser("runs", help="finished runs")
    actions = runs.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="all runs, the newest first").set_defaults(run=run_list)
    for name, text, function in (
        ("show", "one run as JSON", run_show),
        ("delete", "forget runs", run_delete),
    ):
        parser = actions.add_parser(name, help=text)
        parser.add_argument("runs", nargs="+" if name == "delete" else 1, help="id or name")
        parser.set_defaults(run=function)
    for name in ("name", "note"):
        parser = actions.add_parser(name, help=f"give a run a {name}")
        parser.add_argument("id")
        parser.add_argument("text")
        parser.set_defaults(run=run_describe)
    compare = actions.add_parser("compare", help="what differs between two runs")
    compare.add_argument("first")
    compare.add_argument("second")
    compare.set_defaults(run=run_compare)


def run_list(args: argparse.Namespace) -> int:
    """One line a run."""
    store = RunStore()
    for run in store.runs():
        name = f"  {printable(run.name)}" if run.name else ""
        epsilon = run.numbers.get("epsilon")
        shown = "–" if epsilon is None else ceiling(epsilon, 3)
        print(
            f"{run.id}  {run.time}  {run.mechanism:<22} ε = {shown:<8} {run.guarantee:<16} "
            f"{printable(run.data['name'])}: {printable(run.variables)}{name}"
        )
    if store.damaged:
        print(f"note: what was kept of {store.damaged:,} more {DAMAGED}", file=sys.stderr)
    return 0


def run_show(args: argparse.Namespace) -> int:
    """Everything kept of a run."""
    print(json_text(asdict(RunStore().find(args.runs[0]))))
    return 0


def run_delete(args: argparse.Namespace) -> int:
    """Forget runs."""
    store = RunStore()
    for run in args.runs:
        store.delete(run)
    return 0


def run_describe(args: argparse.Namespace) -> int:
    """Name a run, or note something about it."""
    RunStore().describe(args.id, **{args.action: args.text})
    return 0


def run_compare(args: argparse.Namespace) -> int:
    """Settings and numbers that differ."""
    store = RunStore()
    for name, first, second in compare_runs(store.find(args.first), store.find(args.second)):
        print(f"{name}: {first} | {second}")
    return 0
