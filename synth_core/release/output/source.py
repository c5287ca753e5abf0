"""What a release is drawn from, of one sensitive variable or of several: what the gate and the internal report read.

Everything here is confidential but what was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, R
from synth_core.analysis.check.table_check import SensitiveValues
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.release.output.dataset import Synthetic
from synth_core.release.output.gate import Fitted, beyond_map
from synth_core.release.plan.plan import Plan
from synth_core.system.number_text import percent

Array = NDArray[np.float64]
_KEPT = ("epsilon", "n_truncated", "n_censored", "ecdf_max", "ecdf_avg", "overlap")  # of `ResultNumbers`


@dataclass(frozen=True)
class Source:
    """A finished fit, of one variable or of several.

    Attributes
    ----------
    drawn : dict
        Of each sensitive variable the synthetic values, of shape (n_datasets, n_records).
    kept, written : DataFrame
        What the plan keeps of the complete rows: values, and cells as the file writes them.
    units : array of int of shape (n_records,), or None
        The unit of each complete row, where the plan keeps units.
    dropped_by : dict
        Rows that were left out, by column.
    numbers : dict
        For later comparisons, kept in the ledger.
    by_record : DataFrame
        What is known of each record.
    plain : ResultNumbers
        All numbers of the result.
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
    plain: ResultNumbers
    units: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class KeptColumns:
    """What the plan keeps of the complete rows: values, cells as the file writes them, and the unit of each."""

    kept: pd.DataFrame
    written: pd.DataFrame
    units: NDArray[np.int64] | None = None


def kept_of(plan: Plan, analysis: AnyAnalysis[Any]) -> KeptColumns:
    """The kept columns of a release's table."""
    complete = analysis.used_rows.complete
    frame = analysis.loaded.frame.loc[complete, list(plan.kept)].reset_index(drop=True)
    units = None if plan.unit is None else pd.factorize(analysis.loaded.frame.loc[complete, plan.unit])[0]
    return KeptColumns(frame, analysis.loaded.as_written(plan.kept, complete), units)


def source_of(plan: Plan, analysis: AnyAnalysis[R], result: R) -> Source:
    """The finished fits of a plan's mechanism."""
    likelihood, numbers, used = plan.point.likelihood, result.summary_numbers, analysis.used_rows
    analyses = analysis.analyses(likelihood.anchors)
    kept = {name: getattr(numbers, name) for name in _KEPT} | {"n": numbers.n_records}
    if likelihood.clamps:
        kept["clamped"] = numbers.clamped
    if numbers.joint is not None:
        kept["ecdf_avg"] = numbers.joint.association
    elif likelihood.anchors:
        kept["anchor_records"] = analyses[0].anchored.worth
    beyond = [each for each in (beyond_map(plan, each) for each in analyses) if each is not None]
    read = {each.settings.outcome: each.selection.decided for each in analyses}
    fitted = Fitted(
        result,
        analysis.confidential,
        analysis.public_design,
        max(beyond) if beyond else None,
        decided={name: each for name in analysis.outcomes if (each := read[name]) is not None},
    )
    rows, columns = np.flatnonzero(used.complete) + 1, kept_of(plan, analysis)
    return Source(
        analysis.table,
        fitted,
        analysis.synthetic(result),
        columns.kept,
        columns.written,
        used.dropped,
        dict(used.dropped_by),
        analysis.density_scale,
        _anchor_words(plan.parts[0].settings) if plan.parts and likelihood.anchors else numbers.anchor,
        kept,
        pd.DataFrame({"row": rows} | result.by_record),
        numbers,
        columns.units,
    )


def compared(plan: Plan, source: Source, synthetic: Synthetic) -> tuple[list[SensitiveValues], pd.DataFrame]:
    """The sensitive variables of both tables as they would leave, and the kept columns without survey weights."""
    variables = [
        SensitiveValues(each.name, source.fitted.confidential[each.name], each.values, each.categories)
        for each in synthetic.variables
    ]
    weight = plan.settings.weight
    return variables, source.kept.drop(columns=[] if weight is None else [weight])


def _anchor_words(settings: Settings) -> str:
    """Where the anchors come from. How many records a pilot read is not said: it tells how many lack a value."""
    pilot_share = settings.pilot_share
    if settings.reads_counts:
        return (
            f"Each variable is anchored at noisy counts of it, by each predictor and each variable before it. They "
            f"cost at most {percent(settings.counts_share, 0)} of its ε, and the fit the rest."
        )
    if pilot_share == 0:
        return "Each variable is anchored at a guess."
    if pilot_share == 1:
        return "Each variable is anchored at a pilot on all records, charged beside the release. Each takes half of ε."
    return (
        f"Each variable is anchored at a pilot on {percent(pilot_share, 0)} of the records, apart from the others. A "
        "record enters one of the two, so together they cost the larger ε and not the sum."
    )
