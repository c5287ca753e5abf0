"""Accuracy within groups of records that share a predictor's value, or a quarter of its range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.measures import percentile_of
from synth_core.analysis.survey_estimates import weighted_statistics
from synth_core.analysis.utility import Statistic, ecdf_distance, statistics
from synth_core.data.design import Selection
from synth_core.data.survey_weights import Survey
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.system.number_text import declared

Array = NDArray[np.float64]

MAX_GROUPS = 12
MIN_RECORDS = 20  # fewer say more of chance than of a mechanism: put together, or left out if still too few
OTHERS = "all others"
FEW_VALUES = 8  # of a number: each is a group of its own


@dataclass(frozen=True)
class Group:
    """Records that share a value of a predictor: `rows` are indices into the complete rows."""

    name: str
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class GroupAccuracy:
    """One statistic within a group, and the largest difference of its distribution functions.

    `statistic.name` is the group's name.
    """

    n_records: int
    statistic: Statistic
    ecdf_max: float


def groups_of(
    table: Table, selection: Selection, predictor: str, categorical: tuple[str, ...] = ()
) -> list[Group]:
    """Groups of the complete rows by a predictor; predictors are public, so their own quartiles may cut them.

    Parameters
    ----------
    categorical : tuple of str
        Numeric predictors that are read as categories.

    Raises
    ------
    InputError
        If the table has no such column.
    """
    kind = table.column(predictor).kind
    values = table.frame[predictor].reset_index(drop=True)[selection.complete].reset_index(drop=True)
    if kind != "number" or predictor in categorical or values.nunique() <= FEW_VALUES:
        return _by_value(values)
    return _by_quarter(values.to_numpy(dtype=float), predictor)


def in_no_group(sizes: Iterable[int], n_records: int) -> str:
    """How many records are in none, in a sentence; empty where all are in one."""
    left_out = n_records - sum(sizes)
    if not left_out:
        return ""
    are = "1 record is" if left_out == 1 else f"{left_out:,} records are"
    return f"{are} in no group: fewer than {MIN_RECORDS} are alike, or the value is missing."


def _by_value(values: pd.Series) -> list[Group]:
    known = values.notna().to_numpy()
    codes, levels = pd.factorize(values[known], sort=values.map(type).nunique() <= 1)
    rows = np.flatnonzero(known)
    counts = np.bincount(codes, minlength=len(levels))
    kept = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i] >= MIN_RECORDS]
    kept = kept[:MAX_GROUPS] if len(kept) == len(levels) <= MAX_GROUPS else kept[: MAX_GROUPS - 1]
    groups = [Group(_name(levels[i]), rows[codes == i]) for i in sorted(kept)]
    others = rows[~np.isin(codes, kept)]
    return groups + ([Group(OTHERS, others)] if len(others) >= MIN_RECORDS else [])


def _by_quarter(values: Array, predictor: str) -> list[Group]:
    cuts = np.unique(np.nanquantile(values, [0.25, 0.5, 0.75], method="inverted_cdf"))
    part = np.searchsorted(cuts, values)  # up to the first cut, above it up to the second, ...
    part[np.isnan(values)] = -1
    names = [f"{predictor} up to {declared(cuts[0])}"]
    names += [f"above {declared(low)} up to {declared(high)}" for low, high in pairwise(cuts)]
    names.append(f"above {declared(cuts[-1])}")
    groups = [Group(name, np.flatnonzero(part == i)) for i, name in enumerate(names)]
    return [group for group in groups if len(group.rows) >= MIN_RECORDS]


def _name(level: object) -> str:
    return declared(float(level)) if isinstance(level, float | np.floating) else str(level)


def by_group(
    confidential: Array,
    synthetic: Array,
    groups: list[Group],
    measure: str,
    seed: int,
    survey: Survey | None = None,
) -> list[GroupAccuracy]:
    """Accuracy within each group.

    Parameters
    ----------
    confidential : array of shape (n_records,)
    synthetic : array of shape (n_datasets, n_records)
    measure : str
        "mean", "median" or "q" and a percentile.
    seed : int
        Of the intervals.
    survey : Survey, optional
        Of the records: what is compared is then of the population.

    Raises
    ------
    InputError
        If there is no such statistic, or no group of at least `MIN_RECORDS` records.
    """
    if not groups:
        raise InputError(f"No group has {MIN_RECORDS} records.")
    percentile = percentile_of(measure)
    accuracies = []
    for group in groups:
        real, made = confidential[group.rows], synthetic[:, group.rows]
        asked = () if percentile is None else (percentile,)
        if survey is None:
            both, weights = statistics(real, made, asked, seed), None
        else:
            own = survey.within(group.rows)
            both = weighted_statistics((real, own), [(each, own) for each in made], asked)
            weights = own.weights, own.weights
        distances = [ecdf_distance(real, each, weights).ecdf_max for each in made]
        accuracies.append(
            GroupAccuracy(len(group.rows), replace(both[-1], name=group.name), float(np.mean(distances)))
        )
    return accuracies
