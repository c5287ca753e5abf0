"""The plan of a chosen run: everything that was solved for becomes a number, the map is frozen."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.blocks import settings_of_first
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.result import Result
from synth_core.analysis.settings import Settings
from synth_core.data.missing import markers_of
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.guarantees import safety_factor
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS
from synth_core.release.bounded_text import validated
from synth_core.release.plan.column_schema import ColumnSchema
from synth_core.release.plan.frozen_map import freeze, pack, store_map, to_bytes
from synth_core.release.plan.plan import (
    FORMAT,
    OF_BLOCKS,
    OPEN,
    TUNED_ON,
    UNPLANNED,
    Plan,
    needs_map,
    of_blocks,
    tuning_marks,
)
from synth_core.release.plan.planned_block import PlannedBlock
from synth_core.release.plan.schema import schema_of
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
    _check_anchor(point, s)
    final = analysis.under(**s.model_dump())
    frozen_map = freeze(final, point, result.tuned) if needs_map(point, s) else None
    content = None if frozen_map is None else to_bytes(frozen_map)
    strict = point.keeps_epsilon
    safety, target = _promised(decision, s, strict, result.epsilon, analysis.model.records.n)
    _check_target(decision, s, strict)
    flat = result.plain_numbers
    utility = {"ecdf_max": flat.ecdf_max, "ecdf_avg": result.ecdf_avg}
    utility |= {} if flat.overlap is None else {"interval_overlap": flat.overlap}
    utility |= {
        f"relative error of the {name}": error
        for name, error in flat.relative_errors.items()
        if math.isfinite(error)
    }
    frozen = None
    if content is not None and frozen_map is not None:
        frozen = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "k": result.tuned.get("k") if "reweighting" in point.adjustments else None,
            "scalar": result.tuned.get("scalar") if point.single_weight else None,
            "records": frozen_map.records or None,
        }
    columns = schema_of(
        table,
        analysis.selection.complete,
        analysis.selection.transform.levels,
        {s.outcome: s},
        s.predictors,
        decision.decimals,
    )
    values = _values(decision, table, s, columns, {s.outcome: s}) | {
        "mechanism": result.mechanism,
        "target_epsilon": target,
        "safety": safety,
        "frozen": frozen,
    }
    values["tuned_on"] |= {"epsilon": _finite(result.epsilon), "utility": _known(utility)}
    return validated(Plan, values, "plan"), content


def make_records_plan(
    analysis: RecordsAnalysis, result: RecordsResult, decision: Decision
) -> tuple[Plan, bytes | None]:
    """A plan of several sensitive variables and, where it needs them, the bytes of a frozen risk map of each part.

    Parameters
    ----------
    analysis, result
        Of the table that the settings were tuned on.

    Raises
    ------
    InputError
        As `make_plan`; or if the mechanism is none of `of_blocks`.
    """
    point = result.point
    if not of_blocks(point):
        raise InputError(f"{point.label}: with several sensitive variables {OF_BLOCKS}.")
    s = settings_of_first(analysis.blocks, analysis.common)
    _check_anchor(point, s)
    strict = point.keeps_epsilon
    _check_target(decision, s, strict)
    safety, target = _promised(decision, s, strict, result.epsilon, analysis.table.rows)
    content = None
    if needs_map(point, s):
        analyses = analysis.analyses(point.likelihood.anchors)
        frozen = [
            freeze(each, point, part.result.tuned) for each, part in zip(analyses, result.parts, strict=True)
        ]
        content = pack([to_bytes(each) for each in frozen])
    outcomes = {part.name: part.settings for part in analysis.parts if not part.of_missing}
    # The plan says of all columns what means missing, as it does of a single variable's.
    table = analysis.loaded.with_missing(
        f"{b.name}={text}" for b in analysis.blocks for text in b.missing or ()
    )
    columns = schema_of(
        table,
        analysis.records.complete,
        analysis.public_transform.levels,
        outcomes,
        s.predictors,
        decision.decimals,
    )
    values = _values(decision, table, s, columns, outcomes) | {
        "mechanism": result.mechanism,
        "target_epsilon": target,
        "safety": safety,
        "frozen": None if content is None else {"sha256": hashlib.sha256(content).hexdigest()},
        "blocks": [PlannedBlock.of(block) for block in analysis.blocks],
    }
    measures = {"ecdf_max": max(part.distance for part in result.parts)}
    measures |= {
        k: v for k, v in asdict(result.measures).items() if isinstance(v, float) and math.isfinite(v)
    }
    values["tuned_on"] |= {"epsilon": _finite(result.epsilon), "utility": _known(measures)}
    return validated(Plan, values, "plan"), content


def _promised(
    decision: Decision, settings: Settings, strict: bool, measured: float, n_records: int
) -> tuple[float, float]:
    """The factor of safety and the target: the setting of a strict mechanism, else what was asked or measured."""
    if strict:
        return 1.0, settings.epsilon
    safety = safety_factor(n_records)
    return safety, decision.target_epsilon or math.ceil(measured * safety * 10) / 10


def _check_anchor(point: Mechanism, settings: Settings) -> None:
    if point.likelihood.anchors and settings.anchor not in SELF_CONTAINED_ANCHORS:
        raise InputError(
            "A plan carries its anchor: take a pilot, declared values, the last release of the series, or the "
            "reference table (the risk reference), which is frozen with the plan."
        )


def _known(measures: dict[str, float]) -> dict[str, float]:
    """Those that are numbers: of a fit far from the data an overlap may have none."""
    return {name: value for name, value in measures.items() if math.isfinite(value)}


def _finite(epsilon: float) -> float:
    if not math.isfinite(epsilon):
        raise InputError(
            "On the tuning table ε is not finite: a record has no likelihood there. Nothing is planned."
        )
    return epsilon


def _check_target(decision: Decision, settings: Settings, strict: bool) -> None:
    if strict and decision.target_epsilon not in (None, settings.epsilon):
        raise InputError("A strict mechanism keeps its own ε: change the setting ε, not the target.")


def _values(
    decision: Decision,
    table: Table,
    settings: Settings,
    columns: tuple[ColumnSchema, ...],
    outcomes: Mapping[str, Settings],
) -> dict[str, Any]:
    """What every plan holds of the decision, the table and the settings."""
    names = tuple(column.name for column in columns)
    if decision.tuned_on in OPEN and table.confidential:
        raise InputError(
            f"{table.name} was loaded as a confidential table, so it is not {TUNED_ON[decision.tuned_on]}, and the "
            f"public report will not hold how close the settings came on it. Call it historical, or say that everybody "
            f"may have it (--public)."
        )
    return {
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
            "fingerprint": table.fingerprint_of(names),
            "records": table.fingerprint_of_records(names),
            "marks": []
            if decision.tuned_on not in OPEN
            else [asdict(m.mark) for m in tuning_marks(table, tuple(outcomes), names)],
        },
        "missing": markers_of(table.missing, names, table.frame.columns),
        "codebook": table.codebook_of(names).model_dump() if table.codebook.columns else None,
        "columns": [c.model_dump() for c in columns],
        "settings": settings.model_dump(exclude=set(UNPLANNED)),
        "shuffle": decision.shuffle,
        "decimals": decision.decimals,
        "clamp": decision.clamp or _bounded_by_codebook(table, outcomes),
        "limit": decision.limit,
        "limit_delta": decision.limit_delta,
    }


def _bounded_by_codebook(table: Table, outcomes: Mapping[str, Settings]) -> bool:
    """Whether a sensitive variable has bounds that the codebook declares: no released value may lie beyond them."""
    entries = {entry.column: entry.bounds for entry in table.codebook.columns}
    return any(s.bounds is not None and s.bounds == entries.get(name) for name, s in outcomes.items())


def save_plan(plan: Plan, content: bytes | None, path: Path) -> None:
    """Write the plan (0600) and its risk map beside it, each whole or not at all."""
    if content is not None:
        store_map(content, path.parent)
    files.write_whole(path, plan.canonical() + "\n", durable=True)
