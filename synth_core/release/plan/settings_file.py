"""Settings as a file and as a link: chosen columns and numbers, never data, never code."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator, model_validator

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block, common_of, parts_of
from synth_core.analysis.settings import Settings
from synth_core.data.codebook import Codebook
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS
from synth_core.release.bounded_text import Markers, parse_document
from synth_core.release.plan.column_schema import OMITTED_IF_NONE
from synth_core.release.plan.planned_block import PlannedBlock, planned_blocks
from synth_core.system import limits

FORMAT: Final = "synth-core-settings"
LEFT_OUT = frozenset({"risk_reference", "earlier"})  # the name of a table; confidential columns in a design
MAX_LINK = 8_000  # characters; browsers and proxies cut longer addresses


class Chosen(BaseModel):
    """Mechanisms and their settings, without the name of a table.

    `blocks` holds all sensitive variables of whole records; empty: the one of the settings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanisms: tuple[Annotated[str, Field(max_length=200)], ...] = Field(max_length=40)
    settings: Settings
    blocks: tuple[PlannedBlock, ...] = Field(
        default=(), max_length=limits.MAX_BLOCKS, exclude_if=lambda value: not value
    )

    @model_validator(mode="after")
    def _blocks_belong_together(self) -> Chosen:
        if self.blocks:
            parts_of([each.block for each in self.blocks], common_of(self.settings))
            if self.settings.outcome not in {each.name for each in self.blocks}:
                raise ValueError("the outcome of the settings must be one of the blocks")
        return self

    @field_validator("mechanisms")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(find_mechanism(key).key for key in value))

    @field_validator("settings", mode="before")
    @classmethod
    def _no_table(cls, value: Any) -> Any:
        if isinstance(value, dict) and LEFT_OUT & set(value):
            raise ValueError(f"must not hold {sorted(LEFT_OUT & set(value))[0]}")
        if (
            isinstance(value, dict)
            and value.get("anchor", SELF_CONTAINED_ANCHORS[0]) not in SELF_CONTAINED_ANCHORS
        ):
            raise ValueError(
                f"must not hold an anchor that names a table, but one of {', '.join(SELF_CONTAINED_ANCHORS)}"
            )
        return value

    @field_serializer("settings")
    def _without_table(self, value: Settings) -> dict[str, Any]:
        return value.model_dump(mode="json", exclude=set(LEFT_OUT))


class Scenario(Chosen):
    """Choices with a name and a note, to be seen beside others; the rule is the session's and not theirs."""

    name: str = Field(min_length=1, max_length=limits.SCENARIO_NAME)
    note: Annotated[str, Field(max_length=limits.REASON_LENGTH)] = ""

    @model_validator(mode="before")
    @classmethod
    def _without_rule(cls, value: Any) -> Any:
        """What an earlier version wrote had the rule in each scenario."""
        return {k: v for k, v in value.items() if k != "policy"} if isinstance(value, dict) else value

    def chooses(self, other: Chosen) -> bool:
        """Whether another chooses the same, whatever it is called."""
        return all(getattr(self, name) == getattr(other, name) for name in Chosen.model_fields)


class SettingsFile(Chosen):
    """What a file or a link holds. `version` grows when the meaning of a field changes.

    `policy` is the rule, `missing` holds the values that mean missing in the table, `codebook` what was declared of
    its columns.
    """

    format: Literal["synth-core-settings"] = FORMAT
    version: Literal[1] = 1
    policy: Policy | None = None
    scenarios: Annotated[tuple[Scenario, ...], Field(max_length=limits.MAX_SCENARIOS)] = ()
    missing: Markers = ()
    codebook: Codebook | None = OMITTED_IF_NONE

    @field_serializer("codebook")
    def _without_defaults(self, value: Codebook | None) -> Any:
        return None if value is None else json.loads(value.to_json())

    @field_validator("scenarios")
    @classmethod
    def _unlike_names(cls, value: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
        if len({each.name for each in value}) < len(value):
            raise ValueError("two scenarios must not have the same name")
        return value


def chosen(settings: Settings, mechanisms: Iterable[str], blocks: Sequence[Block] = ()) -> Chosen:
    """Choices without the names of tables; raises InputError where a block is not described yet."""
    if blocks:
        parts_of(
            blocks, common_of(settings)
        )  # in words: a validator would turn them into an error of its own
    unnamed = {"risk_reference": "current"} | (
        {} if settings.anchor in SELF_CONTAINED_ANCHORS else {"anchor": SELF_CONTAINED_ANCHORS[0]}
    )
    return Chosen(
        mechanisms=tuple(mechanisms),
        settings=settings.model_copy(update=unnamed),
        blocks=planned_blocks(blocks),
    )


def to_text(
    settings: Settings,
    mechanisms: Iterable[str],
    policy: Policy | None = None,
    scenarios: tuple[Scenario, ...] = (),
    missing: tuple[str, ...] = (),
    blocks: tuple[Block, ...] = (),
    codebook: Codebook = Codebook(),
) -> str:
    """Choices as JSON, the same text for the same choices; a rule and scenarios stand there if there are any."""
    kept = chosen(settings, mechanisms, blocks)
    plain = {name: getattr(kept, name) for name in Chosen.model_fields}
    rule = policy if policy is not None and policy.states else None
    declared = codebook if codebook.columns else None
    file = SettingsFile(**plain, policy=rule, scenarios=scenarios, missing=missing, codebook=declared)
    empty = {name for name in ("policy", "scenarios") if not getattr(file, name)}
    return json.dumps(
        file.model_dump(mode="json", exclude=empty),
        sort_keys=True,
        ensure_ascii=False,
        indent=2,
        allow_nan=False,
    )


def from_bytes(content: bytes) -> SettingsFile:
    """Settings from the bytes of a file; raises InputError in words."""
    otherwise = "The file does not hold settings of this program."
    return parse_document(SettingsFile, content, limits.MAX_SETTINGS_BYTES, "settings file", otherwise)


def to_link(text: str) -> str:
    """The text of a settings file as one word of an address.

    Raises
    ------
    InputError
        If it is too long for an address (many brackets): share the file then.
    """
    packed = base64.urlsafe_b64encode(
        zlib.compress(json.dumps(json.loads(text), separators=(",", ":")).encode(), 9)
    )
    if len(packed) > MAX_LINK:
        raise InputError("These settings are too long for a link; share the file.")
    return packed.decode().rstrip("=")


def from_link(word: str) -> SettingsFile:
    """Settings from a link's word; raises InputError in words."""
    if len(word) > MAX_LINK:
        raise InputError("The link is longer than any that this program made.")
    try:
        packed = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, limits.MAX_SETTINGS_BYTES + 1)
    except (ValueError, zlib.error):
        raise InputError("The link is damaged: its settings cannot be read.") from None
    return from_bytes(content)
