"""The plan of a chosen run: everything that was solved for becomes a number, the map is frozen."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult, R
from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.table import declared_of
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.settings import Settings
from synth_core.data.agreement import check_agreement
from synth_core.data.missing import markers_of
from synth_core.data.rules import read_rules
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import safety_factor
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS
from synth_core.release.bounded_text import validated
from synth_core.release.plan.alternatives import MOST, Alternative, alternatives_of
from synth_core.release.plan.column_schema import ColumnSchema
from synth_core.release.plan.frozen_map import freeze, pack, store_map, to_bytes
from synth_core.release.plan.plan import FORMAT, UNPLANNED, Plan, tuning_marks
from synth_core.release.plan.plan_terms import OF_BLOCKS, OPEN, TUNED_ON, needs_map, of_blocks
from synth_core.release.plan.planned_block import PlannedBlock
from synth_core.release.plan.schema import schema_of
from synth_core.system import clock, files

NO_RULE = Policy()


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
    keep_units: bool = True  # where there are units of several records: together, under new identifiers
    decimals: int | None = None
    clamp: bool = False
    policy: Policy = NO_RULE  # the rule that alternatives were held against
    alternatives: tuple[
        Alternative, ...
    ] = ()  # on the tuning table; the chosen one is added where it is not there


def make_plan(analysis: AnyAnalysis[R], result: R, decision: Decision) -> tuple[Plan, bytes | None]:
    """A plan and, for weighted mechanisms, the bytes of its frozen risk map, of several variables one for each fit.

    Parameters
    ----------
    analysis : AnyAnalysis
        Of the table that the settings were tuned on.
    result : AnyResult
        The chosen mechanism's, from that analysis.

    Raises
    ------
    InputError
        If the decision is incomplete, the table is confidential and called public or simulated, or several variables
        are sensitive and the mechanism is none of `of_blocks`.
    """
    point = result.point
    if analysis.blocks and not of_blocks(point):
        raise InputError(f"{point.label}: with several sensitive variables {OF_BLOCKS}.")
    if analysis.settings.match_epsilon is not None:
        solved = {k: result.tuned[k] for k in ("scale", "epsilon") if k in result.tuned}
        analysis = analysis.with_settings(match_epsilon=None, **solved)
    s = analysis.settings
    _check_anchor(point, s)
    strict = point.epsilon_by_construction
    _check_target(decision, s, strict)
    safety, target = _promised(decision, s, strict, result.epsilon, analysis.n_records)
    frozen, content = _frozen(analysis, result) if needs_map(point, s) else (None, None)
    columns = schema_of(
        _marked(analysis.loaded, analysis.blocks),
        analysis.used_rows.complete,
        analysis.public_transform.levels,
        analysis.outcomes,
        s.predictors,
        decision.decimals,
        s.unit_column if decision.keep_units else None,
    )
    values = _values(decision, analysis, columns) | {
        "mechanism": result.mechanism,
        "target_epsilon": target,
        "safety": safety,
        "frozen": frozen,
        "rule": decision.policy.stated(s.accuracy_by),
        "alternatives": _alternatives(decision, result, s.outcome),
        "blocks": [PlannedBlock.of(block) for block in analysis.blocks],
    }
    values["tuned_on"] |= {"epsilon": _finite(result.epsilon), "utility": _utility(result.summary_numbers)}
    plan = validated(Plan, values, "plan")
    check_rounded(analysis, plan)
    return plan, content


def check_rounded(analysis: AnyAnalysis[R], plan: Plan) -> None:
    """Refuse rules that leave a record of the table no value as the plan rounds it; raises InputError."""
    rules = read_rules(plan.settings.rules)
    states = {each.name: declared_of(each, plan.decimals_of(each.name)) for each in analysis.blocks}
    for name in dict.fromkeys(rule.column for rule in rules if rule.column in states):
        check_agreement(analysis.table.frame, rules, name, states, plan.settings.predictors)


def _alternatives(decision: Decision, result: AnyResult, outcome: str) -> list[dict[str, Any]]:
    """What was compared; nothing where there was no choice."""
    known = list(decision.alternatives)
    if known and not any(each.chosen for each in known):
        known += alternatives_of([result.summary_numbers], outcome, decision.policy, chosen=result.mechanism)
    return [each.model_dump() for each in known[:MOST]]


def _frozen(analysis: AnyAnalysis[R], result: R) -> tuple[dict[str, Any], bytes]:
    """What a plan holds of its risk map, and the map's bytes."""
    point = result.point
    analyses = analysis.analyses(point.likelihood.anchors)
    maps = [freeze(each, point, fit.tuned) for each, fit in zip(analyses, result.fits, strict=True)]
    contents = [to_bytes(each) for each in maps]
    content = pack(contents) if analysis.blocks else contents[0]
    reference = analysis.loaded if analysis.reference is None else analysis.reference
    records = maps[0].records
    if isinstance(reference, Table):
        modelled = (*analysis.outcomes, *analysis.settings.predictors)
        records = _marked(reference, analysis.blocks).fingerprint_of_records(modelled)
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "k": result.tuned.get("k") if "reweighting" in point.adjustments else None,
        "scalar": result.tuned.get("scalar") if point.single_weight else None,
        "records": records or None,
    }, content


def _marked(table: Table, blocks: tuple[Block, ...]) -> Table:
    """A table that says of all columns what means missing."""
    return table.with_missing(f"{block.name}={text}" for block in blocks for text in block.missing or ())


def _utility(numbers: ResultNumbers) -> dict[str, float]:
    """How close the synthetic values came on the tuning table; a measure of a bad fit may be no number."""
    known = {"ecdf_max": numbers.ecdf_max, "ecdf_avg": numbers.ecdf_avg, "interval_overlap": numbers.overlap}
    known |= numbers.errors
    known |= {} if numbers.joint is None else asdict(numbers.joint)
    return {name: value for name, value in known.items() if isinstance(value, float) and math.isfinite(value)}


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
    decision: Decision, analysis: AnyAnalysis[Any], columns: tuple[ColumnSchema, ...]
) -> dict[str, Any]:
    """What every plan holds of the decision, the table and the settings."""
    table, outcomes = _marked(analysis.loaded, analysis.blocks), analysis.outcomes
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
        "settings": analysis.settings.model_dump(exclude=set(UNPLANNED)),
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
