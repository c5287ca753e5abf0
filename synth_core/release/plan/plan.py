"""A release plan: everything that is decided before the table to be released is looked at.

A plan is a JSON file, versioned and closed: an unknown field is refused. It is internal, since
what was solved for (k, a scalar weight, a target epsilon) may come from confidential data.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_serializer, field_validator, model_validator

from synth_core.analysis.records.blocks import Block, Part, common_of, parts_of
from synth_core.analysis.settings import Settings, omitted_defaults
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.missing import by_column
from synth_core.data.rules import read_rules
from synth_core.data.table import Table
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.composition import Count, not_counted
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS
from synth_core.release.bounded_text import (
    Markers,
    ShortWords,
    Slug,
    Words,
    parse_document,
    read_limited,
)
from synth_core.release.ledger.column_marks import ColumnMark, MarkedColumn, marked, marked_records
from synth_core.release.ledger.elsewhere import SOME_RECORDS
from synth_core.release.plan.alternatives import MOST, Alternative
from synth_core.release.plan.column_schema import (
    OMITTED_IF_NONE,
    Closed,
    ColumnSchema,
    Decimals,
    check_kept,
    rounding_words,
)
from synth_core.release.plan.plan_terms import (
    NO_RHO,
    OF_BLOCKS,
    WARNINGS,
    ReleaseTerms,
    TuningKind,
    has_rho,
    needs_map,
    of_blocks,
    terms_of,
)
from synth_core.release.plan.planned_block import PlannedBlock
from synth_core.system import limits

NO_SECRET = b"of a table that is called public"
FORMAT: Final = "synth-core-plan"
# Settings that a plan must not hold. `earlier` would make a confidential column a predictor that nothing is paid for.
UNPLANNED = frozenset({"seed", "risk_reference", "match_epsilon", "earlier"})

Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Tuning(Closed):
    """The table that the plan was tuned on, and what was measured there.

    `utility` maps measures to numbers; it is confidential unless the table is public or simulated. Of such a table
    `marks` know the sensitive columns and the records again, in no order: hashes with a key that is no secret.
    """

    kind: TuningKind
    name: ShortWords
    rows: Annotated[int, Field(ge=1)]
    fingerprint: Fingerprint
    records: Fingerprint | None = OMITTED_IF_NONE  # in no order of the rows
    marks: tuple[ColumnMark, ...] = Field(default=(), max_length=500, exclude_if=lambda value: not value)
    epsilon: Annotated[float, Field(ge=0)]
    utility: dict[ShortWords, float] = Field(default_factory=dict, max_length=50)


class FrozenFile(Closed):
    """The risk map beside the plan: an internal file, named by its checksum."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    k: Annotated[float, Field(gt=0, le=100)] | None = None
    scalar: Annotated[float, Field(ge=0, le=1)] | None = None
    records: Fingerprint | None = (
        OMITTED_IF_NONE  # of the table that it was frozen on, in no order of the rows
    )


