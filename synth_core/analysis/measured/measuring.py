"""Noisy tables of counts: which sets of columns are counted, with how much noise, and what that costs.

Withholding one record's values lowers one count of each table by one. Where units have several records, each counts as
one: its records share it, so withholding all of them lowers the counts of a table by one in all. With Gaussian noise of
deviation s a table then costs 1 / (2 s^2) of rho (zCDP), with Laplace noise of scale b it costs 1 / b of epsilon; costs
add up over tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.measured.cells import PublicSide
from synth_core.analysis.measured.fine_bins import fine_bins, fine_table
from synth_core.analysis.measured.log_linear import Columns, NoisyTable
from synth_core.analysis.measured.variable import Array, Codes
from synth_core.analysis.named_tables import most_cells
from synth_core.mechanisms.noise import Noise, laplace_deviation

WITHIN_SHARE = 0.1  # of the budget, for where numbers lie within their brackets
# Of the rest, for tables of one column, of two and of three, as far as there are.
SHARES = {1: 0.1, 2: 0.25, 3: 0.65}
ALL_TRIPLES = 60  # up to so many are counted without a choice
# With more triples the rest is divided otherwise. What these two leave goes to the triples that are chosen, and to the
# first tables of several columns, which are counted again.
FIRST_SHARE = 0.6  # for tables that are counted whatever is found
CHOICE_SHARE = 0.05  # for choosing among triples
CHOSEN = 3  # a triple that is chosen has so many times the part of a table that is counted again
SURE = 1.5  # deviations of its noise that are taken off a distance: else small tables are chosen by chance
RESOLUTION = 100  # of the scores that triples are chosen by: noise is added to integers


@dataclass(frozen=True)
class NoiseBudget:
    """What may be spent: of rho with Gaussian noise, else of epsilon with Laplace noise."""

    gaussian: bool
    total: float

    def deviation(self, share: float, n_tables: int, whole: int = 1) -> float:
        """The standard deviation, in records, of the noise of each of some tables that have this share together."""
        each = share * self.total / max(n_tables, 1)
        return math.sqrt(1 / (2 * each)) if self.gaussian else laplace_deviation(whole / each) / whole

    def noisy(self, counts: Codes, share: float, n_tables: int, noise: Noise, whole: int = 1) -> Array:
        """Counts of one of these tables with its noise, in records.

        Parameters
        ----------
        counts : array of int
            In parts of a record.
        whole : int
            How many parts are one record.
        """
        each = share * self.total / n_tables
        if self.gaussian:
            return noise.gaussian(counts, whole * math.sqrt(1 / (2 * each))) / whole
        return noise.laplace(counts, whole / each) / whole


@dataclass(frozen=True, eq=False)
class FineCounts:
    """Noisy counts of the fine bins of one number.

    Attributes
    ----------
    variable : int
        Which, in the order of variables.
    counts : array of shape (n_bins,)
    deviation : float
    """

    variable: int
    counts: Array
    deviation: float


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that was read of the sensitive values: noisy, and public from then on.

    Attributes
    ----------
    tables : tuple of NoisyTable
    fine : tuple of FineCounts
    spent : float
        Of rho or of epsilon.
    """

    tables: tuple[NoisyTable, ...]
    fine: tuple[FineCounts, ...]
    spent: float


def tables_told(public: PublicSide, measured: Measurements) -> list[NoisyTable]:
    """What is known of tables: those that were counted, and how many records brackets have by their fine counts.

    Not of a number that may be missing: its fine counts do not say how many are. Records whose number rules decide are
    in none, and known.
    """

    def known(k: int) -> Array:
        if public.decided is None:
            return np.zeros(public.variables[k].n)
        there = ~public.undecided(k)
        counted = np.bincount(public.decided[there, k], public.shares[there], public.variables[k].n)
        return counted.astype(np.float64)

    brackets = []
    for fine in measured.fine:
        if not public.variables[fine.variable].missing:
            bins = fine_bins(public.variables[fine.variable])
            counts = bins.sums(fine.counts) + known(fine.variable)
            added = np.bincount(bins.bracket).max()  # noises of the bracket of most bins, taken for all
            columns = (len(public.shape) + fine.variable,)
            brackets.append(NoisyTable(columns, counts[None, :], fine.deviation * math.sqrt(added)))
    return [*measured.tables, *brackets]


