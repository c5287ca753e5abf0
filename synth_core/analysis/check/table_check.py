"""What stands out in a synthetic table: how far each variable, each group and each pair of values is off.

An error stands out if it is larger than what an analyst would overlook, and larger than chance gives between two
samples of one population. Records are taken for independent, without survey weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult
from synth_core.analysis.check.unlikely import ALPHA, NOTICEABLE, Unlikely, is_unlikely, unlikely
from synth_core.analysis.fit_verdict import FITS_WITHIN, ROUGHLY_WITHIN
from synth_core.analysis.records.discretise import Codes, DiscretisedTables, code_columns
from synth_core.analysis.utility import distance_of
from synth_core.data.codebook import Codebook
from synth_core.data.outcome import outcome_column

Array = NDArray[np.float64]
SHARES_WITHIN = 0.01  # a smaller difference is told, and is no warning
GROUPS_WITHIN = 2 * ROUGHLY_WITHIN  # largest difference of the distributions within a group
MIN_GROUP = 20  # records in either table
MOST_CODES = 100  # of a column: more are names or numbers of cases, and no groups
MOST_RECORDS = 50_000  # of either table, for groups: their distances are known to a point with less
BELOW, ABOVE = "below the smallest confidential value", "above the largest confidential value"


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive variable in both tables: numbers, or codes of `categories`; missing as NaN.

    `confidential` is of shape (n_records,), `synthetic` of shape (n_datasets, n_records).
    """

    name: str
    confidential: Array
    synthetic: Array
    categories: tuple[str, ...] | None = None

    @property
    def may_be_missing(self) -> bool:
        """Whether some value is missing in either table."""
        return any(bool(np.isnan(side).any()) for side in (self.confidential, self.synthetic))

    @property
    def presence(self) -> SensitiveValues:
        """Whether each value is missing."""
        mine, theirs = (np.isnan(side).astype(float) for side in (self.confidential, self.synthetic))
        return SensitiveValues(f"whether {self.name} is missing", mine, theirs, ("present", "missing"))


@dataclass(frozen=True)
class Share:
    """The share of the records of which something is true, in either table."""

    name: str
    confidential: float
    synthetic: float


@dataclass(frozen=True)
class VariableFit:
    """How close the distribution of a variable is.

    Attributes
    ----------
    name : str
    distance : float
        Largest difference of the distribution functions of the values that are there, or total variation of categories.
    limit : float
        What is overlooked, or what chance gives if that is more.
    shares : tuple of Share
        Those that differ: below zero, zero, missing, beyond all confidential values, of a category.
    means : tuple of float or None
        The confidential and the synthetic mean, where they are further apart than the confidential values are spread:
        a few values far beyond all others do that, and neither the distance nor a share shows it.
    """

    name: str
    distance: float
    limit: float
    shares: tuple[Share, ...]
    means: tuple[float, float] | None = None

    @property
    def stands_out(self) -> bool:
        far = [abs(share.synthetic - share.confidential) >= SHARES_WITHIN for share in self.shares]
        return self.distance > self.limit or any(far) or self.means is not None


@dataclass(frozen=True)
class GroupFit:
    """How close the distribution of a variable, or whether it is missing, is among the records of a group.

    Attributes
    ----------
    name : str
        The variable, or "whether … is missing".
    column, value : str
        Records of the group have one value of another column.
    n_records : int
        Of the confidential ones that were looked at, those with that value.
    distance : float
    """

    name: str
    column: str
    value: str
    n_records: int
    distance: float


@dataclass(frozen=True)
class TableCheck:
    """A synthetic table beside the confidential one. Confidential.

    Attributes
    ----------
    variables : tuple of VariableFit
    groups : tuple of GroupFit
        Those that stand out, the worst first.
    n_groups : int
        How many were compared.
    unlikely : Unlikely
    left_out : tuple of str
        Columns of too many values to be compared by.
    groups_sampled : bool
        Whether groups were compared on `MOST_RECORDS` records at random, since a table has more.
    """

    variables: tuple[VariableFit, ...]
    groups: tuple[GroupFit, ...]
    n_groups: int
    unlikely: Unlikely
    left_out: tuple[str, ...]
    groups_sampled: bool = False


def check_result(analysis: AnyAnalysis[Any], result: AnyResult) -> TableCheck:
    """The check of a mechanism's synthetic tables, before they are rounded."""
    confidential, synthetic = analysis.confidential, analysis.synthetic(result)
    variables = [
        SensitiveValues(name, confidential[name], synthetic[name], s.outcome_categories)
        for name, s in analysis.outcomes.items()
    ]
    table, s = analysis.loaded, analysis.settings
    kept = dict.fromkeys((*s.predictors, *table.public_columns))
    names = [name for name in kept if name not in analysis.outcomes and name != s.weight]
    public = table.frame.loc[analysis.used_rows.complete, names].reset_index(drop=True)
    return check_table(variables, public, table.codebook, s.categorical)


