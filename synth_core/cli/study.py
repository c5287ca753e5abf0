"""`study`: Monte Carlo studies: the papers', ours, of databases like a table of the user's, and beside rivals."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING, Any

from synth_core.analysis.records.blocks import settings_of_first
from synth_core.analysis.settings import Settings, make_settings
from synth_core.cli.data import READING, add_reading, load_data, options_of
from synth_core.cli.output import destination, show_or_write
from synth_core.cli.records import blocks_from, check_no_shares, common_settings, with_declared, with_rules
from synth_core.cli.rivals import RIVALS_STUDY, add_rivals, run_with_rivals
from synth_core.cli.settings_arguments import add_settings, option_name, settings_from
from synth_core.data.table import Table
from synth_core.errors import Cancelled, InputError
from synth_core.experiments.studies import baseline
from synth_core.experiments.studies.report import FORMATS, StudyReport, render
from synth_core.experiments.studies.run_study import ConsoleProgress, run_study
from synth_core.experiments.studies.study import SAMPLER, Study, check_study
from synth_core.replication.named_studies import NAMED_STUDIES, build

if TYPE_CHECKING:
    from synth_core.analysis.any_analysis import AnyAnalysis

LIKE, COVERAGE = "like", "coverage"
OF_RIVALS = ("rival", "edges", "budget", "write")
OF_BLOCKS = ("block", "share")  # of studies of a table
MECHANISMS = ("unweighted", "weighted", "weighted_e", "censored")
SWEPT = ("epsilon", "scale")  # each of their values is studied
# A study has one seed for everything, weights from the simulated database itself, and one synthetic data set of it.
NOT_LIKE = {"seed", "risk_reference", "match_epsilon", "datasets", "anchor", "anchor_values", "earlier"}
LIKE_SETTINGS = tuple(name for name in Settings.model_fields if name not in NOT_LIKE)
COVERAGE_SETTINGS = ("anchor", "datasets")  # beside those of `like`
OF_COVERAGE = (*COVERAGE_SETTINGS, "population")
FITTED, RESAMPLED = "fitted", "table"  # what databases of a study of coverage are drawn from
DEFAULT_LIKE = 100
MAX_POINTS = 10_000


def add(commands: Any) -> None:
    """Add the sub-command."""
    study = commands.add_parser(
        "study", help="Monte Carlo studies: the papers', ours, or databases like yours"
    )
    one = study.add_argument
    one("name", metavar="NAME", help=f"{', '.join(NAMED_STUDIES)}; or like, coverage or rivals, with a table")
    one("table", metavar="DATA", nargs="?", help="for like, coverage and rivals: a file, or example:NAME")
    one("--replicates", type=int, metavar="R", help="simulated databases (default: the study's own)")
    one("--seed", type=int, default=1)
    one("--data", metavar="PATH", help="the file that a study of the papers' own data needs")
    one("--jobs", type=int, metavar="N", help="processes (default: one per core; 0: none)")
    one("--baseline", type=int, metavar="K", help="time the papers' per-record form on K replicates too")
    one("--format", choices=FORMATS, default="table")
    one("--out", metavar="PATH", help="write the report to a file")
    _add_like(study)
    add_rivals(study)
    study.set_defaults(run=run)


def _add_like(study: argparse.ArgumentParser) -> None:
    group = study.add_argument_group(
        "like, coverage, and rivals: what is run on DATA, or on databases simulated from a fit to it"
    )
    add_settings(group, (*LIKE_SETTINGS, *COVERAGE_SETTINGS), several=SWEPT)
    add_reading(group)
    group.add_argument("--mechanism", nargs="+", metavar="NAME", help=f"default: {' '.join(MECHANISMS)}")
    group.add_argument(
        "--population",
        choices=(FITTED, RESAMPLED),
        help="of coverage: databases are drawn from the model fitted to DATA (the default), or are records of DATA "
        "drawn with replacement, as for data that were released",
    )
    group.add_argument(
        "--rows", type=int, nargs="+", metavar="N", help="sizes of the databases; default the table's"
    )


def run(args: argparse.Namespace) -> int:
    """Run a study and write its table; Ctrl-C and a request to end leave no process behind."""
    ended = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(args)
    except KeyboardInterrupt:
        raise Cancelled("stopped; the same command goes on from what was finished") from None
    finally:
        signal.signal(signal.SIGTERM, ended)


def _run(args: argparse.Namespace) -> int:
    from synth_core.jobs.warm_up import warm_up
    from synth_core.system.backend import open_backend
    from synth_core.system.cache import results_cache

    path = destination(args.out)
    if args.name == RIVALS_STUDY:
        show_or_write(run_with_rivals(args), path)
        return 0
    for names, where in (
        (OF_RIVALS, "study rivals DATA"),
        (OF_BLOCKS, "a study of DATA: like, coverage or rivals"),
    ):
        wrong = [option_name(name) for name in names if getattr(args, name)]
        if wrong and not (names is OF_BLOCKS and args.name in (LIKE, COVERAGE)):
            raise InputError(f"{', '.join(wrong)} belongs to: {where}.")
    if args.replicates is not None and args.replicates < 1:
        raise InputError(
            f"--replicates must be at least 1 (given: {args.replicates}); without any there is nothing to report."
        )
    study, compare = _like(args) if args.name in (LIKE, COVERAGE) else _named(args)
    replicates = args.replicates or study.replicates
    check_study(study, replicates, args.seed)
    if args.baseline is not None:
        baseline.check(study, args.baseline, replicates)
        baseline.prepare()
    timed = ""
    with open_backend(args.jobs, warm_up) as backend:
        print(f"{study.title}: R = {replicates} on {backend.description}", file=sys.stderr)
        outcome = run_study(
            study, replicates, args.seed, backend, results_cache(), ConsoleProgress(study.name)
        )
        if args.baseline is not None:
            print("timing the per-record form …", file=sys.stderr, flush=True)
            timed = baseline.measure(outcome, backend, args.baseline)
    text = render(StudyReport(outcome, compare(outcome), timed), args.format)
    show_or_write(text, path)
    return 0


def _named(args: argparse.Namespace) -> tuple[Study, Any]:
    options = (*LIKE_SETTINGS, *OF_COVERAGE, "mechanism", "rows")
    given = [option_name(name) for name in options if getattr(args, name) is not None]
    given += [option_name(name) for name in READING if getattr(args, name)]
    if args.table is not None:
        given.insert(0, f"the table {args.table}")
    if given and args.name in NAMED_STUDIES:
        raise InputError(
            f"The study {args.name} has its own design; {', '.join(given)} belongs to: study like DATA."
        )
    named, study = build(args.name, args.data, load_data)
    return study, named.compare


def _like(args: argparse.Namespace) -> tuple[Study, Any]:
    from synth_core.experiments.studies.databases_like_mine import compare_like, local_bounds, study_like

    if args.table is None:
        raise InputError(
            f"Which table? study {args.name} FILE --outcome COLUMN, or study {args.name} example:NAME"
        )
    given = [option_name(name) for name in OF_COVERAGE if getattr(args, name) is not None]
    if args.name == LIKE and given:
        raise InputError(f"{', '.join(given)} belongs to: study coverage DATA.")
    table = load_data(args.table, options=options_of(args), missing=args.missing)
    analysis = _analysis(args, table)
    settings = analysis.settings
    epsilons, scales = args.epsilon or [settings.epsilon], args.scale or [settings.scale]
    for epsilon, scale in ((e, c) for e in epsilons for c in scales):
        make_settings(**(settings.model_dump() | {"epsilon": epsilon, "scale": scale}))
    mechanisms = args.mechanism or list(MECHANISMS)
    points = len(mechanisms) * len(epsilons) * len(scales) * len(args.rows or [1])
    if points > MAX_POINTS:
        raise InputError(f"{points:,} combinations were asked for; at most {MAX_POINTS:,} can be shown.")
    rows, replicates = args.rows or [], args.replicates or DEFAULT_LIKE
    sampler = {name: value for name in SAMPLER if (value := getattr(args, name)) is not None}
    if args.name == COVERAGE:
        resampled = args.population == RESAMPLED
        return _coverage(analysis, mechanisms, epsilons, rows, replicates, sampler, resampled)
    study = study_like(analysis, mechanisms, epsilons, scales, rows, replicates, sampler)
    check_study(study, replicates, args.seed)  # before the table's own fits are made
    local = local_bounds(analysis, study)
    return study, lambda outcome: compare_like(outcome, local, epsilons)


def _analysis(args: argparse.Namespace, table: Table) -> AnyAnalysis[Any]:
    """The analysis that databases are like: of blocks, or of one sensitive variable."""
    from synth_core.analysis.any_analysis import analysis_of
    from synth_core.system.cache import results_cache

    if not args.block:
        check_no_shares(args)
        return analysis_of(table, settings_from(args, args.table, SWEPT, table), (), results_cache())
    blocks = with_declared(blocks_from(args), table)
    common = common_settings(args)
    common |= {name: common[name][0] for name in SWEPT if name in common}
    settings = settings_of_first(blocks, with_rules(common, blocks, table))
    return analysis_of(table, settings, blocks, results_cache())


def _coverage(
    analysis: AnyAnalysis[Any],
    mechanisms: list[str],
    epsilons: list[float],
    rows: list[int],
    replicates: int,
    sampler: dict[str, int],
    resampled: bool,
) -> tuple[Study, Any]:
    """Whether intervals hold; each database makes its own anchor."""
    from synth_core.experiments.studies.coverage import study_coverage
    from synth_core.experiments.studies.covered import compare_coverage, coverage_of

    study, truth = study_coverage(
        analysis, mechanisms, epsilons, rows, replicates, sampler, resampled=resampled
    )
    return study, lambda outcome: compare_coverage(coverage_of(outcome, truth))