class Plan(Closed):
    """Settings, reasons and limits of all releases made with it."""

    format: Literal["synth-core-plan"] = FORMAT
    version: Literal[1] = 1
    series: Slug
    reason: Words
    decided_by: ShortWords
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    tuned_on: Tuning
    columns: tuple[ColumnSchema, ...] = Field(min_length=1, max_length=500)
    codebook: Codebook | None = OMITTED_IF_NONE  # what the columns are: every later table is read by it
    missing: Markers = ()
    mechanism: Annotated[str, Field(max_length=200)]
    settings: Settings
    target_epsilon: Annotated[float, Field(ge=limits.EPSILON[0], le=limits.EPSILON[1])]
    safety: Annotated[float, Field(ge=limits.SAFETY[0], le=limits.SAFETY[1])] = 1.0
    seed_policy: Literal["secret"] = "secret"
    shuffle: bool = True
    decimals: Decimals | None = None  # as said for all synthetic numbers; else each column says its own
    clamp: bool = False
    limit: Annotated[float, Field(ge=limits.TOTAL_EPSILON[0], le=limits.TOTAL_EPSILON[1])] | None = None
    limit_delta: Annotated[float, Field(ge=limits.LIMIT_DELTA[0], le=limits.LIMIT_DELTA[1])] | None = (
        OMITTED_IF_NONE
    )
    frozen: FrozenFile | None = None
    rule: Annotated[str, Field(max_length=limits.REASON_LENGTH, exclude_if=lambda value: not value)] = ""
    alternatives: tuple[Alternative, ...] = Field(
        default=(), max_length=MOST, exclude_if=lambda value: not value
    )  # what it was chosen against
    blocks: tuple[PlannedBlock, ...] = Field(
        default=(), max_length=limits.MAX_BLOCKS, exclude_if=lambda value: not value
    )

    @field_validator("settings", mode="before")
    @classmethod
    def _no_seed(cls, value: Any) -> Any:
        unplanned = UNPLANNED & set(value) if isinstance(value, dict) else ()
        if unplanned:
            raise ValueError(f"a plan must not hold {sorted(unplanned)[0]}")
        return value

    @field_serializer("settings")
    def _without_seed(self, value: Settings) -> dict[str, Any]:
        # As `limit_delta`: left out where there are none.
        return value.model_dump(mode="json", exclude={*UNPLANNED, *omitted_defaults(value)})

    @model_validator(mode="after")
    def _carries_its_anchor(self) -> Plan:
        if self.point.likelihood.anchors and self.settings.anchor not in SELF_CONTAINED_ANCHORS:
            raise ValueError(f"the anchor of a plan is one of {', '.join(SELF_CONTAINED_ANCHORS)}")
        return self

    @model_validator(mode="after")
    def _limit_can_be_counted(self) -> Plan:
        if self.limit_delta is not None:
            if self.limit is None:
                raise ValueError("δ belongs to a limit, and the plan has none")
            if not has_rho(self.point, self.tuned_on.kind):
                raise ValueError(NO_RHO)
        return self

    @model_validator(mode="after")
    def _columns_are_those_of_the_settings(self) -> Plan:
        outcomes = self.outcomes
        roles = {c.name: c.role for c in self.columns if c.role != "public"}
        weight, unit = self.settings.weight, self.settings.unit_column
        expected = {} if weight is None else {weight: "weight"}
        if unit is not None and roles.get(unit) == "unit":  # a plan may leave it out
            expected |= {unit: "unit"}
        expected |= dict.fromkeys(outcomes, "outcome") | dict.fromkeys(self.settings.predictors, "predictor")
        if roles != expected:
            raise ValueError(
                "the columns must be the sensitive variables, the predictors and the survey weight of the settings"
            )
        if len({c.name for c in self.columns}) < len(self.columns):
            raise ValueError("a column stands twice")
        for column in self.columns:
            if column.role == "outcome" and column.levels != (outcomes[column.name].outcome_categories or ()):
                raise ValueError(
                    "the levels of the outcome must be its declared categories, of a number none"
                )
            if (column.kind == "category") != bool(column.levels) and column.role != "public":
                raise ValueError("a category must name its levels, and a number has none")
        return self

    @model_validator(mode="after")
    def _only_public_columns_are_kept(self) -> Plan:
        check_kept(self.columns, self.codebook)
        return self

    @model_validator(mode="after")
    def _belongs_together(self) -> Plan:
        point, s = find_mechanism(self.mechanism), self.settings
        if needs_map(point, s) != (self.frozen is not None):
            raise ValueError(
                "a mechanism with weights, a sensitive range or the reference as its anchor needs a frozen risk map, "
                "no other has one"
            )
        if self.frozen is not None:
            if ("reweighting" in point.adjustments) != (self.frozen.k is not None):
                raise ValueError("k belongs to re-weighting, and to it alone")
            if point.single_weight != (self.frozen.scalar is not None):
                raise ValueError(
                    "a scalar weight belongs to a scheme of one weight, such as EM, and to it alone"
                )
        if self.strict and self.target_epsilon != s.epsilon:
            raise ValueError("the target of a strict mechanism is its own epsilon")
        if self.clamp and all(each.bounds is None for each in self.outcomes.values()):
            raise ValueError("values can only be moved into bounds that are declared")
        return self

    @model_validator(mode="after")
    def _blocks_are_planned(self) -> Plan:
        if not self.blocks:
            return self
        if not of_blocks(self.point):
            raise ValueError(f"with several sensitive variables {OF_BLOCKS}")
        if self.blocks[0].name != self.settings.outcome:
            raise ValueError("the outcome of the settings must be the first block")
        return self

    @model_validator(mode="after")
    def _rounding_keeps_rules(self) -> Plan:
        for rule in read_rules(self.settings.rules):
            outcome = self.outcomes.get(rule.column)
            if (
                outcome is None
                or outcome.outcome_categories is not None
                or rule.missing
                or not rule.one_value
            ):
                continue
            value, decimals = rule.code(None), self.decimals_of(rule.column)
            if decimals is not None and round(value, decimals) != value:
                raise ValueError(
                    f"the rule {rule} says a number that rounding to {rounding_words(decimals)} changes"
                )
        return self

    @property
    def point(self) -> Mechanism:
        return find_mechanism(self.mechanism)

    @property
    def analysed_blocks(self) -> tuple[Block, ...]:
        """The blocks of whole records as an analysis takes them; none of a single variable."""
        return tuple(each.block for each in self.blocks)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is fitted, of whole records; none of a single variable."""
        if not self.blocks:
            return ()
        return parts_of(self.analysed_blocks, common_of(self.settings))

    @cached_property
    def outcomes(self) -> dict[str, Settings]:
        """The sensitive variables, each with the settings that its values are modelled under."""
        values = {part.name: part.settings for part in self.parts if not part.of_missing}
        return values or {self.settings.outcome: self.settings}

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that leave as they were written, in the order of the file."""
        return tuple(column.name for column in self.columns if column.role not in ("outcome", "unit"))

    @property
    def unit(self) -> str | None:
        """The column of units that leave together under new identifiers; None where none does."""
        return next((column.name for column in self.columns if column.role == "unit"), None)

    def entry(self, name: str) -> Entry | None:
        """What the codebook says of a column, if there is one."""
        return None if self.codebook is None else self.codebook.get(name)

    @cached_property
    def marks(self) -> dict[str, tuple[str, ...]]:
        """What means missing in each column, as the file writes it: of the plan, and of the codebook."""
        named = by_column(self.missing, [column.name for column in self.columns])
        entries = {} if self.codebook is None else {e.column: e.missing for e in self.codebook.columns}
        return {
            column.name: tuple(dict.fromkeys((*named.get(column.name, ()), *entries.get(column.name, ()))))
            for column in self.columns
        }

    def decimals_of(self, name: str) -> int | None:
        """The decimals that a synthetic number is rounded to; below 0: tens, hundreds. None: as it was drawn."""
        own = next(column.decimals for column in self.columns if column.name == name)
        return self.decimals if own is None else own

    @property
    def rounding_words(self) -> str:
        """To what synthetic numbers are rounded, in words; empty where none is."""
        rounded = {name: each for name in self.outcomes if (each := self.decimals_of(name)) is not None}
        if len(set(rounded.values())) == 1 and len(rounded) == len(self.outcomes):
            return rounding_words(next(iter(rounded.values())))
        return ", ".join(f"{name} to {rounding_words(each)}" for name, each in rounded.items())

    @property
    def outcome_words(self) -> str:
        """Their names."""
        return ", ".join(self.outcomes)

    @property
    def strict(self) -> bool:
        """Whether epsilon holds by construction (before asking what the plan was tuned on)."""
        return self.point.epsilon_by_construction

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises whose table the plan has not seen: its map fixes every part of the weights."""
        return self.point.guarantee("closed")

    @property
    def count(self) -> Count | None:
        """What the plan's limit counts; None without a limit."""
        return None if self.limit is None else Count(self.limit_delta)

    @property
    def datasets(self) -> int:
        """m, data sets of a release."""
        return self.settings.datasets

    @property
    def beyond_limit(self) -> str:
        """That the limit which it sets has no room for one release, in words; empty where it has."""
        if self.count is None or self.limit is None:
            return ""
        guarantee = self.terms.guarantee
        cost = self.count.taken(guarantee, self.target_epsilon, self.datasets)
        if cost is None:
            return not_counted(self.point.label, guarantee, self.count)
        if cost <= self.limit * (1 + 1e-9):
            return ""
        at = "" if self.limit_delta is None else f" at δ = {self.limit_delta:g}"
        return (
            f"One release costs ε = {cost:.4g}{at}, and the limit of the series is {self.limit:g}: it would be "
            "refused. Raise the limit with a reason, or plan a smaller ε."
        )

    def standing(self, table: Table) -> ReleaseTerms:
        """What a release of this table promises, and what may be told of the tuning.

        A table that its owner calls public and then releases under an epsilon is not public, nor is one with some of
        its records. Nor may the risk map come from it, whatever the settings were tuned on.
        """
        names = tuple(column.name for column in self.columns)
        own = {table.fingerprint_of(names), table.fingerprint_of_records(names)}
        seen_before = {self.tuned_on.fingerprint, self.tuned_on.records}
        if self.frozen is not None:  # it may be frozen on a table without the columns that are kept
            seen_before.add(self.frozen.records)
            own.add(table.fingerprint_of_records((*self.outcomes, *self.settings.predictors)))
        kind: TuningKind = (
            "confidential" if own & seen_before or self._shares_records(table) else self.tuned_on.kind
        )
        return terms_of(self.point, kind)

    @property
    def terms(self) -> ReleaseTerms:
        """What releases of other tables than the tuning table promise."""
        return terms_of(self.point, self.tuned_on.kind)

    def _shares_records(self, table: Table) -> bool:
        """Whether a table holds records of the tuning table, which was called public or simulated."""
        if not self.tuned_on.marks:
            return False
        own = tuning_marks(table, tuple(self.outcomes), tuple(column.name for column in self.columns))
        return any(
            mine.shared_with(known) >= SOME_RECORDS
            for mine, known in zip(own, self.tuned_on.marks, strict=False)
        )

    @property
    def warning(self) -> str:
        """What tuning on this kind of table costs, in words; empty for public and simulated ones."""
        return WARNINGS.get(self.tuned_on.kind, "")

    def canonical(self) -> str:
        """The plan as JSON that is the same for the same plan."""
        return json.dumps(
            self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False
        )

    @property
    def digest(self) -> str:
        """sha256 of the canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()


def tuning_marks(table: Table, outcomes: tuple[str, ...], names: tuple[str, ...]) -> tuple[MarkedColumn, ...]:
    """Marks of the sensitive columns, and of whole records, of a table that its owner calls public."""
    return *marked(table, outcomes, NO_SECRET), marked_records(table, names, NO_SECRET)


def parse_plan(content: bytes) -> Plan:
    """A plan from the bytes of its file; raises InputError."""
    otherwise = "The file is not a release plan of this program."
    return parse_document(Plan, content, limits.MAX_PLAN_BYTES, "plan", otherwise)


def read_plan(path: str | Path) -> Plan:
    """A plan from its file; raises InputError."""
    return parse_plan(read_limited(Path(path), limits.MAX_PLAN_BYTES, "plan"))