ExpectedTables = Callable[[Sequence[NoisyTable], Sequence[Columns]], list[Array]]


def measure(
    public: PublicSide,
    codes: Codes,
    values: tuple[Array, ...],
    budget: NoiseBudget,
    noise: Noise,
    expected: ExpectedTables,
    withheld: Codes | None = None,
) -> Measurements:
    """Count and add noise. Nothing else reads sensitive values.

    Parameters
    ----------
    codes : array of int of shape (n_records, n_variables)
        Confidential.
    values : tuple of arrays of shape (n_records,)
        Confidential.
    expected : callable
        The tables that a model of noisy tables expects: what further tables are chosen by.
    withheld : array of int, optional
        Records, one or those of a unit, whose sensitive values are not counted: those of a neighbouring table.
    """
    there = np.ones(public.n_records, dtype=bool)
    there[[] if withheld is None else withheld] = False
    values = tuple(each[there] for each in values)
    numbers = [k for k, each in enumerate(public.variables) if each.edges]
    fine_share = WITHIN_SHARE if numbers else 0.0
    fine = tuple(
        FineCounts(
            k,
            budget.noisy(  # what rules decide is known, and lies where it does by no law
                fine_table(
                    public.variables[k],
                    values[k],
                    codes[there, k],
                    (public.parts * public.undecided(k))[there],
                ),
                fine_share,
                len(numbers),
                noise,
                public.whole,
            )[0],
            budget.deviation(fine_share, len(numbers), public.whole),
        )
        for k in numbers
    )
    counter = _Counter(public, codes, budget, noise, there)
    left = 1 - fine_share
    first, others = first_and_others(public, budget.gaussian)
    if not others:
        tables = counter.by_size(first, left)
    else:
        tables = counter.by_size(first, FIRST_SHARE * left)
        again = [columns for columns in first if len(columns) > 1] or first
        later = (1 - FIRST_SHARE - CHOICE_SHARE) * left
        chosen = counter.chosen(others, CHOICE_SHARE * left, later, len(again), expected(tables, others))
        part = later * _part(len(chosen), len(again))
        tables += counter.counted(chosen, part)
        tables = together([*tables, *counter.counted(again, later - part)])
    return Measurements(tuple(tables), fine, budget.total)


def first_and_others(public: PublicSide, gaussian: bool) -> tuple[list[Columns], list[Columns]]:
    """The tables that are counted whatever is found, and those among which others are chosen."""
    pairs, triples = candidates(public)
    columns_alone = alone(public, []) if gaussian else alone(public, pairs)
    if public.named:
        named = [*alone(public, public.named), *public.named, *pairs_of_sizes(public)]
        others = [columns for columns in (*pairs, *triples) if columns not in named]
        return named, others if public.choose_more and gaussian else []
    smaller = [*columns_alone, *pairs]
    if not gaussian:
        return smaller, []
    return (smaller, triples) if len(triples) > ALL_TRIPLES else ([*smaller, *triples], [])


def pairs_of_sizes(public: PublicSide) -> list[Columns]:
    """The pairs of the size of a unit: records of large units count less, so how they differ is always counted."""
    if public.of_sizes is None:
        return []
    n_public = len(public.shape)
    pairs = [(public.of_sizes, n_public + k) for k in range(len(public.variables))]
    return [pair for pair in pairs if pair not in public.named]


