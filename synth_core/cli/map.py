"""`map`: sweep settings, and print risk against utility with the frontier of every guarantee."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.measures import percentile_of
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.guarantee_sentences import covers_words, neighbour_words
from synth_core.cli.compare import add_options
from synth_core.cli.explored import open_explored
from synth_core.cli.map_rivals import add_rivals, as_json, as_rows, check_rivals, notes, run_rivals
from synth_core.cli.output import finite
from synth_core.cli.records import add_blocks
from synth_core.errors import FitError, InputError
from synth_core.experiments.explore.knobs import KNOBS
from synth_core.experiments.explore.point import PREDICTIVE, PointSummary, run_point
from synth_core.experiments.explore.refine import refined
from synth_core.experiments.explore.sweep import Planned, Sweep, duration, estimate, plan, read_sweep
from synth_core.experiments.explore.wording import (
    FRONTIER_RULE,
    at_zeros_of,
    band_text,
    frontier_points,
    guarantee_label,
    knobs_text,
    points_csv,
)
from synth_core.experiments.rivals.bands import RivalBand
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.system.json_text import json_text
from synth_core.system.number_text import ceiling
from synth_core.system.text_table import aligned

DEFAULT = (Sweep("scale", 0.2, 2.0, 7), Sweep("epsilon", 0.25, 16.0, 7))


def add(commands: Any) -> None:
    """Add the sub-command."""
    command = commands.add_parser("map", help="sweep settings: epsilon against utility, and the frontier")
    add_options(command, ["unweighted", "weighted", "exponential"])
    add_blocks(command)
    add_sweep(command)
    command.add_argument(
        "--measure",
        default="ecdf_max",
        help="utility as an error: ecdf_max, ecdf_avg, mean, median, or a percentile such as q90",
    )
    command.add_argument(
        "--predictive",
        type=int,
        default=PREDICTIVE,
        help="synthetic data sets that a point is measured on (fewer for large tables)",
    )
    command.add_argument(
        "--refine", type=int, default=0, metavar="ROUNDS", help="rounds of more points around the frontier"
    )
    add_rivals(command)
    command.add_argument("--format", choices=("table", "json", "csv"), default="table")
    command.set_defaults(run=run_map)


def add_sweep(command: argparse.ArgumentParser) -> None:
    """The option that names settings to sweep."""
    command.add_argument(
        "--sweep",
        action="append",
        type=str,
        metavar="NAME=FROM:TO:STEPS",
        help=f"of {', '.join(KNOBS)}; may be given several times, for example --sweep scale=0.2:1.6:8; "
        "epsilon by equal ratios, the others by equal steps",
    )


def say(text: str) -> None:
    """Tell how far it is, where it does not disturb the output."""
    print(text, file=sys.stderr, flush=True)


def run_map(args: argparse.Namespace) -> int:
    """Compute the points one after another and print them; what was computed before is cached."""
    percentile = percentile_of(args.measure)
    extra = () if percentile is None else (percentile,)
    low, high = limits.PREDICTIVE
    if not low <= args.predictive <= high:
        raise InputError(f"--predictive must lie between {low} and {high:,} (given: {args.predictive}).")
    sweeps = list(DEFAULT) if args.sweep is None else [read_sweep(text) for text in args.sweep]
    analysis, keys = open_explored(args, args.measure)
    check_rivals(args, analysis)
    settings = analysis.settings.model_copy(update={"match_epsilon": None})
    for mechanism in map(find_mechanism, keys):
        if mechanism.likelihood.needs_bounds and settings.bounds is None:
            raise InputError(
                f"{mechanism.label} needs declared bounds of the sensitive variable (--bounds L U)."
            )
    if args.refine < 0:
        raise InputError(f"--refine must be 0 or more (given: {args.refine}).")
    # Several variables are as many fits, and as many records to measure.
    n_rows = len(analysis.analyses(False)) * len(analysis.table.frame)
    estimate(keys, settings, sweeps, n_rows)  # refuses too many points, with their cost
    points = plan(analysis.table.fingerprint, keys, settings, sweeps, analysis.reference_fingerprint)
    cost = estimate(keys, settings, sweeps, n_rows)[1]
    say(f"{len(points)} points, at most about {duration(cost)}; points computed before take no time")
    computed = _run(analysis, points, args.predictive, extra)
    for _ in range(args.refine):
        more = refined(
            analysis.table.fingerprint,
            [planned for planned, _ in computed],
            _best([point for _, point in computed], args.measure),
            analysis.reference_fingerprint,
        )
        say(f"refining: {len(more)} more points")
        computed += _run(analysis, more, args.predictive, extra)
    if not computed:
        raise FitError("No point of the map could be computed.")
    shown = sorted((point for _, point in computed), key=lambda p: (keys.index(p.mechanism), p.epsilon))
    best = _best(shown, args.measure)
    others = run_rivals(args, analysis, shown, say)
    if args.format == "json":
        made = _json(shown, best, args.measure) | as_json(others, args.measure)
        print(json_text(made))
    elif args.format == "csv":
        named = ("ecdf_max", "ecdf_avg", "mean", "q15", "median", "q90", args.measure)
        print(points_csv(shown, tuple(dict.fromkeys(named))), end="")
    else:
        _print(shown, best, args.measure, others, settings, several=bool(analysis.blocks))
        print(settings.whose_accuracy, end="\n" if settings.whose_accuracy else "")
    return 0


def _run(
    analysis: AnyAnalysis[Any], points: list[Planned], predictive: int, extra: tuple[float, ...]
) -> list[tuple[Planned, PointSummary]]:
    """Compute points; one bad corner of the grid does not lose the others."""
    computed = []
    for i, planned in enumerate(points, start=1):
        changes = planned.settings.model_dump(include={*planned.knobs, "match_epsilon"})
        said = f"{i} of {len(points)}: {planned.mechanism}, {knobs_text(planned.knobs)}"
        try:
            point = run_point(analysis.with_settings(**changes), planned.mechanism, predictive, extra)
        except (InputError, FitError) as error:
            say(f"{said}: {error}")
            continue
        computed.append((planned, point.summary()))
        say(said)
    return computed


def _best(points: list[PointSummary], measure: str) -> list[bool]:
    """Whether each point lies on a frontier."""
    numbered = [replace(p, id=str(i)) for i, p in enumerate(points)]
    best = {p.id for kept in frontier_points(numbered, measure).values() for p in kept}
    return [p.id in best for p in numbered]


def _json(points: list[PointSummary], best: list[bool], measure: str) -> dict[str, Any]:
    """The documented JSON of a map; a number that is not finite becomes null."""
    return {
        "measure": measure,
        "predictive_data_sets": points[0].n_predictive,
        "density_scale": points[0].density_scale,
        "frontier": FRONTIER_RULE,
        "points": [
            {
                "mechanism": p.mechanism,
                "settings": p.knobs,
                "epsilon": p.epsilon,
                "guarantee": guarantee_label(p),
                "epsilon_replace": p.epsilon_replace,
                "lipschitz_bound": p.lipschitz_bound,
                "utility": dict(zip(("q05", "median", "q95"), map(finite, p.bands[measure]), strict=True)),
                "on_frontier": on_frontier,
                "problems": p.problems,
            }
            for p, on_frontier in zip(points, best, strict=True)
        ],
    }


def _print(
    points: list[PointSummary],
    best: list[bool],
    measure: str,
    others: list[RivalBand],
    s: Settings,
    several: bool,
) -> None:
    rows = [["mechanism", "settings", "ε", "guarantee", f"{measure}, median (5–95 %)", "frontier"]]
    for p, on_frontier in zip(points, best, strict=True):
        mark = "yes" if on_frontier else "not converged" if p.problems else ""
        rows.append(
            [
                p.mechanism,
                knobs_text(p.knobs),
                ceiling(p.epsilon, 3),
                guarantee_label(p),
                band_text(p, measure),
                mark,
            ]
        )
    for line in aligned(rows + as_rows(others, measure)):
        print(line)
    print(f"Bands over {points[0].n_predictive} synthetic data sets of each fit; {FRONTIER_RULE}.")
    if zeros := at_zeros_of(points[0], measure):
        print(zeros)
    if several:
        print(
            f"An error is the largest over the sensitive variables. {covers_words(s.unit_column, s.unit_size)}"
        )
    else:
        print(neighbour_words((find_mechanism(p.mechanism) for p in points), s.unit_column))
    for line in notes(others):
        print(line)
