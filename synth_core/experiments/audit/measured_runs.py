"""Noisy tables of counts, many times, on a table and on its neighbour.

What is asked of the noise is found once, on both tables, with the same answers: what is chosen by noisy answers is then
chosen alike, as the composition of adaptive measurements has it. Where the two ask for other counts or other noise,
something else has read the table. Only cells that differ are drawn again and again: all others have one law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.engines import ENGINES
from synth_core.analysis.engines.measured import Expected, MeasuredEngine
from synth_core.analysis.measured.cells import FREE, PRESENT, PublicSide, cells_of
from synth_core.analysis.measured.measuring import measure
from synth_core.data.units import numbers_of
from synth_core.errors import InputError
from synth_core.experiments.audit.neighbour_runs import RATIO, Pair, Values
from synth_core.experiments.audit.neighbours import REMOVED, Neighbour, Rows, with_largest_unit
from synth_core.experiments.audit.one_variable import FindNeighbours
from synth_core.mechanisms.noise import OPENDP, Counts, Noise, NoisyAnswer, RecordedNoise, SeededNoise

Array = NDArray[np.float64]
MEASURED = {key: each for key, each in ENGINES.items() if isinstance(each, MeasuredEngine)}
COUNTED = 8  # noisy counts that are looked at by themselves
SHAPES_DIFFER = "what is counted"


@dataclass(frozen=True)
class _Asked:
    """Counts that noise was asked for. Confidential."""

    law: str
    scale: float
    counts: Counts


class _Listening(Noise):
    """A noise that remembers what it was asked for."""

    def __init__(self, noise: Noise):
        self.noise, self.name, self.asked = noise, noise.name, list[_Asked]()

    def laplace(self, counts: Counts, scale: float) -> Counts:
        self.asked.append(_Asked("laplace", scale, counts.ravel().copy()))
        return self.noise.laplace(counts, scale)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        self.asked.append(_Asked("gaussian", deviation, counts.ravel().copy()))
        return self.noise.gaussian(counts, deviation)


class MeasuredTrials:
    """The measurements of one mechanism on a table and on its neighbours."""

    def __init__(self, analysis: AnyAnalysis[Any], key: str, label: str, relation: str, runs: int):
        self.analysis, self.label, self.relation, self.runs = analysis, label, relation, runs
        parts = tuple(each.fits for each in analysis.analyses(False))
        self.public, self.codes, self.values = cells_of(parts, label)
        units = numbers_of(analysis.loaded, analysis.settings.unit_column)
        self.unit_of = units[analysis.used_rows.complete]
        epsilon = float(sum(fits.settings.epsilon for fits in parts))
        self.budget = MEASURED[key].budget(epsilon)

    def find(self) -> FindNeighbours:
        """The neighbours that are tried. All records are treated alike; those alone in their cells stand for them.

        Where units have several records, a neighbour differs in all of them; the largest unit is tried too.
        """
        rows = {self._rarest(): "rarest cells"}
        numbers = [
            values for values, each in zip(self.values, self.public.variables, strict=True) if each.edges
        ]
        for values in numbers[:1]:
            rows.setdefault(int(np.nanargmax(values)), "largest value")
        rows = with_largest_unit(rows, self.unit_of)
        said = None if self.relation == REMOVED else "other cells of every variable"
        table = self.analysis.table
        tried = [
            Neighbour(self.relation, row, np.flatnonzero(self.unit_of == self.unit_of[row]), said, why, table)
            for row, why in rows.items()
        ]
        return [(neighbour, partial(self.pair, neighbour.rows)) for neighbour in tried]

    def _rarest(self) -> int:
        counts = np.zeros(len(self.codes))
        for column in self.codes.T:
            counts += np.log(np.bincount(column)[column])
        return int(np.argmin(counts))

    def _asked(self, codes: Any, values: Sequence[Array], noise: Noise, rows: Any = None) -> list[_Asked]:
        listening = _Listening(noise)
        expected = Expected(self.public, self.analysis.progress)
        measure(self.public, codes, tuple(values), self.budget, listening, expected, rows)
        return listening.asked

    def pair(self, together: Rows) -> Pair:
        """Runs on the table and on the neighbour that differs in these records: in one, or in those of a unit."""
        answers: list[NoisyAnswer] = []
        seeded = RecordedNoise([], answers.append, SeededNoise(self.analysis.settings.seed, 66))
        here = self._asked(self.codes, self.values, seeded)
        codes, values = self.codes, self.values
        for each in together if self.relation != REMOVED else ():
            codes, values = replaced(self.public, codes, values, int(each))
        try:
            again = RecordedNoise(answers)
            there = self._asked(codes, values, again, together if self.relation == REMOVED else None)
        except InputError:
            there = []
        if [(a.law, a.scale, a.counts.size) for a in here] != [
            (a.law, a.scale, a.counts.size) for a in there
        ]:
            sides = [{SHAPES_DIFFER: np.full(self.runs, float(i))} for i in (0, 1)]
            return Pair(sides[0], sides[1], (1, 1), float("inf"))
        sides = [self._runs(here, there, i) for i in (0, 1)]
        return Pair(sides[0], sides[1], (1, 1), float(max(np.abs(each[RATIO]).max() for each in sides)))

    def _runs(self, here: list[_Asked], there: list[_Asked], side: int) -> Values:
        """The log ratio of what is measured on the two tables, and single noisy counts, of shape (n_runs,) each."""
        values: Values = {RATIO: np.zeros(self.runs)}
        where = "the neighbour" if side else "the table"
        for place, (a, b) in enumerate(zip(here, there, strict=True)):
            differ = np.flatnonzero(a.counts != b.counts)
            if not differ.size:
                continue
            mine, theirs = a.counts[differ], b.counts[differ]
            own = theirs if side else mine
            noisy = getattr(OPENDP, a.law)(np.tile(own, self.runs), a.scale).reshape(self.runs, -1)
            if a.law == "gaussian":
                apart = ((noisy - theirs) ** 2 - (noisy - mine) ** 2) / (2 * a.scale**2)
            else:
                apart = (np.abs(noisy - theirs) - np.abs(noisy - mine)) / a.scale
            values[RATIO] += apart.sum(axis=1)
            for k, cell in enumerate(differ[: COUNTED + 1 - len(values)]):
                values[f"noisy count {cell + 1} of measurement {place + 1}"] = noisy[:, k].astype(float)
            self.analysis.progress(f"{self.label}: measuring {where}", place / len(here))
        return values


def replaced(
    public: PublicSide, codes: Any, values: Sequence[Array], row: int
) -> tuple[Any, tuple[Array, ...]]:
    """Codes and values with other ones of every variable in one record: as far away as there are cells.

    What a rule decides stays: a neighbour keeps the rules.
    """
    codes, changed = codes.copy(), []
    for k, (variable, own) in enumerate(zip(public.variables, values, strict=True)):
        decided = FREE if public.decided is None else public.decided[row, k]
        if decided not in (FREE, PRESENT):
            changed.append(own)
            continue
        n_cells = variable.n_values if decided == PRESENT else variable.n
        left = np.ones(variable.n, dtype=bool)
        for limit in public.limits:
            if limit.variable == k:
                left &= limit.inside if limit.holds(codes)[row] else limit.otherwise
        open_cells = np.flatnonzero(left[:n_cells])
        if not open_cells.size:  # rules leave it the number that it has
            changed.append(own)
            continue
        farther = np.searchsorted(open_cells, codes[row, k]) + max(len(open_cells) // 2, 1)
        cell = int(open_cells[farther % len(open_cells)])
        codes[row, k] = cell
        own = own.copy()
        if cell == variable.n_values:
            own[row] = np.nan
        else:
            own[row] = float(np.mean(variable.edges[cell : cell + 2])) if variable.edges else float(cell)
        changed.append(own)
    return codes, tuple(changed)
