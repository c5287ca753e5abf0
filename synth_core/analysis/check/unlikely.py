"""Pairs and triples of values that many synthetic records have and hardly a confidential one: a child with a degree.

Of c confidential and k synthetic records with a pair of values, c is binomial among the c + k if both tables are
samples of one population. A pair is unlikely if k is far more than that gives, by a test that allows for as many pairs
as were looked at, and its share in the synthetic table is at least `FACTOR` times that in the confidential one. So a
pair that a small confidential table lacks by chance is not one: with a share s, none of n records has it with
probability (1 - s)^n. Where a value by itself is too frequent, by a factor r, its pairs are expected to be so too: they
are held against r times as many. Half of the chance of a false finding is spent on pairs, half on triples.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.check.triples import CountedTriples, count_triples, in_cells, sampled
from synth_core.analysis.records.discretise import Codes, DiscretisedTables

Array = NDArray[np.float64]
FACTOR = 10.0
NOTICEABLE = 0.001  # of the synthetic records: less is hardly met in a table of some thousands
ALPHA = (
    0.01  # the chance that anything at all is called unlikely where both tables are samples of one population
)


@dataclass(frozen=True)
class UnlikelyCombination:
    """Unlikely values of a column among the records that have one value of another.

    Attributes
    ----------
    given, given_value : str
        The other column and its value; of a triple its value and the third column with that of it.
    column : str
    values : tuple of str
        The most frequent in the synthetic table first.
    share, confidential_share : float
        Of the records with `given_value`, in either table.
    of_all : float
        Of all synthetic records.
    count : int
        Of the confidential records.
    expected : float
        As many would be among so many confidential records at the synthetic share.
    """

    given: str
    given_value: str
    column: str
    values: tuple[str, ...]
    share: float
    confidential_share: float
    of_all: float
    count: int
    expected: float


@dataclass(frozen=True)
class Unlikely:
    """What is unlikely in a synthetic table.

    Attributes
    ----------
    share, confidential_share : float
        Of the records with at least one unlikely combination.
    combinations : tuple of UnlikelyCombination
        The most frequent first.
    values : dict
        Of each sensitive column the codes that are unlikely by themselves: no pair of them is counted.
    n_pairs, n_triples : int
        How many pairs and sets of three columns were looked at.
    triples_sampled : bool
        Whether sets of three were counted on some of the records only.
    """

    share: float
    confidential_share: float
    combinations: tuple[UnlikelyCombination, ...]
    values: dict[str, tuple[int, ...]]
    n_pairs: int
    n_triples: int = 0
    triples_sampled: bool = False

    @property
    def stands_out(self) -> bool:
        return self.share >= NOTICEABLE


def is_unlikely(
    confidential: Codes | int,
    synthetic: Codes | int,
    sizes: tuple[int, int],
    n_tests: int,
    excess: Array | float = 1.0,
) -> NDArray[np.bool_]:
    """Which cells have far too many synthetic records.

    Parameters
    ----------
    confidential, synthetic : arrays of the same shape, or numbers
        Counts of records by cell.
    sizes : (int, int)
        Records of either table.
    n_tests : int
        How many cells share half of `ALPHA`.
    excess : array of the same shape, or number
        How often each cell is expected in the synthetic table for one time in the confidential one.
    """
    n, n_synthetic = sizes
    p = scipy.stats.binom.cdf(confidential, confidential + synthetic, n / (n + n_synthetic * excess))
    often = synthetic / n_synthetic >= FACTOR * excess * confidential / n
    return np.asarray((synthetic > 0) & often & (p < ALPHA / 2 / max(n_tests, 1)), dtype=bool)


def unlikely(tables: DiscretisedTables) -> Unlikely:
    """Unlikely values of sensitive columns, and unlikely pairs and triples of them with any columns."""
    sides = tables.confidential, tables.synthetic
    sizes = len(sides[0]), len(sides[1])
    n_columns, n_codes = len(tables.names), tables.n_codes
    alone = {
        j: tuple(np.bincount(side[:, j], minlength=n_codes[j]) for side in sides)
        for j in range(tables.n_public, n_columns)
    }
    pairs = {
        (i, j): tuple(_counts(side, i, j, n_codes) for side in sides)
        for i, j in itertools.combinations(range(n_columns), 2)
        if j >= tables.n_public
    }
    n_tests = sum(int((theirs > 0).sum()) for _, theirs in (*alone.values(), *pairs.values()))
    odd = {j: is_unlikely(mine, theirs, sizes, n_tests) for j, (mine, theirs) in alone.items()}
    excess = {j: _excess(counts, sizes) for j, counts in alone.items()}
    hit = [np.zeros(size, dtype=bool) for size in sizes]
    found: list[UnlikelyCombination] = []
    told: dict[tuple[int, int], NDArray[np.bool_]] = {}
    for (i, j), (mine, theirs) in pairs.items():
        of_first = excess[i][:, None] if i in excess else 1.0
        by_value = _either(odd, (i, j), mine.shape)
        expected = np.maximum(of_first, excess[j][None, :])
        cells = is_unlikely(mine, theirs, sizes, n_tests, expected) & ~by_value
        told[i, j] = cells | by_value
        if cells.any():
            found += _combinations(tables, (i, j), (mine, theirs), cells)
            for mask, side in zip(hit, sides, strict=True):
                mask |= cells[side[:, i], side[:, j]]
    looked_at = sampled(sides[0]), sampled(sides[1])
    n_looked_at = len(looked_at[0]), len(looked_at[1])
    ratios = {pair: _excess(counts, sizes) for pair, counts in pairs.items()}
    triples = count_triples(tables, looked_at, ratios, told)
    n_cells = sum(len(each.codes) for each in triples)
    for each in triples:
        cells = ~each.told & is_unlikely(each.confidential, each.synthetic, n_looked_at, n_cells, each.excess)
        if cells.any():
            found += _triples(tables, looked_at, each, cells)
            for mask, side in zip(hit, sides, strict=True):
                mask |= in_cells(side, each.columns, n_codes, each.codes[cells])
    return Unlikely(
        float(hit[1].mean()),
        float(hit[0].mean()),
        tuple(sorted(found, key=lambda each: -each.of_all)),
        {tables.names[j]: tuple(np.flatnonzero(codes).tolist()) for j, codes in odd.items() if codes.any()},
        len(pairs),
        len(triples),
        n_looked_at != sizes,
    )


def _excess(counts: tuple[Codes, ...], sizes: tuple[int, int]) -> Array:
    """How often each cell is in the synthetic table for one time in the confidential one, at least 1."""
    mine, theirs = counts
    return np.asarray(np.maximum(theirs / sizes[1] / (np.maximum(mine, 1) / sizes[0]), 1.0))


def _either(
    odd: dict[int, NDArray[np.bool_]], pair: tuple[int, int], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """The cells of a pair of which a value is told by itself."""
    told = np.zeros(shape, dtype=bool)
    for axis, column in enumerate(pair):
        if column in odd:
            told |= np.expand_dims(odd[column], 1 - axis)
    return told


def _triples(
    tables: DiscretisedTables,
    looked_at: tuple[Codes, Codes],
    counted: CountedTriples,
    cells: NDArray[np.bool_],
) -> list[UnlikelyCombination]:
    """The unlikely cells of three columns, by the values of the first two."""
    (i, j, k), codes, combinations = counted.columns, counted.codes, []
    mine, n, n_synthetic = looked_at[0], len(looked_at[0]), len(looked_at[1])
    for a, b in dict.fromkeys(map(tuple, codes[cells][:, :2].tolist())):
        given = (codes[:, 0] == a) & (codes[:, 1] == b)
        here = np.flatnonzero(given & cells)
        here = here[np.argsort(-counted.synthetic[here], kind="stable")]
        count, made = int(counted.confidential[here].sum()), int(counted.synthetic[here].sum())
        n_given = int(((mine[:, i] == a) & (mine[:, j] == b)).sum())
        combinations.append(
            UnlikelyCombination(
                tables.names[i],
                f"{tables.labels[i][a]} and {tables.names[j]} {tables.labels[j][b]}",
                tables.names[k],
                tuple(tables.labels[k][code] for code in codes[here, 2]),
                made / int(counted.synthetic[given].sum()),
                count / max(n_given, 1),
                made / n_synthetic,
                count,
                made / n_synthetic * n,
            )
        )
    return combinations


def _counts(side: Codes, i: int, j: int, n_codes: tuple[int, ...]) -> Codes:
    """Records by the codes of two columns."""
    cells = side[:, i] * n_codes[j] + side[:, j]
    return np.bincount(cells, minlength=n_codes[i] * n_codes[j]).reshape(n_codes[i], n_codes[j])


def _combinations(
    tables: DiscretisedTables, pair: tuple[int, int], counts: tuple[Codes, Codes], cells: NDArray[np.bool_]
) -> list[UnlikelyCombination]:
    """The unlikely cells of a pair of columns, by the value of the first."""
    (i, j), (mine, theirs) = pair, counts
    combinations = []
    for code in np.flatnonzero(cells.any(axis=1)):
        here = np.flatnonzero(cells[code])
        here = here[np.argsort(-theirs[code, here], kind="stable")]
        count, n_synthetic = int(mine[code, here].sum()), int(theirs[code, here].sum())
        combinations.append(
            UnlikelyCombination(
                tables.names[i],
                tables.labels[i][code],
                tables.names[j],
                tuple(tables.labels[j][each] for each in here),
                n_synthetic / int(theirs[code].sum()),
                count / max(int(mine[code].sum()), 1),
                n_synthetic / len(tables.synthetic),
                count,
                n_synthetic / len(tables.synthetic) * len(tables.confidential),
            )
        )
    return combinations
