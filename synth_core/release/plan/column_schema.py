"""A column of a plan: what a table must have, what is kept of it, and to what synthetic numbers are rounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth_core.data.codebook import Codebook
from synth_core.release.bounded_text import Seen
from synth_core.system import limits

# Left out where it is None: the digest of an older plan, and with it the id of its releases, stays the same.
OMITTED_IF_NONE: Any = Field(default=None, exclude_if=lambda value: value is None)


class Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Decimals = Annotated[int, Field(ge=limits.DECIMALS[0], le=limits.DECIMALS[1])]


class ColumnSchema(Closed):
    """One column that a table must have, and that a release holds.

    `role` "public" is of a column that the codebook declares public and that is no predictor: it is kept as it is.
    "weight" is of survey weights, which are kept too, "unit" of units of several records, which get new identifiers.
    `levels` are the known categories of a category, `decimals` those that synthetic numbers are rounded to.
    """

    name: Annotated[Seen, Field(min_length=1, max_length=500)]
    role: Literal["outcome", "predictor", "public", "weight", "unit"]
    kind: Literal["number", "category"]
    whole: bool = False  # numbers without decimals
    levels: tuple[bool | int | float | Seen, ...] = Field(default=(), max_length=limits.MAX_LEVELS)
    decimals: Decimals | None = OMITTED_IF_NONE


def check_kept(columns: Iterable[ColumnSchema], codebook: Codebook | None) -> None:
    """Refuse a column that is kept as it is and must not be: a plan may have been edited. Raises ValueError."""
    entries = {} if codebook is None else {entry.column: entry for entry in codebook.columns}
    for column in columns:
        entry = entries.get(column.name)
        if column.role == "public" and (entry is None or entry.role != "public"):
            raise ValueError(f"column '{column.name}' is kept, and the codebook does not declare it public")
        if column.role not in ("outcome", "unit") and entry is not None and entry.confidential:
            raise ValueError(
                f"column '{column.name}' is kept, and the codebook declares it {entry.confidential}"
            )


def rounding_words(decimals: int) -> str:
    """What a number is rounded to, in words.

    Examples
    --------
    >>> rounding_words(2), rounding_words(0), rounding_words(-2)
    ('2 decimals', 'whole numbers', 'multiples of 100')
    """
    if decimals < 0:
        return f"multiples of {10**-decimals:,}"
    return f"{decimals} decimal{'s' if decimals > 1 else ''}" if decimals else "whole numbers"
