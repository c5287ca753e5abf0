"""Settings as a file and as a link: chosen columns and numbers, never data, never code."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator

from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import NO_TABLE, find_mechanism
from synth_core.release.bounded_text import parse_document
from synth_core.system import limits

FORMAT: Final = "synth-core-settings"
LEFT_OUT = frozenset({"risk_reference"})  # the name of a table
MAX_LINK = 8_000  # characters; browsers and proxies cut longer addresses


class SettingsFile(BaseModel):
    """What a file or a link holds. `version` grows when the meaning of a field changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["synth-core-settings"] = FORMAT
    version: Literal[1] = 1
    mechanisms: tuple[Annotated[str, Field(max_length=200)], ...] = Field(max_length=40)
    settings: Settings

    @field_validator("mechanisms")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(find_mechanism(key).key for key in value))

    @field_validator("settings", mode="before")
    @classmethod
    def _no_table(cls, value: Any) -> Any:
        if isinstance(value, dict) and LEFT_OUT & set(value):
            raise ValueError(f"must not hold {sorted(LEFT_OUT & set(value))[0]}")
        if isinstance(value, dict) and value.get("anchor", NO_TABLE[0]) not in NO_TABLE:
            raise ValueError(f"must not hold an anchor that names a table, but one of {', '.join(NO_TABLE)}")
        return value

    @field_serializer("settings")
    def _without_table(self, value: Settings) -> dict[str, Any]:
        return value.model_dump(mode="json", exclude=set(LEFT_OUT))


def to_text(settings: Settings, mechanisms: list[str]) -> str:
    """Settings as JSON, the same text for the same settings."""
    unnamed = {"risk_reference": "current"} | ({} if settings.anchor in NO_TABLE else {"anchor": NO_TABLE[0]})
    file = SettingsFile(mechanisms=tuple(mechanisms), settings=settings.model_copy(update=unnamed))
    return json.dumps(file.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, indent=2)


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
