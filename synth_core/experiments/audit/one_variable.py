"""An audit of one sensitive variable: the neighbour differs in its value of one record, or of those of a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import PAID_FROM_THE_TABLE
from synth_core.analysis.result import Result
from synth_core.analysis.weighted import Weighted
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
from synth_core.experiments.audit.neighbours import REMOVED, Neighbour, neighbours
from synth_core.mechanisms.catalogue import Mechanism

FindNeighbours = list[tuple[Neighbour, Callable[[], Pair]]]


def trials_of_one(analysis: Analysis, result: Result, relation: str, runs: int) -> FindNeighbours:
    """The neighbours of one sensitive variable that are tried, and what gives the runs on both tables."""
    mechanism = result.point
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
            here = Side(analysis, weighted, neighbour.rows)
            return _pair(here, withheld(here), neighbour, runs)
        other = analysis.for_table(neighbour.table, weighted is not None and anchored_at_own_draw(weighted))
        if weighted is None:
            return UNSAMPLED_PAIRS[likelihood.key](analysis, other, neighbour, mechanism, runs)
        places = neighbour.rows[:0] if relation == REMOVED else neighbour.rows
        sides = Side(analysis, weighted, neighbour.rows), Side(other, other.weighted(mechanism), places)
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
