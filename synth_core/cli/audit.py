"""`audit`: run mechanisms many times on neighbouring tables, and hold what shows against the claim."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.blocks import common_of
from synth_core.analysis.settings import Settings
from synth_core.cli.data import add_reading, add_simulated, load_anchor, load_reference, table_of
from synth_core.cli.output import destination, show_or_write
from synth_core.cli.records import add_blocks, check_no_shares, open_records, records_of
from synth_core.cli.settings_arguments import add_settings, settings_from
from synth_core.data.table import Table, declared_again
from synth_core.errors import InputError
from synth_core.experiments.audit.audit import Audit, AuditRequest, run_audit
from synth_core.experiments.audit.report import FORMATS, render
from synth_core.experiments.audit.subjects import of_plan, of_run, run_settings
from synth_core.mechanisms.catalogue import MECHANISMS, find_mechanism
from synth_core.release.bounded_text import parse_object, read_limited
from synth_core.release.plan import settings_file
from synth_core.release.plan.frozen_map import find_map
from synth_core.release.plan.plan import FORMAT as PLAN_FORMAT
from synth_core.release.plan.plan import parse_plan
from synth_core.release.run_store import RunStore, StoredRun
from synth_core.release.state import plans_directory
from synth_core.system import limits

DEFAULTS = AuditRequest(())


def add(commands: Any) -> None:
    """Add the sub-command."""
    audit = commands.add_parser(
        "audit", help="measure a lower bound of ε on neighbouring tables, beside the claim"
    )
    option = audit.add_argument
    option(
        "subject",
        metavar="PLAN|RUN|SETTINGS|DATA",
        help="a release plan (.json), a finished run (id or name), saved settings (.json), or a table with the "
        "options of compare",
    )
    option(
        "data", nargs="?", metavar="DATA", help="the table, where the first is none: a file, or example:NAME"
    )
    option("--runs", type=int, default=DEFAULTS.runs, help="on each of two tables (default: %(default)s)")
    option(
        "--confidence", type=float, default=DEFAULTS.confidence, help="of all lines (default: %(default)s)"
    )
    option("--delta", type=float, default=DEFAULTS.delta, help="of (ε, δ) (default: 0)")
    option(
        "--public",
        action="store_true",
        help="DATA is public or simulated, so that the public report may hold the result",
    )
    option("--format", choices=FORMATS, default="table")
    option("--out", metavar="PATH", help="write the result to a file")
    option(
        "--mechanism", nargs="+", metavar="NAME", help="with a table (default: weighted) or saved settings"
    )
    add_settings(audit)
    add_blocks(audit)
    add_simulated(audit)
    add_reading(audit)
    audit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit what the arguments name and print the table."""
    path = destination(args.out)
    show_or_write(render(_audit(args), args.format), path)
    return 0


def _audit(args: argparse.Namespace) -> Audit:
    from synth_core.system.cache import results_cache

    asked = replace(DEFAULTS, runs=args.runs, confidence=args.confidence, delta=args.delta)
    subject, cache = args.subject, results_cache()
    kind, content = _kind(subject)
    if kind == "plan":
        plan = parse_plan(content)
        risk_map = find_map(plan, [Path(subject).parent, plans_directory()])
        seed = Settings.model_fields["seed"].default if args.seed is None else args.seed
        subject, asked = of_plan(plan, risk_map, _table(args, args.data), cache, _Progress(), asked, seed)
        return run_audit(subject, asked, plan.digest)
    if kind == "run":
        run = RunStore().find(subject)
        table = _run_table(args, run).with_missing(run.data.get("missing", ()))
        reference = load_reference_of(run, args.data_seed, table)
        analysis, asked = of_run(run, table, cache, reference, asked)
        return run_audit(analysis.reporting(_Progress()), asked)
    elif kind == "settings":
        file = settings_file.from_bytes(content)
        settings = file.settings.model_copy(update={"risk_reference": args.risk_reference or "current"})
        table = _table(args, args.data)
        if file.codebook is not None:
            table = declared_again(table, file.codebook)
        table = table.with_missing(file.missing)
        asked = replace(asked, mechanisms=_keys(args.mechanism or file.mechanisms))
        if file.blocks:
            blocks, common = tuple(each.block for each in file.blocks), common_of(settings)
            return run_audit(records_of(args, table, blocks, common).reporting(_Progress()), asked)
        reference = load_reference(settings, args.data_seed, table)
        anchor = load_anchor(settings, args.data_seed, table)
        analysis = Analysis(table, settings, cache, reference=reference, anchor=anchor)
    else:
        if args.data is not None:
            raise InputError(
                "Two tables are named; an audit takes one, or a plan, a run or settings before it."
            )
        args.data, table = subject, _table(args, subject)
        asked = replace(asked, mechanisms=_keys(args.mechanism or ["weighted"]))
        if args.block:
            return run_audit(open_records(args, table).reporting(_Progress()), asked)
        check_no_shares(args)
        settings = settings_from(args, subject, table=table)
        reference = load_reference(settings, args.data_seed, table)
        anchor = load_anchor(settings, args.data_seed, table)
        analysis = Analysis(table, settings, cache, reference=reference, anchor=anchor)
    asked = replace(asked, mechanisms=_keys(asked.mechanisms))
    return run_audit(analysis.reporting(_Progress()), asked)


def _keys(names: Sequence[str]) -> tuple[str, ...]:
    """Mechanisms by their keys, each once."""
    chosen = tuple(MECHANISMS) if tuple(names) == ("all",) else names
    return tuple(dict.fromkeys(find_mechanism(name).key for name in chosen))


def _kind(subject: str) -> tuple[str, bytes]:
    """Whether the first argument is a plan, settings, a table or a run; the bytes of a JSON file."""
    path = Path(subject)
    if subject.startswith("example:"):
        return "table", b""
    if path.suffix.lower() == ".json":
        content = read_limited(path, limits.MAX_PLAN_BYTES, "plan or settings file")
        format_name = parse_object(content, limits.MAX_PLAN_BYTES, "plan or settings file").get("format")
        if format_name not in (PLAN_FORMAT, settings_file.FORMAT):
            raise InputError("The file is neither a release plan nor settings of this program.")
        return ("plan" if format_name == PLAN_FORMAT else "settings"), content
    if path.is_file() or path.suffix:
        return "table", b""
    return "run", b""


def _table(args: argparse.Namespace, data: str | None) -> Table:
    if data is None:
        raise InputError("On which table? Name it after the plan, run or settings: a file, or example:NAME.")
    table = table_of(args, data)
    return replace(table, confidential=False) if args.public else table


def _run_table(args: argparse.Namespace, run: StoredRun) -> Table:
    """The run's table: named, or the example that it was made on."""
    if args.data is None and run.data["name"].startswith("example:"):
        args.rows = args.rows or run.data["rows"]
        return _table(args, run.data["name"].partition(",")[0])
    return _table(args, args.data)


def load_reference_of(run: StoredRun, data_seed: int, table: Table) -> Any:
    """What the run's risk map was frozen on."""
    return load_reference(run_settings(run), data_seed, table)


class _Progress:
    """A line on standard error: where it is, at most once in two seconds on a terminal, every ten else."""

    def __init__(self) -> None:
        self._terminal, self._last = sys.stderr.isatty(), time.monotonic()

    def __call__(self, text: str, share: float) -> None:
        now = time.monotonic()
        if now - self._last < (2.0 if self._terminal else 10.0):
            return
        self._last = now
        line = f"audit: {text}, {share:.0%}"
        print(
            f"\r\033[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
