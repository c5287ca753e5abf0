"""The neighbouring tables that an audit runs on: the worst records, or units of several, removed and replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.mechanism_weights import weights_of
from synth_core.analysis.result import Result
from synth_core.analysis.weighted import Weighted
from synth_core.data.outcome import outcome_column, outcome_values
from synth_core.data.table import Table
from synth_core.data.units import numbers_of
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import weighted_terms
from synth_core.mechanisms.weights import range_averaged_weights
from synth_core.release.plan.frozen_map import freeze
from synth_core.release.plan.plan_terms import needs_map

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

REMOVED, REPLACED = "removed", "replaced"
RELATIONS = (REMOVED, REPLACED)
ALTERNATIVES = 128  # values that a record may be replaced by, at most
DRAWS = 500  # that alternatives are compared at
LARGEST_UNIT = "largest unit"
NEAREST = 1e-6  # to a declared bound, of the distance between the bounds


def relations_of(mechanism: Mechanism, together: bool) -> tuple[str, ...]:
    """The relations that something is said about: what replacing a whole record or a unit costs is not measured.

    Parameters
    ----------
    together : bool
        Whether several values differ together: all of a record of several variables, or those of a unit of records.
    """
    return RELATIONS if mechanism.epsilon_by_construction or not together else (REMOVED,)


@dataclass(frozen=True)
class Neighbour:
    """A table that differs in one record, or in all records of one unit. Confidential.

    Attributes
    ----------
    row : int
        Of the record that was chosen, from 0, among the complete rows.
    rows : array of int
        Of all records that differ: of the whole unit.
    value : float, str or None
        What its outcome becomes, of whole records and of units in words; None where it is removed.
    why : str
        What it was chosen for.
    """

    relation: str
    row: int
    rows: Rows
    value: float | str | None
    why: str
    table: Table


def worst_records(analysis: Analysis, result: Result, weighted: Weighted | None) -> dict[int, str]:
    """Rows that an audit tries, with the reason.

    The record with the largest bound is what epsilon is read from; the one whose term varies most over the
    draws is what moves the posterior, since a constant cancels. Weights and censoring leave little of both to
    the records that they protect, so the one that stood out most before is tried too: were the protection
    missing, it would show there. The histogram treats all records alike: the largest value stands for them.
    """
    units = units_of(analysis)
    if weighted is None:
        largest = int(np.argmax(analysis.selection.records.outcome))
        return with_largest_unit({largest: "largest value"}, units)
    risk = analysis.fits.unweighted_bounds().lipschitz_bounds
    return standing_out(result.lipschitz_bounds, term_spread(analysis, weighted), risk, units)


def units_of(analysis: Analysis) -> Rows:
    """The number of the unit of each record that is fitted; of the record itself where units are single ones."""
    return numbers_of(analysis.table, analysis.settings.unit_column)[analysis.selection.complete]


def with_largest_unit(reasons: dict[int, str], units: Rows, effect: Array | float = 0.0) -> dict[int, str]:
    """Rows that an audit tries, and of the unit of most records one too, if any unit has several.

    Of several units of that size it is the one with the largest effect.
    """
    sizes = np.bincount(units)[units]
    if sizes.max() > 1:
        largest = np.where(sizes == sizes.max(), effect, -np.inf)
        reasons.setdefault(int(np.argmax(largest)), LARGEST_UNIT)
    return reasons


def standing_out(bounds: Array, spread: Array, risk: Array, units: Rows) -> dict[int, str]:
    """Rows with the largest bound, the largest effect on the posterior, and the largest bound without protection.

    Bounds are those of a record's unit; effects are added up over it, and the largest unit is tried too.

    Parameters
    ----------
    bounds, spread, risk : arrays of shape (n_records,)
        Of the mechanism, see `term_spread`, and of the unweighted fit.
    units : array of shape (n_records,)
        The number of each record's unit.
    """
    spread = np.asarray(np.bincount(units, weights=spread), dtype=np.float64)[units]
    largest = bounds >= bounds.max() * (1 - 1e-9)  # clamped bounds tie
    reasons: dict[int, str] = {}
    for score, why in (
        (np.where(largest, spread, -1.0), "largest Δ of a record"),
        (spread, "largest effect on the posterior"),
        (np.where(np.isfinite(risk), risk, np.inf), "largest Δ of a record if nothing were weighted"),
    ):
        row = int(np.argmax(score))
        reasons[row] = f"{reasons[row]}; {why}" if row in reasons else why
    return with_largest_unit(reasons, units, spread)


def term_spread(analysis: Analysis, weighted: Weighted) -> Array:
    """How far every record's term varies over the refit's draws, of shape (n_records,), in nats."""
    draws, model = some_draws(analysis, weighted), analysis.model
    n_draws = len(next(iter(draws.values())))
    spread, step = np.empty(model.records.n), max(1, model.block_elements // n_draws)
    for start in range(0, model.records.n, step):
        rows = slice(start, min(start + step, model.records.n))
        terms = weighted_terms(
            model.log_lik(draws, rows), weighted.weights[rows], weighted.censoring_of(rows)
        )
        with np.errstate(invalid="ignore"):
            spread[rows] = np.ptp(terms, axis=0)
        analysis.progress("choosing records", start / model.records.n)
    return np.where(np.isfinite(spread), spread, np.inf)


def some_draws(analysis: Analysis, weighted: Weighted) -> dict[str, Array]:
    posterior, _ = analysis.fits.posterior(weighted.weights, weighted.censoring)
    return posterior.thinned(DRAWS)


def neighbours(
    analysis: Analysis, result: Result, weighted: Weighted | None, relation: str
) -> list[Neighbour]:
    """The neighbouring tables of one relation.

    Parameters
    ----------
    result : Result
        The mechanism's on the analysis's table.
    weighted : Weighted or None
        The weights that gave it; None for the histogram.
    """
    units = units_of(analysis)
    tried = []
    for row, why in worst_records(analysis, result, weighted).items():
        rows = np.flatnonzero(units == units[row])
        values: list[float] | None = None
        if relation == REPLACED and weighted is None:
            values = [_farthest_bin(analysis, each) for each in map(int, rows)]
        elif relation == REPLACED and weighted is not None:
            values = [worst_alternative(analysis, weighted, result, each) for each in map(int, rows)]
        table = changed(analysis, rows, values)
        said = values[0] if values and len(rows) == 1 else replacing_words(relation, len(rows))
        tried.append(Neighbour(relation, row, rows, said, why, table))
    return tried


def replacing_words(relation: str, n_records: int) -> str | None:
    """What a unit's values become, in words; None where they are removed."""
    return f"other values of all {n_records} records" if relation == REPLACED else None