class _Counter:
    """Counts the records that are there in tables of some columns."""

    def __init__(
        self,
        public: PublicSide,
        codes: Codes,
        budget: NoiseBudget,
        noise: Noise,
        there: NDArray[np.bool_],
    ):
        self.all, self.parts = np.column_stack([public.codes, codes])[there], public.parts[there]
        self.whole = public.whole
        self.shape = (*public.shape, *(each.n for each in public.variables))
        self.n_public, self.budget, self.noise = len(public.shape), budget, noise

    def exact(self, columns: Columns) -> Codes:
        """Counts in parts of a record, of shape (n_public_cells, n_sensitive_cells). Confidential."""
        shape = [self.shape[column] for column in columns]
        cells = np.ravel_multi_index(tuple(self.all[:, list(columns)].T), shape)
        outer = math.prod(self.shape[column] for column in columns if column < self.n_public)
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(counts, cells, self.parts)
        return counts.reshape(outer, -1)

    def counted(self, sets: Sequence[Columns], share: float) -> list[NoisyTable]:
        """Noisy tables that have this share of the budget together."""
        if not sets:
            return []
        deviation = self.budget.deviation(share, len(sets), self.whole)
        return [
            NoisyTable(
                columns,
                self.budget.noisy(self.exact(columns), share, len(sets), self.noise, self.whole),
                deviation,
            )
            for columns in sets
        ]

    def by_size(self, sets: Sequence[Columns], share: float) -> list[NoisyTable]:
        """Noisy tables: those of one column, of two and of three share this part of the budget by `SHARES`."""
        by_size = {size: [each for each in sets if len(each) == size] for size in SHARES}
        weight = sum(SHARES[size] for size, same in by_size.items() if same)
        return [
            table
            for size, same in by_size.items()
            if same
            for table in self.counted(same, share * SHARES[size] / weight)
        ]

    def chosen(
        self, sets: Sequence[Columns], share: float, later: float, beside: int, expected: Sequence[Array]
    ) -> list[Columns]:
        """The sets whose tables are further from what is expected than the noise of counting them would put them.

        The distance, the sum of absolute differences, moves by at most 1 with a record, or with a unit that counts as
        one. Its noise costs the share.

        Parameters
        ----------
        later : float
            The share that chosen tables have together with so many `beside` them.
        """
        each = share * self.budget.total / len(sets)
        moved = RESOLUTION + 1  # rounding may add one
        deviation = moved * math.sqrt(1 / (2 * each))
        exact = np.array(
            [
                np.abs(self.exact(s).ravel() / self.whole - e.ravel()).sum()
                for s, e in zip(sets, expected, strict=True)
            ]
        )
        noisy = self.noise.gaussian(np.rint(RESOLUTION * exact).astype(np.int64), deviation)
        scores = (noisy - SURE * deviation) / RESOLUTION
        sizes = np.array([e.size for e in expected])
        kept: list[Columns] = []
        for place in np.argsort(-scores / np.sqrt(sizes)):
            part, n_kept = later * _part(len(kept) + 1, beside), len(kept) + 1
            noise = mean_noise(self.budget.deviation(part, n_kept), int(sizes[place]))
            if scores[place] <= noise:
                break
            kept.append(sets[place])
        return sorted(kept)


def _part(n_chosen: int, n_others: int) -> float:
    """The part of a share that chosen tables have of it, beside so many others."""
    return CHOSEN * n_chosen / max(CHOSEN * n_chosen + n_others, 1)


def mean_noise(deviation: float, size: int) -> float:
    """The expected sum of absolute values of so many normal numbers."""
    return math.sqrt(2 / math.pi) * deviation * size


def together(tables: Sequence[NoisyTable]) -> list[NoisyTable]:
    """The tables, those that were counted twice as one: the mean by precision, with the deviation that this has."""
    found: dict[Columns, NoisyTable] = {}
    for table in tables:
        before = found.get(table.columns)
        if before is not None:
            mine, theirs = table.deviation**-2, before.deviation**-2
            mean = (mine * table.counts + theirs * before.counts) / (mine + theirs)
            table = replace(table, counts=mean, deviation=(mine + theirs) ** -0.5)
        found[table.columns] = table
    return list(found.values())


def candidates(public: PublicSide) -> tuple[list[Columns], list[Columns]]:
    """Sets of two and of three columns with a sensitive one, whose tables are not far larger than the file.

    The size of a unit is in pairs: that persons of large and of small units
    differ is told by them, and triples of it would cost the others much of their share.
    """
    n_public = len(public.shape)
    shape = (*public.shape, *(each.n for each in public.variables))
    most = most_cells(public.n_records)

    def of(size: int) -> list[Columns]:
        return [
            columns
            for columns in itertools.combinations(range(len(shape)), size)
            if columns[-1] >= n_public
            and math.prod(shape[c] for c in columns) <= most
            and (size < 3 or public.of_sizes not in columns)
        ]

    return of(2), of(3)


def alone(public: PublicSide, sets: Sequence[Columns]) -> list[Columns]:
    """The sensitive columns that are in none of these sets: something has to be counted of each."""
    n_public = len(public.shape)
    columns = range(n_public, n_public + len(public.variables))
    return [(column,) for column in columns if not any(column in each for each in sets)]
