"""A privacy audit as a file, and what of it a public report may hold.

Only an audit of the plan itself, on a public or simulated table, may leave: no other number of it is covered
by an epsilon.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth_core.errors import InputError
from synth_core.release.bounded_text import ShortWords, parse_document
from synth_core.release.plan.plan import Fingerprint, Plan
from synth_core.system import limits

FORMAT: Final = "synth-core-audit"


def differs_words(relation: str, unit: str | None = None) -> str:
    """How the neighbouring table of an audit differs, in words: in one record, or in all of one unit of several.

    Examples
    --------
    >>> differs_words("removed"), differs_words("replaced", "house")
    ('one record removed', "all records of one 'house' replaced")
    """
    return f"all records of one '{unit}' {relation}" if unit else f"one record {relation}"


class _Kept(BaseModel):
    """What is read of the file; records, values and single findings are not."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class AuditedLine(_Kept):
    """One neighbour relation: the claim, and what the audit saw."""

    label: ShortWords
    weights: ShortWords
    relation: Literal["removed", "replaced"]
    claimed: Annotated[float, Field(ge=0)]
    epsilon_lower: Annotated[float, Field(ge=0)]
    detectable: Annotated[float, Field(ge=0)]
    runs: tuple[int, int]
    verdict: ShortWords
    why: Annotated[str, Field(max_length=limits.REASON_LENGTH)]


class AuditedAsked(_Kept):
    """How it was asked for."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    delta: Annotated[float, Field(ge=0, lt=1)]


class Audited(_Kept):
    """The part of an audit that a public report may hold."""

    format: Literal["synth-core-audit"] = FORMAT
    version: Literal[1] = 1
    table: ShortWords
    rows: Annotated[int, Field(ge=1)]
    confidential: bool
    fingerprint: Fingerprint
    records: Fingerprint | None = None  # the same in no order of the rows
    plan: Annotated[str, Field(max_length=64)]
    asked: AuditedAsked
    lines: tuple[AuditedLine, ...] = Field(min_length=1, max_length=100)

    def text(self) -> str:
        """The summary as JSON."""
        return self.model_dump_json()


def parse_audit(content: bytes, plan: Plan, released: Collection[str] = ()) -> Audited:
    """What the public report of a plan's releases may hold of an audit, from the bytes of its file.

    Parameters
    ----------
    released : collection of str
        Fingerprints of the table that is released; an audit of it is confidential, whatever it calls the table.

    Raises
    ------
    InputError
        If it is no audit, not of this plan, or was made on a confidential table.
    """
    otherwise = "The file is not a privacy audit of this program."
    audit = parse_document(Audited, content, limits.MAX_PLAN_BYTES, "audit", otherwise)
    if audit.confidential or audit.fingerprint in released or audit.records in released:
        raise InputError(
            "The audit was made on a confidential table, and no ε covers its numbers: the public report cannot hold "
            "it. Audit the plan on a public or simulated table."
        )
    if audit.plan != plan.digest:
        raise InputError("The audit is not of this plan: make it with `audit PLAN.json DATA`.")
    return audit