def changed(analysis: Analysis, rows: Rows, others: list[float] | None) -> Table:
    """The table without some complete rows, or with other outcomes in them."""
    table, s = analysis.table, analysis.settings
    places = np.flatnonzero(analysis.selection.complete)[rows]
    values = outcome_values(table, s.outcome, s.outcome_categories).copy()
    if others is not None:
        values[places] = others
    column = outcome_column(values, s.outcome_categories)  # labels: 10.1 is not 10.10
    frame = table.frame.assign(**{s.outcome: column})
    if others is None:
        frame = frame.drop(frame.index[places]).reset_index(drop=True)
    return Table("a neighbouring table", frame, table.confidential)


def worst_alternative(analysis: Analysis, weighted: Weighted, result: Result, row: int) -> float:
    """The outcome that moves the record's term of the pseudo log-likelihood most, over the refit's draws.

    A term that changes by the same amount at every draw changes no posterior, so what counts is how
    far the difference t_s(x) - t_s(x') varies over s. The weight of an alternative is what the risk map
    gives it, with everything that a map can hold frozen on this table.
    """
    values = alternatives(analysis, weighted.mechanism, row)
    draws = some_draws(analysis, weighted)
    tried = _tried(analysis, row, values)
    weights = weights_of_neighbour(tried, analysis, weighted.mechanism, result.tuned)
    if weighted.anchored is not None:
        weights = weighted.anchored.weight * weights
    there = weighted.censoring
    if weighted.anchored is not None:
        there = replace(weighted.anchored.censoring, anchor=weighted.anchored.anchor.log_lik(tried.fits))
    terms = weighted_terms(tried.model.log_lik(draws, slice(None)), weights, there)
    own = weighted_terms(
        analysis.model.log_lik(draws, np.array([row])), weighted.weights[[row]], weighted.censoring_of([row])
    )
    with np.errstate(invalid="ignore"):
        spread = np.ptp(own - terms, axis=0)
    return float(tried.model.records.outcome[int(np.argmax(np.where(np.isfinite(spread), spread, -1.0)))])


