"""An audit of whole records: the neighbour differs in everything that is sensitive about one record, or a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.presence import missing_name
from synth_core.analysis.records.blocks import Part
from synth_core.analysis.records.fitted_parts import of_all
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.records.synthetic_records import draw_records
from synth_core.data.outcome import outcome_values
from synth_core.data.table import Table
from synth_core.data.units import numbers_of
from synth_core.engine.sampling import Posterior
from synth_core.errors import InputError
from synth_core.experiments.audit.neighbour_runs import Pair, Side, Values, posterior_pair, withheld
from synth_core.experiments.audit.neighbours import (
    ALTERNATIVES,
    REMOVED,
    Neighbour,
    Rows,
    of_their_own,
    replacing_words,
    some_draws,
    standing_out,
    term_spread,
    weights_of_neighbour,
)
from synth_core.experiments.audit.one_variable import FindNeighbours, no_audit_of
from synth_core.mechanisms.bounds import joint_lipschitz_bounds
from synth_core.mechanisms.censoring import weighted_terms

Array = NDArray[np.float64]


def trials_of_records(
    analysis: RecordsAnalysis, result: RecordsResult, relation: str, runs: int
) -> FindNeighbours:
    """The neighbours of whole records that are tried, and what gives the runs on both tables.

    One run is a draw of every block's posterior, and the synthetic records drawn with them.
    """
    if not result.point.likelihood.samples:
        raise InputError(no_audit_of(result.point))
    tried = _Trials(analysis, result, relation, runs)
    return [(neighbour, partial(tried.pair, neighbour)) for neighbour in tried.neighbours()]


class _Trials:
    """The neighbours of one mechanism and one relation."""

    def __init__(self, analysis: RecordsAnalysis, result: RecordsResult, relation: str, runs: int):
        self.analysis, self.result, self.relation, self.runs = analysis, result, relation, runs
        self.mechanism, self.table, self.parts = result.point, analysis.table, analysis.parts
        self.anchored = self.mechanism.likelihood.anchors
        self.analyses = analysis.analyses(self.anchored)
        self.weighted = [each.weighted(self.mechanism) for each in self.analyses]
        self.units = numbers_of(self.table, analysis.settings.unit_column)

    def neighbours(self) -> list[Neighbour]:
        """The neighbours that differ in the worst records."""
        return [self._neighbour(row, why) for row, why in self._worst().items()]

    def _neighbour(self, row: int, why: str) -> Neighbour:
        name, confidential = "a neighbouring table", self.table.confidential
        rows = np.flatnonzero(self.units == self.units[row])
        if self.relation == REMOVED:
            return Neighbour(REMOVED, row, rows, None, why, Table(name, self._without(rows), confidential))
        frame = self.table.frame.copy()
        for each in map(int, rows):
            values = self._alternative(each)
            for column in values.index:
                frame[column] = frame[column].where(frame.index != each, values[column])
        said = replacing_words(self.relation, len(rows))
        if len(rows) == 1:
            said = ", ".join(f"{block.name} = {_said(values[block.name])}" for block in self.analysis.blocks)
        return Neighbour(self.relation, row, rows, said, why, Table(name, frame, confidential))

    def _without(self, rows: Rows) -> pd.DataFrame:
        return self.table.frame.drop(index=list(rows)).reset_index(drop=True)

    def _worst(self) -> dict[int, str]:
        spread = np.zeros(self.table.rows)
        for each, weighted in zip(self.analyses, self.weighted, strict=True):
            spread[each.selection.complete] += term_spread(each, weighted)
        plain = [each.fits.unweighted_bounds() for each in self.analyses]
        risk = joint_lipschitz_bounds(
            [of_all(each, bounds) for each, bounds in zip(self.analyses, plain, strict=True)]
        )
        return standing_out(self.result.lipschitz_bounds, spread, risk, self.units)

    def _places(self, part: Analysis, rows: Rows) -> Rows:
        """The places of records among those of a part; without those whose value is missing."""
        complete = part.selection.complete
        return (np.cumsum(complete) - 1)[rows[complete[rows]]]

    def pair(self, neighbour: Neighbour) -> Pair:
        """Runs on the table and on a neighbour."""
        rows, fits = neighbour.rows, {}
        # Weights that the table gives move with it. All else is held where a record is withheld.
        moves = self.mechanism.weighted and self.analyses[0].weights_from == "current" and not self.anchored
        dropped = self.relation == REMOVED and moves
        for part, each, weighted in zip(self.parts, self.analyses, self.weighted, strict=True):
            here = Side(each, weighted, self._places(each, rows))
            if self.relation == REMOVED and not dropped:
                there = withheld(here)
            else:
                other = each.for_table(neighbour.table, self.anchored)
                left = rows[:0] if dropped else self._places(other, rows)
                there = Side(other, other.weighted(self.mechanism), left)
            fits[f"{part.name}: "] = here, there
        return posterior_pair(fits, self.relation, self.runs, partial(self._released, neighbour, dropped))

    # -- what a record may be replaced by --------------------------------------------------------

    @cached_property
    def _groups(self) -> list[list[str]]:
        """Columns that belong to one variable: its values, and whether they are missing."""
        return [
            [block.name, *([] if block.missing is None else [missing_name(block.name)])]
            for block in self.analysis.blocks
        ]

    def _candidates(self, row: int) -> pd.DataFrame:
        """Sensitive values of other records: as they stand, and every variable from another one."""
        rng = np.random.default_rng([self.analysis.seed, 64, row])
        others = np.delete(np.arange(self.table.rows), row)
        whole = rng.permutation(others)[: ALTERNATIVES // 2]
        frame = self.table.frame
        mixed = [
            frame[names].iloc[rng.choice(others, ALTERNATIVES // 2)].reset_index(drop=True)
            for names in self._groups
        ]
        columns = [name for names in self._groups for name in names]
        tried = pd.concat([frame[columns].iloc[whole], pd.concat(mixed, axis=1)], ignore_index=True)
        if not self.analysis.rules:
            return tried
        # A neighbour keeps the rules; the record itself does.
        tried = pd.concat([tried, frame[columns].iloc[[row]]], ignore_index=True)
        own = frame.iloc[[row] * len(tried)].reset_index(drop=True)
        return tried[~self.analysis.judge.breaking(tried, own)].reset_index(drop=True)

    def _alternative(self, row: int) -> pd.Series:
        """The candidate that moves the sum of the record's terms most, over all combinations of draws."""
        tried = self._candidates(row)
        frame = self.table.frame
        rows = frame.iloc[[row] * len(tried)].reset_index(drop=True)
        rows[list(tried.columns)] = tried
        of_their_own(rows, self.analysis.settings.unit_column)
        # After the table itself: each part then has as many values as any fit needs.
        table = Table("alternatives", pd.concat([frame, rows], ignore_index=True), self.table.confidential)
        moved = np.zeros(len(tried))
        for each, weighted in zip(self.analyses, self.weighted, strict=True):
            draws, at = some_draws(each, weighted), self._places(each, np.array([row]))
            own: Any = 0.0
            if len(at):
                own = weighted_terms(
                    each.model.log_lik(draws, at), weighted.weights[at], weighted.censoring_of(at)
                )
            terms = np.zeros((len(next(iter(draws.values()))), len(tried)))
            other = each.for_table(table)
            there = other.selection.complete[len(frame) :]
            at = np.arange(len(frame), table.rows)[there]
            at = (np.cumsum(other.selection.complete) - 1)[at]
            weights = weights_of_neighbour(other, each, self.mechanism, self.result.tuned)[at]
            censoring = weighted.censoring
            if weighted.anchored is not None:
                weights = weighted.anchored.weight * weights
                anchor = weighted.anchored.anchor.log_lik(other.fits)
                censoring = replace(weighted.anchored.censoring, anchor=anchor).of(at)
            terms[:, there] = weighted_terms(other.model.log_lik(draws, at), weights, censoring)
            with np.errstate(invalid="ignore"):
                spread = np.ptp(own - terms, axis=0)
            moved += np.where(np.isfinite(spread), spread, np.inf)
        return tried.iloc[int(np.argmax(moved))]

    # -- what is released ------------------------------------------------------------------------

    def _released(
        self, neighbour: Neighbour, dropped: bool, i: int, posteriors: Sequence[Posterior], rows: list[Any]
    ) -> Values:
        """What an intruder would compute of synthetic records, each of shape (n_runs,)."""
        row, gone = neighbour.row, neighbour.rows if dropped else neighbour.rows[:0]
        kept = np.delete(np.arange(self.table.rows), gone)
        statistics: dict[str, list[float]] = {}
        for columns in self._drawn(posteriors, rows, kept, i):
            close = np.ones(len(kept), dtype=bool)
            for part in self.parts:
                values = columns[part.name]
                if part.of_missing:
                    statistics.setdefault(f"synthetic share of {part.name}", []).append(float(values.mean()))
                    continue
                near = self._near(part, row, values)
                close &= near
                statistics.setdefault(f"synthetic share near the record: {part.name}", []).append(
                    float(near.mean())
                )
                if not part.settings.outcome_categories:
                    there = values[~np.isnan(values)]
                    statistics.setdefault(f"synthetic mean of {part.name}", []).append(
                        float(there.mean()) if there.size else 0.0
                    )
                    statistics.setdefault(f"synthetic largest {part.name}", []).append(
                        float(there.max()) if there.size else 0.0
                    )
            statistics.setdefault("synthetic share near the whole record", []).append(float(close.mean()))
        return {name: np.array(values) for name, values in statistics.items()}

    @cached_property
    def _confidential(self) -> dict[str, Array]:
        """The values of every part, missing as NaN."""
        return {
            part.name: outcome_values(self.table, part.name, part.settings.outcome_categories)
            for part in self.parts
        }

    def _near(self, part: Part, row: int, values: Array) -> NDArray[np.bool_]:
        """Whether each synthetic value is as good as the record's own; missing where it is missing."""
        mine, s = self._confidential[part.name], part.settings
        x = mine[row]
        if np.isnan(x):
            return np.isnan(values)
        if s.outcome_categories:
            return values == x
        reach = s.radius * abs(x) or s.radius * float(np.nanstd(mine))
        with np.errstate(invalid="ignore"):
            return np.abs(values - x) <= reach

    def _drawn(
        self, posteriors: Sequence[Posterior], rows: list[Any], kept: NDArray[np.int64], i: int
    ) -> Iterator[dict[str, Array]]:
        """The values of every part at the predictors of the records that are kept, one synthetic table a run."""
        public = self.analysis.public_design[kept]
        rules = [d if (d := each.selection.decided) is None else d.of(kept) for each in self.analyses]
        rng = np.random.default_rng([self.analysis.seed, 61, i])
        where = "on the neighbour" if i else "on the table"
        for run, picked in enumerate(zip(*rows, strict=True)):
            drawn = [
                (part, each.model, posterior.at(s), rng, decided)
                for part, each, posterior, s, decided in zip(
                    self.parts, self.analyses, posteriors, picked, rules, strict=True
                )
            ]
            if not run % 200:
                self.analysis.progress(
                    f"{self.mechanism.label}: drawing synthetic records {where}", run / len(rows[0])
                )
            yield draw_records(drawn, public, self.analysis.settings.drawing)


def _said(value: Any) -> str:
    return "missing" if pd.isna(value) else str(value)