def check_table(
    variables: Sequence[SensitiveValues],
    public: pd.DataFrame,
    codebook: Codebook | None = None,
    categorical: Collection[str] = (),
) -> TableCheck:
    """The check of synthetic tables that share their public columns with the confidential one, row by row.

    Parameters
    ----------
    codebook : Codebook, optional
        Whose labels name the categories.
    categorical : collection of str
        Public columns whose numbers are codes.
    """
    return check_coded(variables, *coded(variables, public, codebook, categorical))


def check_coded(
    variables: Sequence[SensitiveValues], tables: DiscretisedTables, left_out: tuple[str, ...]
) -> TableCheck:
    """The check of tables that are codes already, see `coded`."""
    groups, n_groups = _groups(variables, tables)
    alone = unlikely(tables)
    fits = tuple(_fit(each, alone.values.get(each.name, ()), tables) for each in variables)
    sampled = max(len(tables.confidential), variables[0].synthetic.shape[1]) > MOST_RECORDS
    return TableCheck(fits, groups, n_groups, alone, left_out, sampled)


def coded(
    variables: Sequence[SensitiveValues],
    public: pd.DataFrame,
    codebook: Codebook | None = None,
    categorical: Collection[str] = (),
) -> tuple[DiscretisedTables, tuple[str, ...]]:
    """Both tables as codes, all data sets below each other, and the public columns that have too many values."""
    n_datasets = len(variables[0].synthetic)
    columns: list[tuple[str, Codes, Codes, tuple[str, ...]]] = []
    left_out = []
    for name in public.columns:
        column = public[name]
        if not column.notna().any():
            continue
        of_categories = name in categorical or not pd.api.types.is_numeric_dtype(column)
        if of_categories and column.nunique() > MOST_CODES:
            left_out.append(str(name))
            continue
        mine, _, labels = code_columns(column, column.iloc[:0], None, of_categories)
        columns.append((str(name), mine, np.tile(mine, n_datasets), labels))
    n_public = len(columns)
    for each in variables:
        sides = (each.confidential, each.synthetic.ravel())
        columns.append((each.name, *_codes(*sides, each.categories)))
    sizes = tuple(int(max(mine.max(), theirs.max())) + 1 for _, mine, theirs, _ in columns)
    named = tuple(
        meanings(name, (*known, "missing")[:size], codebook)
        for (name, _, _, known), size in zip(columns, sizes, strict=True)
    )
    return DiscretisedTables(
        tuple(name for name, *_ in columns),
        np.column_stack([mine for _, mine, _, _ in columns]),
        np.column_stack([theirs for _, _, theirs, _ in columns]),
        sizes,
        named,
        n_public,
    ), tuple(left_out)


def _codes(
    mine: Array, theirs: Array, categories: tuple[str, ...] | None
) -> tuple[Codes, Codes, tuple[str, ...]]:
    if categories is None and np.isnan(mine).all():  # whether they are there is all that can be compared
        first, second = (np.where(np.isnan(each), 1, 0).astype(np.int64) for each in (mine, theirs))
        return first, second, ("present",)
    first_column, second_column = (pd.Series(outcome_column(each, categories)) for each in (mine, theirs))
    return code_columns(first_column, second_column, categories)


def meanings(name: str, values: tuple[str, ...], codebook: Codebook | None) -> tuple[str, ...]:
    """Categories with their labels."""
    entry = None if codebook is None else codebook.get(name)
    if entry is None or not entry.labels:
        return values
    meaning = dict(zip(entry.categories, entry.labels, strict=True))
    return tuple(f"{value} ({meaning[value]})" if meaning.get(value) else value for value in values)


def chance(sizes: tuple[int, int], shares: Array | None, alpha: float) -> float:
    """A distance that two samples of one population exceed with probability `alpha` at most, about.

    Of distribution functions Kolmogorov's limit. Of categories the mean of the total variation distance, at most
    sum_j sqrt(v p_j (1 - p_j)) / 2, and by McDiarmid's inequality sqrt(v log(1 / alpha) / 2) beside it, v = 1/n + 1/N.

    Parameters
    ----------
    shares : array, or None
        Of the categories; None for a distribution function.
    """
    variance = sum(1 / max(size, 1) for size in sizes)
    if shares is None:
        return math.sqrt(variance * math.log(2 / alpha) / 2)
    mean = float(np.sqrt(variance * shares * (1 - shares)).sum()) / 2
    return mean + math.sqrt(variance * math.log(1 / alpha) / 2)


def _distance(
    mine: Array, theirs: Array, categories: tuple[str, ...] | None, alpha: float
) -> tuple[float, float]:
    """The distance of two samples without missing values, and what chance gives."""
    shares = None
    if categories is not None:
        pooled = np.concatenate([mine, theirs]).astype(int)
        shares = np.bincount(pooled, minlength=len(categories)) / len(pooled)
    limit = chance((len(mine), len(theirs)), shares, alpha)
    return distance_of(mine, theirs, categories).ecdf_max, limit


