"""What an audit asks of its subject, be it one sensitive variable or whole records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import PAID_FROM_THE_TABLE
from synth_core.analysis.fits import Progress
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.result import Result
from synth_core.analysis.settings import Settings
from synth_core.analysis.weighted import Weighted
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.audit.neighbour_runs import (
    UNSAMPLED_PAIRS,
    Pair,
    Side,
    Values,
    posterior_pair,
    predictions,
    synthetic_statistics,
    withheld,
)
from synth_core.experiments.audit.neighbours import RELATIONS, REMOVED, Neighbour, neighbours
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.models import OwnProgram
from synth_core.system.cache import Cache

FindNeighbours = list[tuple[Neighbour, Callable[[], Pair]]]


@dataclass(frozen=True)
class Described:
    """The subject in words, and what its lines depend on.

    Attributes
    ----------
    columns : tuple of str
        That are read.
    key : dict
        Of the cache: everything but the mechanism.
    """

    outcome: str
    model: str
    density_scale: str
    columns: tuple[str, ...]
    key: dict[str, Any]


class Subject(Protocol):
    """One sensitive variable or whole records, under settings."""

    settings: Settings  # what all of it has in common, such as the seed
    table: Table  # as it was loaded
    cache: Cache
    progress: Progress

    @property
    def n_records(self) -> int: ...

    @property
    def described(self) -> Described: ...

    def check(self) -> None:
        """Raise InputError for what no audit can be made of."""

    def reporting(self, progress: Progress) -> Subject:
        """A copy whose progress is reported to another callback."""

    def from_current(self) -> Subject:
        """A copy with weights from its own table."""

    def relations(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The neighbours that something is said about."""

    def run(self, key: str) -> Result | RecordsResult:
        """The mechanism on the table."""

    def holds_draw(self, mechanism: Mechanism) -> bool:
        """Whether an anchor was drawn from the table itself, and that draw is held on its neighbours."""

    def trials(self, result: Any, relation: str, runs: int) -> FindNeighbours:
        """The neighbours to be tried, and what gives the runs on both tables."""


class OneVariable:
    """One sensitive variable."""

    def __init__(self, analysis: Analysis):
        self.analysis = analysis
        self.settings, self.table, self.cache = analysis.settings, analysis.table, analysis.cache
        self.progress = analysis.progress

    @property
    def n_records(self) -> int:
        return self.analysis.selection.records.n

    @property
    def described(self) -> Described:
        s, model = self.settings, self.analysis.model
        key = {
            "table": self.table.fingerprint,
            "settings": s.model_dump(mode="json"),
            "reference": self.analysis.reference_fingerprint,
        }
        return Described(s.outcome, model.label, model.density_scale, (s.outcome, *s.predictors), key)

    def check(self) -> None:
        if self.settings.model == OwnProgram.name:
            raise InputError(
                "An own Stan program cannot be audited: each of thousands of synthetic tables would need a process "
                "of its own. Audit one of the built-in models."
            )
        if self.settings.match_epsilon is not None:
            raise InputError(
                "These settings match one mechanism's ε to another's; audit them without matching."
            )

    def reporting(self, progress: Progress) -> OneVariable:
        return OneVariable(self.analysis.reporting(progress))

    def from_current(self) -> OneVariable:
        return OneVariable(self.analysis.from_current())

    def relations(self, mechanism: Mechanism) -> tuple[str, ...]:
        return RELATIONS

    def run(self, key: str) -> Result:
        return self.analysis.run(key)

    def holds_draw(self, mechanism: Mechanism) -> bool:
        return mechanism.likelihood.samples and anchored_at_own_draw(self.analysis.weighted(mechanism))

    def trials(self, result: Result, relation: str, runs: int) -> FindNeighbours:
        mechanism, analysis = result.point, self.analysis
        likelihood = mechanism.likelihood
        weighted = analysis.weighted(mechanism) if likelihood.samples else None
        if weighted is None and likelihood.key not in UNSAMPLED_PAIRS:
            raise InputError(no_audit_of(mechanism))
        tried = neighbours(analysis, result, weighted, relation)

        def pair(neighbour: Neighbour) -> Pair:
            # An anchor that reads no record is found anew on D', where one that does would be another. The draw of a
            # pilot or of noisy counts is held: fits around two draws differ by chance. So it is where a value is
            # withheld, since the number of records is public.
            if weighted is not None and likelihood.anchors and relation == REMOVED:
                here = Side(analysis, weighted, neighbour.row)
                return _pair(here, withheld(here), neighbour, runs)
            other = analysis.on(neighbour.table, weighted is not None and anchored_at_own_draw(weighted))
            if weighted is None:
                return UNSAMPLED_PAIRS[likelihood.key](analysis, other, neighbour, mechanism, runs)
            place = None if relation == REMOVED else neighbour.row
            sides = Side(analysis, weighted, neighbour.row), Side(other, other.weighted(mechanism), place)
            return _pair(*sides, neighbour, runs)

        return [(neighbour, partial(pair, neighbour)) for neighbour in tried]


def no_audit_of(mechanism: Mechanism) -> str:
    """Why a mechanism of noisy measurements is not audited."""
    return f"{mechanism.label}: there is no audit of its measurements. Audit another mechanism."


def anchored_at_own_draw(weighted: Weighted) -> bool:
    """Whether a mechanism's anchor is a draw from the table, which was paid for."""
    return weighted.anchored is not None and weighted.anchored.anchor.kind in PAID_FROM_THE_TABLE


def _pair(here: Side, there: Side, neighbour: Neighbour, runs: int) -> Pair:
    """Runs of a posterior mechanism on one variable."""
    analysis = here.analysis

    def released(i: int, posteriors: Any, rows: Any) -> Values:
        rng = np.random.default_rng([analysis.settings.seed, 61, i])
        where = "on the neighbour" if i else "on the table"
        tell = partial(analysis.progress, f"{here.weighted.mechanism.label}: drawing synthetic data {where}")
        sets: Iterator[Any] = predictions(there.analysis, posteriors[0], rows[0], rng, tell)
        return synthetic_statistics(sets, len(rows[0]), neighbour, analysis)

    return posterior_pair({"": (here, there)}, neighbour.relation, runs, released)
