"""The data dictionary of a release, for people and for other tools: made of the plan and of what is released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synth_core.data.codebook import Codebook, Entry, Kind
from synth_core.data.codebook_file import cell_of
from synth_core.data.typed_file import cell_text
from synth_core.models import family
from synth_core.release.plan.column_schema import ColumnSchema
from synth_core.release.plan.plan import Plan
from synth_core.system.json_text import json_text

NEW_IDENTIFIERS = (
    "new identifiers: who belongs together is kept, and synthetic values of a unit are drawn record by record"
)


def dictionary_files(plan: Plan, frames: Sequence[pd.DataFrame]) -> dict[str, bytes]:
    """A codebook as this program reads it back, metadata of SDMetrics, and a dictionary as NIST's, by file name.

    Parameters
    ----------
    frames : sequence of DataFrame
        The released data sets.
    """
    codebook = released_codebook(plan)
    return {
        "codebook.json": codebook.to_json().encode(),
        "metadata-sdmetrics.json": (json_text(sdmetrics_metadata(codebook, plan)) + "\n").encode(),
        "dictionary-nist.json": (json_text(nist_dictionary(codebook, frames)) + "\n").encode(),
    }


def released_codebook(plan: Plan) -> Codebook:
    """What each released column is."""
    return Codebook(columns=tuple(_entry(plan, column, plan.marks[column.name]) for column in plan.columns))


def category_words(plan: Plan, column: ColumnSchema) -> str:
    """The categories of a column as the CSV file has them, each with what it is called, parted as in a codebook."""
    entry = _entry(plan, column, plan.marks[column.name])
    named = zip(entry.categories, entry.labels or entry.categories, strict=True)
    return cell_of([code if code == label else f"{code} ({label})" for code, label in named])


def _entry(plan: Plan, column: ColumnSchema, marks: tuple[str, ...]) -> Entry:
    if column.role == "unit":
        return Entry(column=column.name, kind="number", role="unit", note=NEW_IDENTIFIERS)
    settings = plan.outcomes.get(column.name)
    declared = plan.entry(column.name)
    kept = declared if settings is None else None
    kind: Kind = "number" if column.kind == "number" else "category"
    categories = tuple(
        text for text in map(cell_text, column.levels) if text not in marks
    )  # as they are written
    if settings is not None and settings.outcome_categories is not None and settings.model == "ordered":
        kind = "ordered"
    if kept is not None and kind != "number":
        kind = kept.kind if kept.kind in ("ordered", "date") else kind
        # Declared, they stand in their order, age bands too, and all of them, whichever occurred.
        if set(categories) <= set(kept.categories):
            categories = kept.categories
    return Entry(
        column=column.name,
        kind=kind,
        decimal=declared.decimal if declared is not None and declared.kind == "number" else ".",
        thousands="" if kept is None else kept.thousands,
        categories=categories if kind != "number" else (),
        labels=_labels(declared, categories) if kind != "number" else (),
        missing=marks,
        unit="" if declared is None else declared.unit,
        bounds=None
        if kind != "number"
        else settings.bounds
        if settings is not None
        else declared_bounds(kept),
        role="" if settings is not None else "weight" if column.name == plan.settings.weight else "public",
        note="kept as it is" if settings is None else "synthetic",
    )


def _labels(declared: Entry | None, categories: tuple[str, ...]) -> tuple[str, ...]:
    """What each category is called, itself where nobody says; none where none has a name."""
    named = {} if declared is None else dict(zip(declared.categories, declared.labels, strict=False))
    return tuple(named.get(each, each) for each in categories) if set(categories) & set(named) else ()


def declared_bounds(entry: Entry | None) -> tuple[float, float] | None:
    """The declared bounds of a column that is kept."""
    return None if entry is None else entry.bounds


def sdmetrics_metadata(codebook: Codebook, plan: Plan) -> dict[str, Any]:
    """Metadata of one table as SDMetrics and SDV read it."""
    whole = {
        column.name
        for column in plan.columns
        if (column.whole if column.role != "outcome" else _whole(plan, column.name))
    }
    columns: dict[str, dict[str, str]] = {}
    for entry in codebook.columns:
        if entry.role == "unit":
            columns[entry.column] = {"sdtype": "id"}
        elif entry.kind == "number":
            shown = "Int64" if entry.column in whole else "Float"
            columns[entry.column] = {"sdtype": "numerical", "computer_representation": shown}
        else:
            columns[entry.column] = {"sdtype": "categorical"}
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}


def _whole(plan: Plan, outcome: str) -> bool:
    """Whether a synthetic variable is released as whole numbers."""
    decimals = plan.decimals_of(outcome)
    return family(plan.outcomes[outcome].model).discrete or (decimals is not None and decimals <= 0)


def _range(name: str, frames: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """The least and the largest released value, apart: a constant has a range too."""
    columns = [frame[name].to_numpy(dtype=float, na_value=np.nan) for frame in frames]
    values = np.concatenate(columns)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    return (low, high) if low < high else (low, low + 1)


def nist_dictionary(codebook: Codebook, frames: Sequence[pd.DataFrame]) -> dict[str, Any]:
    """A data dictionary as NIST's SDNist reads it: by column a description, and codes or a range.

    SDNist takes a column without a range for one of codes: the range of a number that has no bounds is that of the
    released data sets.
    """
    found: dict[str, Any] = {}
    for entry in codebook.columns:
        values: dict[str, Any] = {mark: "N/A" for mark in entry.missing}
        values |= dict(zip(entry.categories, entry.labels or entry.categories, strict=True))
        if entry.kind == "number":
            low, high = entry.bounds or _range(entry.column, frames)
            values |= {"min": low, "max": high}
        found[entry.column] = {"description": entry.note, "values": values}
    return found
