"""The codebook: what each column of a table is, as an agency declares it or as a reader proposes it.

Meaning is declared, not read off the table, wherever a guarantee rests on it: categories, bounds and edges.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from synth_core.data.rules import RuleTexts, read_rules
from synth_core.data.spellings import SPACES, Numerals

Kind = Literal["number", "category", "ordered", "date", "identifier", "text", "unused"]
NEVER_USED: dict[str, str] = {  # kinds that are neither synthesized nor kept, each in words
    "identifier": "an identifier",
    "text": "free text",
    "unused": "not used",
}
KINDS: tuple[Kind, ...] = ("number", "category", "ordered", "date", "identifier", "text", "unused")
LONGEST_RANGE = 1_000  # categories that "1 to 12" may stand for
SEPARATOR = "|"  # of several texts in one cell of a codebook that is a CSV file
BETWEEN = " to "  # two bounds there
Role = Literal["", "sensitive", "public", "weight", "unit"]
# Roles as the screen says them, which a codebook may too; a predictor is chosen there.
ROLE_WORDS: dict[str, Role] = {
    "not used": "",
    "sensitive": "sensitive",
    "public, predictor": "public",
    "public, kept": "public",
    "weight": "weight",
    "public weight, predictor": "weight",
    "unit": "unit",
}


class Entry(BaseModel):
    """What one column is.

    Attributes
    ----------
    decimal, thousands : str
        Signs of its numbers; no thousands sign is "".
    missing : tuple of str
        Texts that mean missing beside an empty cell.
    categories, labels : tuple of str
        Declared categories in their order as the file writes them, and what each is called.
    unit : str
    bounds : (float, float), optional
        Declared least and largest value.
    rules : tuple of str
        Structural zeros of the column, as `data.rules` reads them: AGE < 15 -> INCOME missing.
    role : str
        "sensitive", "public", "weight", "unit", or "" where it is not said; read from `ROLE_WORDS` too.
    note : str
        Why a reader proposes it; no part of what is declared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    kind: Kind = "category"
    decimal: Literal[".", ","] = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    unit: str = ""
    bounds: tuple[float, float] | None = None
    rules: RuleTexts = ()
    role: Role = ""
    note: str = ""

    @field_validator("role", mode="before")
    @classmethod
    def _role(cls, said: Any) -> Any:
        return ROLE_WORDS.get(said.strip(), said) if isinstance(said, str) else said

    @model_validator(mode="after")
    def _consistent(self) -> Entry:
        if not self.column.strip():
            raise ValueError("its column has no name")
        if len(self.thousands) > 1 or self.thousands not in ("", ",", ".", *SPACES):
            raise ValueError("thousands is one of , . ' or a space, or empty")
        if self.thousands and self.thousands == self.decimal:
            raise ValueError("the decimal sign and the sign of thousands are the same")
        if len(set(self.categories)) < len(self.categories):
            raise ValueError("a category stands twice")
        if self.labels and len(self.labels) != len(self.categories):
            raise ValueError("there are not as many labels as categories")
        if self.bounds is not None and not all(map(math.isfinite, self.bounds)):
            raise ValueError("the bounds are two finite numbers")
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("the lower bound is not below the upper one")
        for rule in read_rules(self.rules):
            if rule.column != self.column:
                raise ValueError(f"the rule {rule} is of another column: it stands in that column's entry")
        return self

    @property
    def never_used(self) -> str:
        """What a column is that is neither synthesized nor kept, in words; empty of any other."""
        return NEVER_USED.get(self.kind, "")

    @property
    def confidential(self) -> str:
        """Why a column cannot be kept as it is, in a word or two; empty of one that can."""
        return self.never_used or ("sensitive" if self.role == "sensitive" else "")

    @property
    def numerals(self) -> Numerals:
        return Numerals(self.decimal, self.thousands, self.missing)


def spelled_out(items: Iterable[str]) -> tuple[str, ...]:
    """Categories as somebody types them: each once, and "1 to 12" for the whole numbers from 1 to 12.

    Examples
    --------
    >>> spelled_out(["none", "1 to 3", "3", "08 to 10", "low to high"])
    ('none', '1', '2', '3', '08', '09', '10', 'low to high')
    """
    found: list[str] = []
    for item in items:
        low, *high = (end.strip() for end in item.split(BETWEEN))
        if len(high) == 1 and low.isdecimal() and high[0].isdecimal():
            ends = range(int(low), int(high[0]) + 1)
            if 0 < len(ends) <= LONGEST_RANGE:
                width = len(low) if len(low) == len(high[0]) else 0
                found += [f"{each:0{width}d}" for each in ends]
                continue
        found.append(item.strip())
    return tuple(dict.fromkeys(filter(None, found)))


def declared_categories(entry: Entry) -> tuple[str, ...]:
    """The declared categories that are values, in their order."""
    return tuple(category for category in entry.categories if category not in entry.missing)


class Codebook(BaseModel):
    """Entries of columns; a column without one is as its reader proposes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Entry, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Codebook:
        names = [entry.column for entry in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"column '{name}' has two entries")
        return self

    def get(self, column: str) -> Entry | None:
        """The entry of a column, if it has one."""
        return next((entry for entry in self.columns if entry.column == column), None)

    @property
    def digest(self) -> str:
        """Hash of what is declared, of 16 hex digits: a plan carries it."""
        declared = [
            entry.model_dump(mode="json", exclude={"note"} | ({"rules"} if not entry.rules else set()))
            for entry in self.columns
        ]
        content = json.dumps(
            sorted(declared, key=lambda each: each["column"]), allow_nan=False, sort_keys=True
        )
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def only(self, columns: Iterable[str]) -> Codebook:
        """The entries of these columns."""
        wanted = set(columns)
        return Codebook(columns=tuple(entry for entry in self.columns if entry.column in wanted))

    def updated(self, entries: Iterable[Entry]) -> Codebook:
        """With these entries in the place of those of the same columns."""
        new = {entry.column: entry for entry in entries}
        kept = tuple(new.pop(entry.column, entry) for entry in self.columns)
        return Codebook(columns=(*kept, *new.values()))

    def to_json(self) -> str:
        """As `read_codebook` reads it; defaults are left out."""
        columns = [
            {"column": e.column, "kind": e.kind} | e.model_dump(mode="json", exclude_defaults=True)
            for e in self.columns
        ]
        return json.dumps({"columns": columns}, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
