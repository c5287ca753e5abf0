"""What a new table opens with: sensitive variables and their models, from its codebook before anything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synth_core.analysis.model_advice import kind_settings, seems_coded
from synth_core.analysis.records.blocks import Block
from synth_core.data.codebook import Entry
from synth_core.data.declared import OF_KINDS, declared_model, declared_settings
from synth_core.data.outcome import numeric_outcome
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import OF_CATEGORIES, USUAL


@dataclass(frozen=True)
class Opening:
    """Roles and models to start from.

    Attributes
    ----------
    blocks : tuple of Block
        The sensitive variables; one alone is no whole record.
    weight, unit : str or None
        Columns that the codebook declares a survey weight, and the unit of several records.
    """

    blocks: tuple[Block, ...]
    weight: str | None = None
    unit: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that name the first variable, without its bounds, which choices hold apart."""
        first = self.blocks[0]
        own = {name: value for name, value in first.options.items() if name != "bounds"}
        more = {"weight": self.weight, "unit_column": self.unit}
        return {"outcome": first.name, "predictors": (), "model": first.model} | own | more

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Declared bounds of the first variable."""
        return self.blocks[0].options.get("bounds")


@dataclass(frozen=True)
class OpeningModel:
    """A model for a variable of which nobody has said anything yet; `seen` is what of the table speaks for it."""

    model: str
    options: dict[str, Any] = field(default_factory=dict)
    seen: str = ""


def opening_of(table: Table) -> Opening:
    """What the codebook declares sensitive, or else the most varied number, and a model for each."""
    entries = {entry.column: entry for entry in table.codebook.columns}
    usable = [column.name for column in table.offered() if column.kind != "empty"]
    roles = {role: [name for name in usable if _role(entries, name) == role] for role in ("weight", "unit")}
    names = [name for name in usable if _role(entries, name) == "sensitive"] or [table.proposed_outcome]
    return Opening(
        tuple(opening_block(table, name) for name in names),
        next(iter(roles["weight"]), None),
        next((entry.column for entry in entries.values() if entry.role == "unit"), None),
    )


def opening_block(table: Table, name: str) -> Block:
    """A sensitive variable as it opens: one whose codebook declares marks of missing values may be missing."""
    entry, found = table.declared_codebook.get(name), opening_model(table, name)
    return Block(
        name, found.model, found.options, missing=() if entry is not None and entry.missing else None
    )


def opening_model(table: Table, name: str) -> OpeningModel:
    """A model by what the codebook declares; of a number without bounds there, by whether it has zeros and losses.

    Without that one look half of all tables would open with a model that refuses their values.
    """
    declared = declared_model(table.codebook, name)
    if declared:
        return OpeningModel(declared["model"], declared_settings(table.codebook, name, declared["model"]))
    column, entry = table.column(name), table.codebook.get(name)
    coded = (
        entry is not None and entry.kind in OF_KINDS and (entry.kind == "ordered" or column.kind != "text")
    )
    if entry is not None and coded:  # its categories are asked for next
        return OpeningModel(OF_KINDS[entry.kind])
    if (column.kind == "text" and not column.lone_text) or seems_coded(column):
        return OpeningModel(OF_CATEGORIES)
    if entry is not None and entry.bounds is not None:
        return OpeningModel(**_by_bounds(entry))
    try:
        values = numeric_outcome(table, name)
    except InputError:
        return OpeningModel(USUAL)  # why it is refused is said where it is chosen
    if not np.any(values <= 0):
        return OpeningModel(USUAL)
    losses = bool(np.any(values < 0))
    seen = "some of its values are below zero" if losses else "some of its values are zero"
    return OpeningModel(**_model(kind_settings("losses" if losses else "zeros")), seen=seen)


def _by_bounds(entry: Entry) -> dict[str, Any]:
    assert entry.bounds is not None
    low = entry.bounds[0]
    kind = "amounts" if low > 0 else "zeros" if low == 0 else "losses"
    found = _model(kind_settings(kind))
    return found | {"options": found["options"] | {"bounds": entry.bounds}}


def _model(settings: dict[str, Any]) -> dict[str, Any]:
    return {"model": settings["model"], "options": {k: v for k, v in settings.items() if k != "model"}}


def _role(entries: dict[str, Entry], name: str) -> str:
    return entries[name].role if name in entries else ""
