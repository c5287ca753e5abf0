"""A sensitive variable of whole records, as plans and settings files hold it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import Settings
from synth_core.release.bounded_text import Seen


def _type_of(name: str) -> TypeAdapter[Any]:
    """The type of a setting."""
    kind: Any = Settings.model_fields[name].annotation
    return TypeAdapter(kind)


class PlannedBlock(BaseModel):
    """A sensitive variable of whole records, as `analysis.records.blocks.Block`.

    What marks a missing value stands among the `missing` of the plan or the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[Seen, Field(min_length=1, max_length=500)]
    model: Annotated[str, Field(max_length=50)]
    options: dict[Annotated[str, Field(max_length=50)], Any] = Field(default_factory=dict, max_length=30)
    may_be_missing: bool = False
    earlier_scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None

    @field_validator("options")
    @classmethod
    def _tuples(cls, value: dict[str, Any]) -> dict[str, Any]:
        return {name: tuple(each) if isinstance(each, list) else each for name, each in value.items()}

    @field_validator("options")
    @classmethod
    def _of_their_types(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value.keys() & Settings.model_fields.keys():
            try:
                _type_of(name).validate_json(json.dumps(value[name]), strict=True)
            except ValidationError as error:
                raise ValueError(f"{name}: {error.errors()[0]['msg']}") from None
        return value

    @property
    def block(self) -> Block:
        """This block as an analysis takes it."""
        missing = () if self.may_be_missing else None
        return Block(self.name, self.model, self.options, missing, self.earlier_scale, self.share)

    @staticmethod
    def of(block: Block) -> dict[str, Any]:
        """The fields of a block."""
        return {
            "name": block.name,
            "model": block.model,
            "options": {  # an option of the command line is text
                name: _type_of(name).validate_python(value) if name in Settings.model_fields else value
                for name, value in block.options.items()
            },
            "may_be_missing": block.missing is not None,
            "earlier_scale": block.earlier_scale,
            "share": block.share,
        }


def planned_blocks(blocks: Sequence[Block]) -> tuple[PlannedBlock, ...]:
    """Blocks as a plan holds them."""
    return tuple(PlannedBlock(**PlannedBlock.of(block)) for block in blocks)


def planned(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Blocks as JSON holds them."""
    return [each.model_dump(mode="json") for each in planned_blocks(blocks)]
