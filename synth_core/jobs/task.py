"""What a background process can be asked to do: a frozen task with its key and its answer.

A task is content. It names its tables by their identities and carries them beside, for the process that was not given
them before. The kinds of tasks are in `jobs.tasks`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.records.blocks import Block, common_of, parts_of, settings_of_first
from synth_core.analysis.records.feasible import refusal
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.experiments.explore.sweep import seconds_per_point
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key

A = TypeVar("A", covariant=True)  # what a task answers with


@dataclass(frozen=True, eq=False)
class TaskInput:
    """What a task reads: tables by their identities, and settings; make one with `of`.

    Attributes
    ----------
    identity, reference : str
        Of the table and of the reference: which tables a worker holds. A table that was read by a codebook has
        another identity than its fingerprint.
    settings : Settings
        Of several variables what all have, naming the first: the same, whichever variable is described now.
    blocks : tuple of Block
        The sensitive variables of whole records; empty where one is sensitive.
    tables : tuple of Table
        Those that are named; none in what is sent to a process that has them.
    """

    identity: str
    reference: str | None
    settings: Settings
    blocks: tuple[Block, ...]
    tables: tuple[Table, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        table: Table,
        settings: Settings,
        reference: Table | None = None,
        blocks: Sequence[Block] = (),
    ) -> Self:
        """The input of a task on a table; raises InputError as `parts_of` does, of the blocks."""
        return cls(
            table.identity,
            None if reference is None else reference.identity,
            settings_of_first(blocks, common_of(settings)) if blocks else settings,
            tuple(blocks),
            (table,) if reference is None else (table, reference),
        )

    def changed(self, **changes: Any) -> Self:
        """With other settings."""
        return replace(self, settings=self.settings.model_copy(update=changes))

    @property
    def fingerprints(self) -> tuple[str, str | None]:
        """The fingerprints of the table and of the reference."""
        table, *reference = (each.fingerprint for each in self.tables)
        return table, next(iter(reference), None)


@dataclass(frozen=True, eq=False)
class Task(ABC, Generic[A]):
    """One thing to compute; equal keys are computed once, whoever asks.

    Attributes
    ----------
    mechanism : str
        The mechanism's key; empty where the task is of none, or of several.
    background : bool
        Whether it waits behind all others, and gives up its process to one that comes.
    stored : bool
        Whether its answer may be stored, and is then shown without a worker.
    repeated : bool
        Whether it is computed again when its owner asks again.
    """

    given: TaskInput
    mechanism: str = ""
    background: bool = False
    stored: ClassVar[bool] = False
    repeated: ClassVar[bool] = False

    @cached_property
    def key(self) -> str:
        """What makes it this task and no other."""
        return content_key(task=type(self).__name__, **_plain(self))

    @abstractmethod
    def answer(self, analysis: AnyAnalysis[Any]) -> A:
        """The answer, computed in a worker: a frozen record that any process can read.

        Parameters
        ----------
        analysis : AnyAnalysis
            Of the input.
        """

    @property
    def runs(self) -> tuple[str, ...]:
        """The mechanisms that it runs, by key."""
        return (self.mechanism,) if self.mechanism else ()

    @property
    def samples(self) -> bool:
        """Whether a mechanism of ours that it runs samples a posterior."""
        return any(find_mechanism(key).likelihood.samples for key in self.runs)

    def seconds_of(self, answer: Any) -> float | None:
        """What an answer cost when it was computed for this task; None where it was stored, or nobody measured it."""
        return None

    @cached_property
    def refusal(self) -> str:
        """Why it cannot be computed, as far as its settings tell; empty where only the values could refuse it."""
        given = self.given
        words = (
            refusal(find_mechanism(key), given.settings, given.blocks, given.reference is not None)
            for key in self.runs
        )
        return next(filter(None, words), "")

    @property
    def sent(self) -> Self:
        """This task without its tables."""
        _ = self.key  # it may read them
        bare = replace(self, given=replace(self.given, tables=()))
        bare.__dict__["key"] = self.key
        return bare

    @property
    def expected_seconds(self) -> float:
        """About how long it takes, where nothing like it has been measured."""
        rows = len(self.given.tables[0].frame) if self.given.tables else 0
        given, mechanism = self.given, find_mechanism(self.mechanism)
        parts = parts_of(given.blocks, common_of(given.settings)) if given.blocks else ()
        fitted = [part.settings for part in parts] if mechanism.likelihood.samples else []
        return sum(seconds_per_point(mechanism, each, rows) for each in fitted or [given.settings])


_NOT_KEYED = ("tables", "background")


def _plain(value: Any) -> Any:
    """A task or a part of it as plain values, without tables."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {
            each.name: _plain(getattr(value, each.name))
            for each in fields(value)
            if each.name not in _NOT_KEYED
        }
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
