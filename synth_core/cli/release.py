"""`plan` and `apply`: decide once, then release month after month without looking again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, analysis_of
from synth_core.analysis.policy import Policy
from synth_core.cli.compare import add_table
from synth_core.cli.data import add_reading, add_simulated, load_data, load_reference, options_of, table_of
from synth_core.cli.limit_arguments import add_count, count_beside
from synth_core.cli.notices import say_notices
from synth_core.cli.output import check_directory, destination
from synth_core.cli.recorded import record_run
from synth_core.cli.records import add_blocks, check_no_shares, open_records
from synth_core.cli.settings_arguments import settings_from
from synth_core.data.codebook import Codebook
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.bounded_text import read_limited
from synth_core.release.output.gate import OVERRIDABLE
from synth_core.release.output.gate_check import GateCheck
from synth_core.release.plan.alternatives import alternatives_of
from synth_core.release.plan.plan import Plan, read_plan
from synth_core.release.plan.plan_terms import NO_RHO, OF_BLOCKS, TUNED_ON, has_rho, of_blocks
from synth_core.release.report.audit_summary import parse_audit
from synth_core.system import files, limits


def add(commands: Any) -> None:
    """Add the sub-commands."""
    plan = commands.add_parser("plan", help="tune on one table and write a release plan")
    add_table(plan)
    add_blocks(plan)
    option = plan.add_argument
    option("--mechanism", required=True, metavar="NAME", help="the one to release with")
    option("--tuned-on", required=True, choices=tuple(TUNED_ON), help="what kind of table DATA is")
    option(
        "--public",
        action="store_true",
        help="DATA is public or simulated, so that the public report may hold how close the settings came on it",
    )
    option(
        "--series", required=True, metavar="NAME", help="name of the table over its periods, in the ledger"
    )
    option("--reason", required=True, help="why these settings, in words")
    option("--decided-by", required=True, metavar="WHO")
    option("--limit", type=float, metavar="EPS", help="of all releases of the series together")
    add_count(plan)
    option(
        "--target-epsilon",
        type=float,
        metavar="EPS",
        help="of a mechanism whose ε is measured; without it: what is measured here, with a factor of safety",
    )
    option(
        "--decimals",
        type=int,
        help="round synthetic values so, below 0 to tens and hundreds (default: as the table)",
    )
    option("--clamp", action="store_true", help="move synthetic values beyond the declared bounds to them")
    option("--keep-order", action="store_true", help="do not shuffle the rows")
    option(
        "--no-units",
        action="store_true",
        help="leave the column of units out of the files, in which each else has a new identifier",
    )
    option(
        "--against",
        nargs="+",
        default=[],
        metavar="NAME",
        help="mechanisms that it is chosen against: run on DATA too, and kept in the plan for the record",
    )
    option("--out", required=True, metavar="PLAN.json")
    plan.set_defaults(run=run_plan)

    record = commands.add_parser("record", help="a plan's decision for the minutes, as a web page or slides")
    record.add_argument("plan", metavar="PLAN.json")
    record.add_argument("--out", required=True, metavar="FILE", help="ends in .html or .pptx")
    record.set_defaults(run=run_record)

    apply = commands.add_parser("apply", help="release a table by a plan")
    option = apply.add_argument
    option("plan", metavar="PLAN.json")
    option("data", metavar="DATA")
    option("--out", metavar="DIR", help="where both archives go; not needed with --dry-run")
    option("--series", default="", metavar="NAME", help="instead of the plan's")
    option("--limit", type=float, metavar="EPS", help="of a series that has none yet")
    add_count(apply)
    option("--release", default="first", metavar="LABEL", help="tells two releases from one table apart")
    option(
        "--override",
        nargs=2,
        action="append",
        default=[],
        metavar=("CHECK", "REASON"),
        help=f"release although a check failed: {', '.join(sorted(OVERRIDABLE))}; both reports show the reason",
    )
    option(
        "--dry-run",
        action="store_true",
        help="stop after the gate; the draw that it looks at is charged, and released later at no more",
    )
    option("--audit", metavar="FILE.json", help="an audit of this plan, for the public report (see `audit`)")
    option(
        "--coverage",
        type=int,
        metavar="R",
        help="measure how often intervals from the release hold, for its public report: R databases are drawn from the "
        "released data and released again, which takes R times as long",
    )
    option("--recompute", action="store_true", help="draw a released data set again and compare")
    option(
        "--more-data-sets",
        type=int,
        metavar="N",
        help="draw N more data sets of what was released, where all cost what one costs; nothing is charged",
    )
    option(
        "--measured-posterior",
        choices=("refits", "exact"),
        default="",
        help="of --more-data-sets: what they are drawn from, if not what the plan says",
    )
    add_simulated(apply)
    add_reading(apply, plan_says_missing=True)
    apply.set_defaults(run=run_apply)


def run_plan(args: argparse.Namespace) -> int:
    """Run the mechanism on the tuning table and write the plan and its risk map."""
    from synth_core.release.output.closeness_checks import closeness_warnings
    from synth_core.release.plan.planning import Decision, make_plan, save_plan

    out = Path(args.out)
    if out.suffix != ".json":
        raise InputError("A plan's file ends in .json.")
    destination(args.out)  # before a fit of minutes
    point, count = find_mechanism(args.mechanism), count_beside(args.limit, args)
    delta = None if count is None else count.delta
    if delta is not None and not has_rho(point, args.tuned_on):  # before a fit of minutes
        raise InputError(f"--count zcdp: {NO_RHO}.")
    decision = Decision(
        series=args.series,
        reason=args.reason,
        decided_by=args.decided_by,
        tuned_on=args.tuned_on,
        limit=args.limit,
        limit_delta=delta,
        target_epsilon=args.target_epsilon,
        shuffle=not args.keep_order,
        keep_units=not args.no_units,
        decimals=args.decimals,
        clamp=args.clamp,
    )
    if args.block and not of_blocks(point):  # before a fit of minutes
        raise InputError(f"{point.label}: with several sensitive variables {OF_BLOCKS}.")
    against = [find_mechanism(name).key for name in args.against]
    analysis = _tuned_analysis(args)
    result = analysis.run(point.key)
    record_run(analysis, result)
    others = [analysis.run(key).summary_numbers for key in against if key != point.key]
    alternatives = alternatives_of(
        [result.summary_numbers, *others] if others else [],
        analysis.settings.outcome,
        Policy(),
        chosen=point.key,
    )
    plan, content = make_plan(analysis, result, replace(decision, alternatives=tuple(alternatives)))
    save_plan(plan, content, out)
    print(
        f"Plan {out}: {plan.point.label}, {plan.guarantee.label}, target ε = {plan.target_epsilon:g} "
        f"{plan.guarantee.sets_words}"
    )
    if plan.frozen is not None:
        print(f"Risk map, INTERNAL, keep it beside the plan: {plan.frozen.sha256}.riskmap.npz")
    for problem in result.problems:
        print(f"! the fit on the tuning table has not converged: {problem}")
    for warning in closeness_warnings(analysis, result):
        print(f"! on the tuning table: {warning}")
    if plan.warning:
        print(f"! tuned on {TUNED_ON[plan.tuned_on.kind]}: {plan.warning}")
    if plan.beyond_limit:
        print(f"! {plan.beyond_limit}")
    return 0


def run_record(args: argparse.Namespace) -> int:
    """Write the record of a plan's decision."""
    from synth_core.figures.briefing.decision import decision_record, is_internal
    from synth_core.figures.briefing.powerpoint import powerpoint
    from synth_core.figures.briefing.web_page import web_page

    ending = Path(args.out).suffix
    if ending not in (".html", ".pptx"):
        raise InputError("The record's file ends in .html or .pptx.")
    destination(args.out)
    plan = read_plan(args.plan)
    target, pages = Path(args.out), decision_record(plan)
    files.write_whole(target, web_page(pages) if ending == ".html" else powerpoint(pages), durable=False)
    print(f"Record {target}{', INTERNAL' if is_internal(plan) else ''}: {len(pages)} pages")
    return 0


