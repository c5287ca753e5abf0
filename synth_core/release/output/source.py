"""What a release is drawn from, of one sensitive variable or of several: what the gate and the internal report read.

Everything here is confidential but what was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.joint_measures import measures_in_words
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.records.summary import scales_in_words
from synth_core.analysis.result import Result
from synth_core.analysis.result_sentences import privacy_of_records
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table, outcome_values
from synth_core.release.output.gate import Fitted, beyond_map
from synth_core.release.plan.plan import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """A finished fit, of one variable or of several.

    Attributes
    ----------
    drawn : dict
        Of each sensitive variable the synthetic values, of shape (n_datasets, n_records).
    kept, written : DataFrame
        What the plan keeps of the complete rows: values, and cells as the file writes them.
    dropped_by : dict
        Rows that were left out, by column.
    numbers : dict
        For later comparisons, kept in the ledger.
    by_record : DataFrame
        What is known of each record.
    """

    table: Table
    fitted: Fitted
    drawn: dict[str, Array]
    kept: pd.DataFrame
    written: pd.DataFrame
    dropped: int
    dropped_by: dict[str, int]
    density_scale: str
    anchor: str
    numbers: dict[str, Any]
    by_record: pd.DataFrame
    sentence: str = ""
    parts: list[dict[str, Any]] = field(default_factory=list)


def of_one(plan: Plan, analysis: Analysis, result: Result) -> Source:
    """The finished fit of one sensitive variable."""
    selection, model, flat = analysis.selection, analysis.model, result.plain_numbers
    names = ("epsilon", "n_truncated", "n_censored", "ecdf_max", "ecdf_avg", "overlap")
    numbers = {"n": flat.n_records} | {name: getattr(flat, name) for name in names}
    if plan.point.likelihood.anchors:
        numbers["anchor_records"] = analysis.anchored.worth
    outcome = plan.settings.outcome
    return Source(
        analysis.table,
        Fitted(result, {outcome: model.records.outcome}, model.records.design, beyond_map(plan, analysis)),
        {outcome: result.synthetic},
        analysis.table.frame.loc[selection.complete, list(plan.kept)].reset_index(drop=True),
        analysis.table.as_written(plan.kept, selection.complete),
        selection.dropped,
        dict(selection.dropped_by),
        model.density_scale,
        result.anchor,
        numbers,
        _by_record(np.flatnonzero(selection.complete) + 1, result),
    )


def of_records(plan: Plan, analysis: RecordsAnalysis, result: RecordsResult) -> Source:
    """The finished fits of several sensitive variables."""
    values = [part.part for part in result.parts if not part.part.of_missing]
    table = analysis.table
    confidential = {p.name: outcome_values(table, p.name, p.settings.outcome_categories) for p in values}
    measures = result.measures
    numbers = {
        "n": table.rows,
        "epsilon": result.epsilon,
        "n_truncated": max(part.result.n_truncated for part in result.parts),
        "n_censored": max(part.result.n_censored for part in result.parts),
        "ecdf_max": max(part.distance for part in result.parts),
        "ecdf_avg": measures.association,
        "overlap": None,
    }
    rows, delta = np.flatnonzero(analysis.records.complete) + 1, result.lipschitz_bound
    shares = [beyond_map(plan, each) for each in analysis.analyses(plan.point.likelihood.anchors)]
    beyond = [each for each in shares if each is not None]
    read = zip(analysis.parts, analysis.analyses(False), strict=True)
    decided = {
        p.name: d for p, each in read if not p.of_missing and (d := each.selection.decided) is not None
    }
    return Source(
        table,
        Fitted(
            result, confidential, analysis.public_design, max(beyond) if beyond else None, decided=decided
        ),
        {p.name: np.stack([each[p.name] for each in result.drawn]) for p in values},
        analysis.loaded.frame.loc[analysis.records.complete, list(plan.kept)].reset_index(drop=True),
        analysis.loaded.as_written(plan.kept, analysis.records.complete),
        analysis.records.dropped,
        dict(analysis.records.dropped_by),
        scales_in_words([(part.part.name, part.density_scale) for part in result.parts]),
        _anchor_words(result.parts[0].part.settings)
        if result.point.likelihood.anchors
        else result.parts[0].result.anchor,
        numbers,
        pd.DataFrame({"row": rows} | ({} if delta is None else {"lipschitz_bound": result.lipschitz_bounds})),
        f"{privacy_of_records(result.plain_numbers)} {measures_in_words(measures)}",
        [
            {
                "name": part.part.name,
                "epsilon": part.epsilon,
                "lipschitz_bound": part.lipschitz_bound,
                "n_censored": part.result.n_censored,
                "distance": part.distance,
            }
            for part in result.parts
        ],
    )


def _anchor_words(settings: Settings) -> str:
    """Where the anchors come from. How many records a pilot read is not said: it tells how many lack a value."""
    pilot_share = settings.pilot_share
    if settings.reads_counts:
        return (
            f"Each variable is anchored at noisy counts of it, by each predictor and each variable before it. They "
            f"cost at most {settings.counts_share:.0%} of its ε, and the fit the rest."
        )
    if pilot_share == 0:
        return "Each variable is anchored at a guess."
    if pilot_share == 1:
        return "Each variable is anchored at a pilot on all records, charged beside the release. Each takes half of ε."
    return (
        f"Each variable is anchored at a pilot on {pilot_share:.0%} of the records, apart from the others. A record "
        "enters one of the two, so together they cost the larger ε and not the sum."
    )


def _by_record(rows: NDArray[np.int64], result: Result) -> pd.DataFrame:
    columns = {"row": rows, "match_risk": result.match_risk}
    for name, values in (
        ("weight", result.weights),
        ("lipschitz_bound", result.lipschitz_bounds),
        ("outside", result.outside),
    ):
        if values.size:
            columns[name] = values
    return pd.DataFrame(columns)