def _fit(each: SensitiveValues, odd: tuple[int, ...], tables: DiscretisedTables) -> VariableFit:
    mine = each.confidential[~np.isnan(each.confidential)]
    sets = [values[~np.isnan(values)] for values in each.synthetic]
    found = [_distance(mine, values, each.categories, 0.05) for values in sets if mine.size and values.size]
    distance = float(np.mean([value for value, _ in found])) if found else float(mine.size > 0)
    limit = max(ROUGHLY_WITHIN, *(limit for _, limit in found)) if found else ROUGHLY_WITHIN
    shares: list[tuple[str, Callable[[Array], NDArray[np.bool_]]]] = [("missing", np.isnan)]
    if each.categories is None and mine.size:
        low, high = float(mine.min()), float(mine.max())
        shares += [
            ("below zero", lambda x: x < 0),
            ("zero", lambda x: x == 0),
            (BELOW, lambda x: x < low),
            (ABOVE, lambda x: x > high),
        ]
    told = []
    for name, of in shares:
        counts = [int(of(values).sum()) for values in (each.confidential, each.synthetic)]
        if _differs(counts, (each.confidential.size, each.synthetic.size), len(shares)):
            sizes = each.confidential.size, each.synthetic.size
            told.append(Share(name, counts[0] / sizes[0], counts[1] / sizes[1]))
    place = tables.names.index(each.name)
    if each.categories is not None:
        for code in odd:
            sides = (tables.confidential[:, place] == code, tables.synthetic[:, place] == code)
            label = tables.labels[place][code]  # "missing", or a category, which may be a bare number
            name = f"category {label}" if label in each.categories else label
            told.append(Share(name, *(float(side.mean()) for side in sides)))
    means = _far_means(mine, np.concatenate(sets)) if each.categories is None else None
    return VariableFit(each.name, distance, limit, tuple(dict.fromkeys(told)), means)


def _far_means(mine: Array, theirs: Array) -> tuple[float, float] | None:
    """Both means, where they differ by more than a standard deviation of the confidential values."""
    if not (mine.size and theirs.size):
        return None
    means = float(mine.mean()), float(theirs.mean())
    return means if abs(means[1] - means[0]) > float(mine.std()) > 0 else None


def _differs(counts: Sequence[int], sizes: tuple[int, int], n_tests: int) -> bool:
    """Whether a share differs by so much that it is seen, and by more than chance gives."""
    mine, theirs = (count / size for count, size in zip(counts, sizes, strict=True))
    pooled = sum(counts) / sum(sizes)
    deviation = math.sqrt(pooled * (1 - pooled) * sum(1 / size for size in sizes))
    seen = abs(theirs - mine) > max(FITS_WITHIN, 3 * deviation)
    odd = bool(is_unlikely(counts[0], counts[1], sizes, n_tests))
    return seen or (odd and theirs >= NOTICEABLE)


def _groups(
    variables: Sequence[SensitiveValues], tables: DiscretisedTables
) -> tuple[tuple[GroupFit, ...], int]:
    """Groups of the records of either table by each other column; a distance is the mean over the synthetic tables.

    Of a variable that may be missing the values that are there are compared, and whether they are.
    """
    n, (n_datasets, n_synthetic) = len(tables.confidential), variables[0].synthetic.shape
    rows, rows_synthetic = (
        np.random.default_rng(0).permutation(size)[:MOST_RECORDS] for size in (n, n_synthetic)
    )
    by = [column for column in range(len(tables.names)) if 1 < tables.n_codes[column] <= MOST_CODES]
    compared = [(each.name, each) for each in variables]
    compared += [(each.name, each.presence) for each in variables if each.may_be_missing]
    n_tests = sum(tables.n_codes[column] for column in by) * len(compared)
    found, n_groups = [], 0
    for own_column, each in compared:
        mine, sets = each.confidential[rows], each.synthetic[:, rows_synthetic]
        there = ~np.isnan(mine)
        for column in by:
            if tables.names[column] == own_column:
                continue
            codes = tables.confidential[rows, column]
            codes_synthetic = tables.synthetic[:, column].reshape(n_datasets, -1)[:, rows_synthetic]
            for code in range(tables.n_codes[column]):
                own = mine[(codes == code) & there]
                within = (codes_synthetic == code) & ~np.isnan(sets)
                made = [
                    values[some] for values, some in zip(sets, within, strict=True) if some.sum() >= MIN_GROUP
                ]
                if len(own) < MIN_GROUP or not made:
                    continue
                n_groups += 1
                apart = [_distance(own, values, each.categories, ALPHA / n_tests) for values in made]
                distance, limit = np.mean(apart, axis=0)
                if distance > max(GROUPS_WITHIN, limit):
                    value = tables.labels[column][code]
                    found.append(
                        GroupFit(
                            each.name,
                            tables.names[column],
                            value,
                            int((codes == code).sum()),
                            float(distance),
                        )
                    )
    return tuple(sorted(found, key=lambda group: -group.distance)), n_groups