def _tuned_analysis(args: argparse.Namespace) -> AnyAnalysis[Any]:
    """The analysis of the table that is tuned on."""
    from synth_core.system.cache import results_cache

    table = _tuning_table(args)
    if args.block:
        return open_records(args, table)
    check_no_shares(args)
    settings = settings_from(args, args.data, table=table)
    reference = load_reference(settings, args.data_seed, table)
    analysis = analysis_of(table, settings, (), results_cache(), reference)
    say_notices(analysis)
    return analysis


def _tuning_table(args: argparse.Namespace) -> Table:
    """The table that is tuned on; a file is confidential unless it is declared public."""
    table = table_of(args, args.data)
    return replace(table, confidential=False) if args.public else table


def run_apply(args: argparse.Namespace) -> int:
    """Release a table: gate, ledger, both archives."""
    from synth_core.experiments.studies.released_coverage import ReleasedCoverage
    from synth_core.release.making.drawing import Request
    from synth_core.release.making.outcome import CHECKED, MORE, REFUSED, REPEATED
    from synth_core.release.making.releasing import charge_words, publish, release, stays_charged
    from synth_core.release.plan.frozen_map import find_map
    from synth_core.release.state import plans_directory

    overrides = _checked_overrides(args)
    plan = read_plan(args.plan)
    content = find_map(plan, [Path(args.plan).parent, plans_directory()])
    request = Request(
        plan=plan,
        risk_map=content,
        table=load_data(args.data, args.rows, args.data_seed, options_of(args, plan.codebook or Codebook())),
        series=args.series,
        label=args.release,
        limit=args.limit,
        count=count_beside(args.limit, args),
        overrides=overrides,
        dry_run=args.dry_run,
        recompute=args.recompute,
        audit=_audit(args.audit, plan),
        more_data_sets=args.more_data_sets or 0,
        posterior=args.measured_posterior,
    )
    study = None if args.coverage is None else ReleasedCoverage(args.coverage)
    outcome = release(request, study=study)
    charge = charge_words(plan, outcome.epsilon)
    for check in outcome.checks:
        print_check(check)
    if outcome.state == REFUSED:
        failed = [c for c in outcome.checks if c.status == "failed"]
        why = "; ".join(f"{c.key}: {c.advice.removesuffix('.')}" for c in failed)
        raise InputError(f"The gate refused the release: {why}. {stays_charged(charge)}")
    if outcome.state == CHECKED:
        print(
            f"The gate would let this release pass. Nothing was written. {charge} is charged for the "
            f"draw that was looked at; releasing it under the same label costs nothing more."
        )
        return 0
    if outcome.state == REPEATED:
        again = "drawn again and found the same" if args.recompute else "the same archives again"
        print(f"This release was made before: {again}; nothing more is charged.")
    if args.out is None:  # a dry run of what was released before
        print("Nothing was written; --out DIR writes its archives again.")
        return 0
    for path in publish(outcome, Path(args.out)):
        print(path)
    if outcome.state == MORE:
        print(f"{request.more_data_sets} more data sets of release {outcome.number}: nothing is charged")
        return 0
    print(f"Release {outcome.number} of {request.name}: {charge} charged")
    return 0


