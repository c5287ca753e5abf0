"""`study rivals`: mechanisms on whole records beside AIM, MST, histograms and a sample."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from synth_core.cli.data import load_data, options_of
from synth_core.cli.records import add_blocks, blocks_from, common_settings, with_declared, with_rules
from synth_core.cli.written_tables import add_write, writable, write_cell
from synth_core.errors import InputError
from synth_core.experiments.rivals.budget import COUNTED
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.experiments.rivals.report import FORMATS, render
from synth_core.experiments.rivals.study import RivalStudy, run_rivals
from synth_core.mechanisms.ranges import read_edges

RIVALS_STUDY = "rivals"
MECHANISMS, EPSILONS, SEEDS = ("anchored",), (1.0,), 3
OTHERS = ("jobs", "baseline", "data", "rows")  # options of other studies


def add_rivals(study: argparse.ArgumentParser) -> None:
    """The options of whole records beside rivals."""
    group: Any = study.add_argument_group("rivals: whole records beside other synthesizers")
    add_blocks(group)
    add = group.add_argument
    add("--rival", nargs="+", metavar="NAME", help=f"of {', '.join(RIVALS)}")
    add(
        "--edges",
        action="append",
        metavar="NAME=EDGE,EDGE...",
        help="edges of the bins of a number, for rivals; never taken from the table. The first and the last are the "
        "smallest and largest value that may occur. Without it, by what the block declares: bounds or a guess",
    )
    add_write(group)
    add(
        "--budget",
        choices=COUNTED,
        help="what ε is for both sides: rho (the default), zCDP with ρ = ε²/8; epsilon, pure ε",
    )


def edges_by_name(texts: list[str]) -> dict[str, tuple[float, ...]]:
    """Declared edges by column; raises InputError.

    Examples
    --------
    >>> edges_by_name(["pay=0,10,20"])
    {'pay': (0.0, 10.0, 20.0)}
    """
    edges_of: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, edges = text.partition("=")
        if name in edges_of:
            raise InputError(f"--edges names '{name}' twice.")
        if not edges:
            raise InputError(f"--edges takes NAME=EDGE,EDGE,… (given: {text}).")
        edges_of[name] = read_edges(edges)
    return edges_of


def study_from(args: argparse.Namespace) -> RivalStudy:
    """The study that the options name; raises InputError."""
    if args.table is None:
        raise InputError("Which table? study rivals FILE --block NAME=MODEL …")
    if not args.block:
        raise InputError("Which sensitive variables? --block NAME=MODEL, again for each.")
    for name in OTHERS:
        if getattr(args, name) is not None:
            raise InputError(f"--{name} is not of: study rivals.")
    if args.scale is not None and len(args.scale) > 1:
        raise InputError("--scale takes one value here.")
    common = {name: value for name, value in common_settings(args).items() if name not in ("epsilon", "seed")}
    if "scale" in common:
        common["scale"] = common["scale"][0]
    table = load_data(args.table, options=options_of(args), missing=args.missing)
    blocks = with_declared(blocks_from(args), table)
    return RivalStudy(
        table,
        blocks,
        with_rules(common, blocks, table),
        tuple(args.mechanism or MECHANISMS),
        tuple(dict.fromkeys(args.rival or ())),
        tuple(args.epsilon or EPSILONS),
        SEEDS if args.replicates is None else args.replicates,
        args.seed,
        edges_by_name(args.edges or []),
        args.budget or COUNTED[0],
    )


def run_with_rivals(args: argparse.Namespace) -> str:
    """Run the study, saying what is next, and give its report."""
    from synth_core.system.cache import results_cache

    if args.format not in FORMATS:
        raise InputError(f"study rivals writes {', '.join(FORMATS)} (given: {args.format}).")
    directory = writable(args.write)
    study = study_from(args)
    keep = None if directory is None else partial(write_cell, directory, study)
    return render(study, run_rivals(study, results_cache(), _tell, keep), args.format)


def _tell(done: int, total: int, what: str) -> None:
    print(f"rivals: {done} of {total}{f', next: {what}' if what else ''}", file=sys.stderr, flush=True)
