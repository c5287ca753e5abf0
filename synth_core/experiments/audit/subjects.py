"""What can be audited: a release plan, a finished run, a settings file; each with a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, analysis_of
from synth_core.analysis.fits import Progress
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
) -> tuple[AnyAnalysis[Any], AuditRequest]:
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
    settings = make_settings(**plan.settings.model_dump() | fixed | {"match_epsilon": None})
    blocks = plan.analysed_blocks
    return analysis_of(table, settings, blocks, cache, frozen or None, progress=progress), asked


def of_run(
    run: StoredRun, table: Table, cache: Cache, reference: Table | RiskMap | None, asked: AuditRequest
) -> tuple[AnyAnalysis[Any], AuditRequest]:
    """A finished run's mechanism and settings, on the table that it was made on.

    Raises
    ------
    InputError
        If the table is another one, or a plan's risk map is given for whole records.
    """
    if run.data["fingerprint"] != table.fingerprint:
        raise InputError(f"The run {run.id} was made on another table than the one given.")
    asked = replace(asked, mechanisms=(run.mechanism,))
    return analysis_of(table, run_settings(run), run.blocks, cache, reference), asked


def run_settings(run: StoredRun) -> Settings:
    """The settings of a finished run, as the program keeps them."""
    return make_settings(**run.settings)
