"""An audit as one task of the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.report import AuditRow, heading, notes, render, rows, to_csv
from synth_core.experiments.audit.subjects import of_plan
from synth_core.release.plan.frozen_map import find_map
from synth_core.release.plan.plan import Plan
from synth_core.release.state import plans_directory


@dataclass(frozen=True)
class AuditAnswer:
    """What the page shows of an audit: its table, its files and the words around it.

    Attributes
    ----------
    rows : list of dict
        A line each, by the headings of its table.
    csv, json : str
        Its files.
    """

    heading: list[str]
    rows: list[AuditRow]
    notes: list[str]
    confidential: bool
    csv: str
    json: str


def run_in_app(analysis: AnyAnalysis[Any], asked: AuditRequest, plan: Plan | None) -> AuditAnswer:
    """Run an audit.

    Parameters
    ----------
    analysis : AnyAnalysis
        Of the table and the settings in use; a plan brings its own settings and map.
    """
    if plan is not None:
        analysis, asked = of_plan(
            plan,
            find_map(plan, [plans_directory()]),
            analysis.loaded,
            analysis.cache,
            analysis.progress,
            asked,
            analysis.settings.seed,
        )
    audit = run_audit(analysis, asked, "" if plan is None else plan.digest)
    return AuditAnswer(
        heading(audit),
        rows(audit),
        notes(audit),
        audit.confidential,
        to_csv(audit).decode(),
        render(audit, "json"),
    )