def _checked_overrides(args: argparse.Namespace) -> dict[str, str]:
    """Check to reason, once the other options are such as can be used; raises InputError or FitError."""
    if args.out is None and not args.dry_run:
        raise InputError("--out is needed: where shall both archives go?")
    if args.out is not None:
        check_directory(Path(args.out))  # before a charge
    if args.more_data_sets is not None:
        alone = ("dry_run", "recompute", "override", "audit", "coverage", "limit", "count")
        if any(getattr(args, name) for name in alone):
            raise InputError(
                "--more-data-sets stands alone: what is drawn later of a release passes no gate of its own and is "
                "charged nothing, so it takes no --dry-run, --recompute, --override, --audit, --coverage, --limit or "
                "--count."
            )
        if not limits.DATASETS[0] <= args.more_data_sets <= limits.DATASETS[1]:
            raise InputError(
                f"--more-data-sets must lie between {limits.DATASETS[0]} and {limits.DATASETS[1]} "
                f"(given: {args.more_data_sets})."
            )
    elif args.measured_posterior:
        raise InputError("--measured-posterior is of --more-data-sets: the plan has that of the release.")
    overrides = dict(args.override)
    if len(overrides) != len(args.override):
        raise InputError("A check is overridden twice.")
    if args.limit is not None and not limits.TOTAL_EPSILON[0] <= args.limit <= limits.TOTAL_EPSILON[1]:
        raise InputError(
            f"--limit must lie between {limits.TOTAL_EPSILON[0]:g} and {limits.TOTAL_EPSILON[1]:g}."
        )
    return overrides


def _audit(path: str | None, plan: Plan) -> str:
    """What the public report may hold of an audit's file."""
    if path is None:
        return ""
    content = read_limited(Path(path), limits.MAX_PLAN_BYTES, "audit")
    return parse_audit(content, plan).text()


def print_check(check: GateCheck) -> None:
    """One line of the gate. For the analyst: the finding may be confidential."""
    print(f"{check.status:>10}  {check.title}: {check.finding}")
    if check.advice:
        print(f"{'':>10}  {check.advice}")
