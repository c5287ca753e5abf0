"""`map --rival`: other synthesizers at the epsilons of the strict frontier."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.cli.output import finite
from synth_core.errors import FitError, InputError
from synth_core.experiments.explore.point import PointSummary
from synth_core.experiments.rivals.bands import RivalBand, bands_of, error_text, strict_epsilons
from synth_core.experiments.rivals.budget import COUNTED
from synth_core.experiments.rivals.declared_cells import all_cells_words
from synth_core.experiments.rivals.map_runs import offered, planned, run_for_map, summary_of
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.mechanisms.ranges import read_edges
from synth_core.system import limits
from synth_core.system.number_text import ceiling, rounded_up


def add_rivals(command: argparse.ArgumentParser) -> None:
    """The options of other synthesizers beside the map."""
    group = command.add_argument_group("other synthesizers, at the ε of the strict frontier")
    group.add_argument(
        "--rival", nargs="+", default=[], metavar="NAME", help=f"of {', '.join(offered(True))}"
    )
    group.add_argument(
        "--replicates",
        type=int,
        default=limits.RIVAL_RUNS,
        metavar="R",
        help=f"runs of each at each ε ({limits.RIVAL_RUNS})",
    )
    group.add_argument(
        "--budget",
        choices=COUNTED,
        default=COUNTED[0],
        help="what an ε is for them: rho (the default), zCDP with ρ = ε²/8; epsilon, pure ε",
    )
    group.add_argument(
        "--edges",
        metavar="EDGE,EDGE...",
        help="edges of their bins, never taken from the table; without it, by what is declared: brackets, the bounds "
        "with the histogram's bins, or a guess",
    )


def check_rivals(args: argparse.Namespace, analysis: AnyAnalysis[Any]) -> None:
    """Refuse before the map is computed what cannot stand beside it; raises InputError."""
    if not args.rival:
        return
    several = bool(analysis.blocks)
    there = offered(several)
    for name in args.rival:
        if name not in there:
            of = "" if several else " of one variable"
            raise InputError(f"There is no rival '{name}'{of}; there are: {', '.join(there)}.")
        RIVALS[name].check()
    if args.replicates < 1:
        raise InputError(f"--replicates must be 1 or more (given: {args.replicates}).")
    if several and args.edges:
        raise InputError(
            "With blocks each number's bins are declared in its block: bounds, brackets or a guess."
        )
    all_cells_words(analysis.outcomes, analysis.n_records, read_edges(args.edges or ""))


def run_rivals(
    args: argparse.Namespace,
    analysis: AnyAnalysis[Any],
    points: list[PointSummary],
    say: Callable[[str], None],
) -> list[RivalBand]:
    """Run what is asked for and not stored; a run that fails is said and left out.

    Raises
    ------
    InputError
        If the map has no point on a strict frontier.
    """
    if not args.rival:
        return []
    edges, settings = read_edges(args.edges or ""), analysis.settings
    say(all_cells_words(analysis.outcomes, analysis.n_records, edges))
    epsilons = strict_epsilons(points, args.measure)
    if not epsilons and any(RIVALS[name].private for name in args.rival):
        raise InputError(
            "The map has no point with a strict guarantee, hence no ε for rivals: add a strict mechanism, such as "
            "--mechanism anchored."
        )
    summaries = []
    rivals = list(dict.fromkeys(args.rival))
    asked = planned(rivals, epsilons, settings, args.replicates, args.budget, edges, analysis.blocks)
    for i, each in enumerate(asked, start=1):
        at = "" if each.asked.epsilon is None else f" at ε = {each.asked.epsilon:g}"
        said = f"{i} of {len(asked)}: {each.asked.label}{at}, seed {each.asked.seed}"
        try:
            summaries.append(summary_of(run_for_map(analysis, each), each))
        except (InputError, FitError) as error:
            say(f"{said}: {error}")
            continue
        say(said)
    return bands_of(summaries)


def as_json(others: list[RivalBand], measure: str) -> dict[str, Any]:
    """A part of the documented JSON; empty where none were asked for."""
    rows = [
        {
            "who": band.who,
            "label": band.label,
            "epsilon": band.epsilon,
            "guarantee": band.guarantee,
            "mean": finite(band.mean.get(measure)),
            "two_standard_errors": finite(band.error.get(measure)),
            "runs": band.runs,
        }
        for band in others
    ]
    return {"rivals": rows} if rows else {}


def as_rows(others: list[RivalBand], measure: str) -> list[list[str]]:
    """Rows below those of the points."""
    return [
        [
            band.who,
            "not ours",
            "" if band.epsilon is None else ceiling(band.epsilon, 3),
            band.guarantee,
            error_text(band, measure),
            "",
        ]
        for band in others
    ]


def notes(others: list[RivalBand]) -> list[str]:
    """What the rows of rivals mean."""
    if not others:
        return []
    spent = {b.epsilon: b.share_squares for b in others if b.epsilon is not None and b.counted == "rho"}
    words = [
        f"ε = {epsilon_number(e)} stands for ρ = {rounded_up(e**2 * s / 8, 3)}" for e, s in spent.items()
    ]
    return [
        "Not ours: the mean over runs ± 2 standard errors, outside the choice: none can be released here.",
        *([f"Their zCDP: {'; '.join(words)}."] if words else []),
    ]