def alternatives(analysis: Analysis, mechanism: Mechanism, row: int) -> Array:
    """Values that the record may be replaced by, other than its own.

    A strict claim covers any value within the declared bounds; a local one is read from the values of
    this table; one of a sensitive range covers that range alone.
    """
    outcome, s = analysis.model.records.outcome, analysis.settings
    seen = np.unique(outcome)
    lower, upper = float(seen[0]), float(seen[-1])
    if mechanism.standard.of_range:
        inside = np.clip(analysis.fits.intervals()[row], lower, upper)
        grid = np.linspace(inside[0], inside[1], ALTERNATIVES)
    elif mechanism.epsilon_by_construction and s.bounds is not None:
        share = np.geomspace(NEAREST, 0.5, ALTERNATIVES // 2)
        width = s.bounds[1] - s.bounds[0]
        grid = np.concatenate([s.bounds[0] + width * share, s.bounds[1] - width * share])
    else:
        grid = seen[np.unique(np.linspace(0, len(seen) - 1, min(ALTERNATIVES, len(seen))).astype(int))]
    if (seen % 1 == 0).all():
        grid = np.round(grid)
    grid = np.unique(grid)
    other = grid[grid != outcome[row]]
    return other if other.size else np.array([upper if outcome[row] == lower else lower])


def _tried(analysis: Analysis, row: int, values: Array) -> Analysis:
    """The record once for every value, as a table in the design of the real one."""
    padded = np.resize(np.append(values, analysis.model.records.outcome[row]), max(len(values) + 1, 10))
    place = int(np.flatnonzero(analysis.selection.complete)[row])
    frame = analysis.table.frame.iloc[[place] * len(padded)].reset_index(drop=True)
    frame[analysis.settings.outcome] = outcome_column(padded, analysis.settings.outcome_categories)
    of_their_own(frame, analysis.settings.unit_column)
    return analysis.for_table(Table("alternatives", frame, analysis.table.confidential))


def of_their_own(alternatives: pd.DataFrame, unit: str | None) -> None:
    """Make each row that a record may be replaced by a unit of its own: together they would be a large one."""
    if unit is not None:
        alternatives[unit] = [f"alternative {i}" for i in range(len(alternatives))]


def weights_of_neighbour(
    tried: Analysis, analysis: Analysis, mechanism: Mechanism, tuned: dict[str, Any]
) -> Array:
    survey = tried.fits.survey_weights
    if not needs_map(mechanism):
        return np.ones(tried.model.records.n) if survey is None else survey
    frozen = freeze(analysis, mechanism, tuned)
    weights = weights_of(mechanism, tried.fits, frozen).weights
    weights = weights if survey is None else survey * weights
    if not mechanism.standard.averages:
        return weights
    return range_averaged_weights(weights, frozen.outside(tried.fits))


def _farthest_bin(analysis: Analysis, row: int) -> float:
    """A value at the other end of the declared bounds."""
    bounds, value = analysis.settings.bounds, analysis.selection.records.outcome[row]
    assert bounds is not None  # `synthesize` refuses a histogram without them
    low, high = bounds
    return float(high if value - low < high - value else low)
