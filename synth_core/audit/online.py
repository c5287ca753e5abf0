"""An audit as one task of the app."""

from __future__ import annotations

from typing import Any

from synth_core.audit.audit import Asked, run_audit
from synth_core.audit.report import heading, notes, render, rows, to_csv
from synth_core.audit.subjects import of_plan
from synth_core.comparison import Comparison
from synth_core.release.frozen import find_map
from synth_core.release.plan import parse_plan
from synth_core.release.state import plans_directory


def run_in_app(comparison: Comparison, asked: dict[str, Any], plan_text: str | None) -> dict[str, Any]:
    """Run an audit and return its table, its files and the words around it.

    Parameters
    ----------
    comparison : Comparison
        Of the table and the settings in use; a plan brings its own settings and map.
    """
    wanted, digest = Asked(**asked | {"mechanisms": tuple(asked["mechanisms"])}), ""
    if plan_text is not None:
        plan = parse_plan(plan_text.encode())
        risk_map = find_map(plan, [plans_directory()])
        comparison, wanted = of_plan(
            plan, risk_map, comparison.table, comparison.cache, comparison.progress, wanted,
            comparison.settings.seed,
        )  # fmt: skip
        digest = plan.digest
    audit = run_audit(comparison, wanted, digest)
    return {
        "heading": heading(audit),
        "rows": rows(audit),
        "notes": notes(audit),
        "confidential": audit.confidential,
        "plan": audit.plan,
        "csv": to_csv(audit).decode(),
        "json": render(audit, "json"),
    }
