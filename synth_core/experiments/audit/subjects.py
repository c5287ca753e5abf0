"""What can be audited: a release plan, a finished run, a settings file; each with a table."""

from __future__ import annotations

from dataclasses import replace

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fits import Progress
from synth_core.analysis.records.blocks import common_of
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings, make_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.release.plan.frozen_map import load_maps
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.schema import check_schema
from synth_core.release.run_store import StoredRun
from synth_core.system.cache import Cache


def of_plan(
    plan: Plan,
    risk_map: bytes | None,
    table: Table,
    cache: Cache,
    progress: Progress,
    asked: AuditRequest,
    seed: int,
) -> tuple[Analysis | RecordsAnalysis, AuditRequest]:
    """A plan's mechanism on a table, with the map that the plan froze.

    Raises
    ------
    InputError
        If the table does not fit the plan, or the map is not the plan's.
    """
    table = table.with_missing(plan.missing)
    check_schema(plan, table)
    asked = replace(asked, mechanisms=(plan.mechanism,), as_set=True)
    frozen = load_maps(plan, risk_map or b"")
    fixed = {"seed": seed, "risk_reference": frozen[0].name if frozen else "current"}
    if plan.blocks:
        blocks = tuple(each.block for each in plan.blocks)
        common = common_of(plan.settings) | fixed
        return RecordsAnalysis(table, blocks, common, cache, progress, frozen or None), asked
    settings = make_settings(**plan.settings.model_dump() | fixed | {"match_epsilon": None})
    return Analysis(table, settings, cache, progress, frozen[0] if frozen else None), asked


def of_run(
    run: StoredRun, table: Table, cache: Cache, reference: Table | RiskMap | None, asked: AuditRequest
) -> tuple[Analysis | RecordsAnalysis, AuditRequest]:
    """A finished run's mechanism and settings, on the table that it was made on.

    Raises
    ------
    InputError
        If the table is another one, or a plan's risk map is given for whole records.
    """
    if run.data["fingerprint"] != table.fingerprint:
        raise InputError(f"The run {run.id} was made on another table than the one given.")
    settings, asked = run_settings(run), replace(asked, mechanisms=(run.mechanism,))
    if not run.blocks:
        return Analysis(table, settings, cache, reference=reference), asked
    if isinstance(reference, RiskMap):
        raise InputError("With blocks the risk reference is a table: a plan's risk map is of one variable.")
    return RecordsAnalysis(table, run.blocks, common_of(settings), cache, reference=reference), asked


def run_settings(run: StoredRun) -> Settings:
    """The settings of a finished run, as the program keeps them."""
    return make_settings(**run.settings)
