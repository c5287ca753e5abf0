"""What a stranger may write: names, reasons, JSON files. Bounded, checked, never evaluated."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import unseen
from synth_core.system.files import no_file

T = TypeVar("T", bound=BaseModel)
SLUG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


def check_slug(text: str) -> str:
    """A name that is safe as a file name on every system; raises ValueError."""
    if not SLUG.fullmatch(text) or ".." in text:
        raise ValueError(
            f"must be 1 to {limits.NAME_LENGTH} letters, digits, dots, hyphens or underscores, "
            "beginning and ending with a letter or digit"
        )
    return text


def check_words(text: str) -> str:
    """Text for people: no control, bidirectional or unassigned characters; raises ValueError."""
    for character in text:
        if (
            unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Co")
            and character not in "\n\t\u200d"
        ):
            raise ValueError("must not contain control characters")
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def check_seen(text: str) -> str:
    """The name of a column, or a category: whatever a table may have; raises ValueError."""
    if characters := unseen(text):
        raise ValueError(f"must not hold a character that cannot be seen ({characters})")
    return text


def printable(text: object, length: int = 80) -> str:
    """A stranger's text for a message: one line, no control characters, cut."""
    line = "".join(
        c if c == " " or unicodedata.category(c)[0] not in "CZ" else "\N{REPLACEMENT CHARACTER}"
        for c in str(text)
    )
    return line if len(line) <= length else line[: length - 1] + "…"


Slug = Annotated[str, Field(max_length=limits.NAME_LENGTH), AfterValidator(check_slug)]
Words = Annotated[str, Field(max_length=limits.REASON_LENGTH), AfterValidator(check_words)]
Seen = Annotated[str, AfterValidator(check_seen)]
ShortWords = Annotated[str, Field(max_length=200), AfterValidator(check_words)]
_Marker = Annotated[Seen, Field(min_length=1, max_length=limits.MAX_MARKER_LENGTH)]
# Values that mean missing. Left out where there are none: the text of an older file stays the same.
Markers = Annotated[
    tuple[_Marker, ...], Field(max_length=limits.MAX_MARKERS, exclude_if=lambda markers: not markers)
]


def slug(text: str, what: str) -> str:
    """Check a name given by a user; raises InputError."""
    try:
        return check_slug(text)
    except ValueError as error:
        raise InputError(f"{what} {error} (given: {printable(text)}).") from None


def words(text: str, what: str) -> str:
    """Check a reason or note given by a user; raises InputError."""
    if len(text) > limits.REASON_LENGTH:
        raise InputError(f"{what} must have at most {limits.REASON_LENGTH:,} characters.")
    try:
        return check_words(text)
    except ValueError as error:
        raise InputError(f"{what} {error}.") from None


def read_limited(path: Path, limit: int, what: str) -> bytes:
    """The bytes of a file that is not larger than `limit`; raises InputError."""
    try:
        if not path.is_file():
            raise InputError(no_file(path, printable(path, 300)))
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise InputError(f"The {what} cannot be read: {error.strerror}.") from None
    check_size(content, limit, what)
    return content


def check_size(content: bytes, limit: int, what: str) -> None:
    """Refuse what is larger than any honest file of its kind."""
    if len(content) > limit:
        raise InputError(
            f"The {what} is larger than {limit // 1024:,} KB: it is none that this program wrote."
        )


def parse_object(content: bytes, limit: int, what: str) -> dict[str, Any]:
    """A JSON object: size-limited, no NaN or infinity, no key twice, no deep nesting.

    Raises
    ------
    InputError
        In words, without quoting the file.
    """
    check_size(content, limit, what)

    def refuse(name: str) -> Any:
        raise InputError(f"The {what} contains {name}, which is no number that can be used.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InputError(f"The {what} names a field twice.")
        return found

    def finite(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else refuse("a number that is too large")

    try:
        value = json.loads(
            content.decode("utf-8"), parse_constant=refuse, parse_float=finite, object_pairs_hook=unique
        )
    except InputError:
        raise
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise InputError(f"The {what} is not valid JSON.") from None
    if not isinstance(value, dict):
        raise InputError(f"The {what} must hold one JSON object.")
    return value


def parse_document(kind: type[T], content: bytes, limit: int, what: str, otherwise: str) -> T:
    """A file of this program that says its `format` and `version`; raises InputError.

    Parameters
    ----------
    what : str
        What it is, such as "plan".
    otherwise : str
        What is said of a file of another format.
    """
    values = parse_object(content, limit, what)
    if values.get("format") != kind.model_fields["format"].default:
        raise InputError(otherwise)
    if values.get("version") != kind.model_fields["version"].default:
        raise InputError(f"The {what} is of a version that this program does not know.")
    found = validated(kind, values, what)
    _check_kinds(values, found.model_dump(mode="json"), what, ())
    return found


def _check_kinds(given: Any, taken: Any, what: str, place: tuple[str, ...]) -> None:
    """Refuse what would be taken for another kind of value: a text for a number, true for 1; raises InputError."""
    if isinstance(given, dict) and isinstance(taken, dict):
        for name in given.keys() & taken.keys():
            _check_kinds(given[name], taken[name], what, (*place, name))
    elif isinstance(given, list) and isinstance(taken, list):
        for number, (one, other) in enumerate(zip(given, taken, strict=False)):
            _check_kinds(one, other, what, (*place, str(number)))
    elif taken is not None and (mine := _kind_of(given)) != (asked := _kind_of(taken)):
        where = printable(".".join(place))
        raise InputError(f"The {what} cannot be used: {where}: must be {asked}, and not {mine}.")


def _kind_of(value: Any) -> str:
    """The kind of a value of JSON, in words."""
    kinds = {bool: "true or false", str: "a text", list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")


def validated(kind: type[T], values: dict[str, Any], what: str) -> T:
    """Check an object against its schema; raises InputError that names the field and the rule."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = printable(".".join(str(part) for part in first["loc"]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"The {what} has a field that is not known here: {where}.") from None
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(
            f"The {what} cannot be used: {where or 'content'}: {printable(message, 300)}."
        ) from None
    except InputError as error:
        raise InputError(f"The {what} cannot be used: {error}") from None
