"""What can be audited: a release plan, a finished run, a settings file; each with a table."""

from __future__ import annotations

from dataclasses import replace

from synth_core.audit.audit import Asked
from synth_core.cache import Cache
from synth_core.comparison import Comparison
from synth_core.errors import InputError
from synth_core.fits import Progress
from synth_core.release.frozen import load_map
from synth_core.release.plan import Plan
from synth_core.release.schema import check_schema
from synth_core.release.store import Run
from synth_core.riskmap import RiskMap
from synth_core.settings import Settings, make_settings
from synth_core.table import Table


def of_plan(
    plan: Plan,
    risk_map: bytes | None,
    table: Table,
    cache: Cache,
    progress: Progress,
    asked: Asked,
    seed: int,
) -> tuple[Comparison, Asked]:
    """A plan's mechanism on a table, with the map that the plan froze.

    Raises
    ------
    InputError
        If the table does not fit the plan, or the map is not the plan's.
    """
    check_schema(plan, table)
    frozen = None if plan.frozen is None else load_map(plan, risk_map or b"")
    name = "current" if frozen is None else frozen.name
    settings = make_settings(
        **plan.settings.model_dump() | {"seed": seed, "risk_reference": name, "match_epsilon": None}
    )
    comparison = Comparison(table, settings, cache, progress, frozen)
    return comparison, replace(asked, mechanisms=(plan.mechanism,), as_set=True)


def of_run(
    run: Run, table: Table, cache: Cache, reference: Table | RiskMap | None, asked: Asked
) -> tuple[Comparison, Asked]:
    """A finished run's mechanism and settings, on the table that it was made on.

    Raises
    ------
    InputError
        If the table is another one.
    """
    if run.data["fingerprint"] != table.fingerprint:
        raise InputError(f"The run {run.id} was made on another table than the one given.")
    settings = run_settings(run)
    return Comparison(table, settings, cache, reference=reference), replace(
        asked, mechanisms=(run.mechanism,)
    )


def run_settings(run: Run) -> Settings:
    """The settings of a finished run, as the program keeps them."""
    return make_settings(
        **{k: tuple(map(tuple, v)) if k == "brackets" and v else tuple(v) if isinstance(v, list) else v
           for k, v in run.settings.items()}
    )  # fmt: skip
