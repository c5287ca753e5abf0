"""From a chosen run to a plan: everything that was solved for becomes a number, the map is frozen."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.flat import flatten
from synth_core.analysis.result import Result
from synth_core.data.missing import markers_of
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import NO_TABLE, find_mechanism
from synth_core.mechanisms.guarantees import safety_factor
from synth_core.release.bounded_text import validated
from synth_core.release.plan.frozen_map import freeze, store_map, to_bytes
from synth_core.release.plan.plan import FORMAT, UNPLANNED, Plan, needs_map
from synth_core.release.plan.schema import data_fingerprint, schema_of
from synth_core.system import clock, files


@dataclass(frozen=True)
class Decision:
    """What people decide about a release, beside the settings."""

    series: str
    reason: str
    decided_by: str
    tuned_on: str
    limit: float | None = None
    limit_delta: float | None = None  # None: the limit counts the sum of ε, otherwise ε at this δ, by zCDP
    target_epsilon: float | None = None  # None: the mechanism's own, or the measured one with safety
    shuffle: bool = True
    decimals: int | None = None
    clamp: bool = False


def make_plan(analysis: Analysis, result: Result, decision: Decision) -> tuple[Plan, bytes | None]:
    """A plan and, for weighted mechanisms, the bytes of its frozen risk map.

    Parameters
    ----------
    analysis : Analysis
        Of the table that the settings were tuned on.
    result : Result
        The chosen mechanism's, from that analysis.

    Raises
    ------
    InputError
        If the decision is incomplete, or the table is confidential and called public or simulated.
    """
    point, table = find_mechanism(result.mechanism), analysis.table
    s = analysis.settings.model_copy(
        update={k: result.tuned[k] for k in ("scale", "epsilon") if k in result.tuned}
        | {"match_epsilon": None}
    )
    if point.likelihood == "anchored" and s.anchor not in NO_TABLE:
        raise InputError(
            "A plan carries its anchor: take a pilot, declared values, the last release of the series, or the "
            "reference table (the risk reference), which is frozen with the plan."
        )
    final = analysis.under(**s.model_dump())
    content = to_bytes(freeze(final, point, result.tuned)) if needs_map(point, s) else None
    n, strict = analysis.model.records.n, point.keeps_epsilon
    safety = 1.0 if strict else safety_factor(n)
    target = s.epsilon if strict else decision.target_epsilon or math.ceil(result.epsilon * safety * 10) / 10
    if strict and decision.target_epsilon not in (None, s.epsilon):
        raise InputError("A strict mechanism keeps its own ε: change the setting ε, not the target.")
    flat = flatten(result)
    utility = {"ecdf_max": flat.ecdf_max, "ecdf_avg": flat.ecdf_avg}
    utility |= {} if flat.overlap is None else {"interval_overlap": flat.overlap}
    utility |= {
        f"relative error of the {name}": error
        for name, error in flat.relative_errors.items()
        if math.isfinite(error)
    }
    frozen = None
    if content is not None:
        frozen = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "k": result.tuned.get("k") if "reweighting" in point.adjustments else None,
            "scalar": result.tuned.get("scalar") if point.single_weight else None,
        }
    values = {
        "format": FORMAT,
        "version": 1,
        "series": decision.series,
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "created": clock.now(),
        "tuned_on": {
            "kind": decision.tuned_on,
            "name": table.name,
            "rows": table.rows,
            "fingerprint": data_fingerprint(table, (s.outcome, *s.predictors)),
            "epsilon": result.epsilon,
            "utility": utility,
        },
        "missing": markers_of(table.missing, (s.outcome, *s.predictors), table.frame.columns),
        "columns": [c.model_dump() for c in schema_of(table, analysis.selection, s)],
        "mechanism": result.mechanism,
        "settings": s.model_dump(exclude=set(UNPLANNED)),
        "target_epsilon": target,
        "safety": safety,
        "shuffle": decision.shuffle,
        "decimals": decision.decimals,
        "clamp": decision.clamp,
        "limit": decision.limit,
        "limit_delta": decision.limit_delta,
        "frozen": frozen,
    }
    return validated(Plan, values, "plan"), content


def save_plan(plan: Plan, content: bytes | None, path: Path) -> None:
    """Write the plan (0600) and its risk map beside it, each whole or not at all."""
    if content is not None:
        store_map(content, path.parent)
    files.write_whole(path, plan.canonical() + "\n", durable=True)
