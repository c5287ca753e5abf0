"""Public columns that tell the sensitive variable: exactly, or within which range or among which categories it lies."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Values = NDArray[Any]

ALIKE = 1e-7  # from 1, of a correlation that only rounding keeps from it
NEARLY = 1e-3  # of its variance, which a rounded copy leaves of a number at most
SEEN = 5  # records beside the largest group, fewer of which may be apart from it by chance
FIRST = 1_000  # records that are looked at before all of them


class Tells(Enum):
    """What the value of a public column says of the sensitive value beside it."""

    LITTLE = 0
    RANGE = 1
    EXACTLY = 2


def is_multiple(column: pd.Series, values: Values) -> bool:
    """Whether numbers are those of the sensitive variable, in another unit or counted from another point."""
    there = _both(column, values)
    return _are_numbers(column) and _alike(column[there].to_numpy(dtype=float), values[there])


def tells(column: pd.Series, values: Values, categorical: bool) -> Tells:
    """What a public column tells of the sensitive values, in all records: a copy of them tells all, a grouping a range.

    A copy may be in another unit, on another scale or rounded; or the sensitive value is a function of the column,
    as a band of age is of age. A grouping is the reverse: each of its values has a range of the sensitive ones to
    itself, or some of their categories.

    Parameters
    ----------
    column : Series of shape (n,)
        Numbers or categories.
    values : array of shape (n,)
        Of the sensitive variable. Where either is missing nothing is looked at.
    categorical : bool
        Whether these are codes of categories.
    """
    if len(column) > FIRST and _told(column.iloc[:FIRST], values[:FIRST], categorical, 1) is Tells.LITTLE:
        return Tells.LITTLE
    return _told(column, values, categorical, SEEN)


def _told(column: pd.Series, values: Values, categorical: bool, seen: int) -> Tells:
    there = _both(column, values)
    if not there.any():
        return Tells.LITTLE
    number, column = _are_numbers(column), column[there]
    z = column.to_numpy(dtype=float) if number else pd.factorize(column)[0]
    return (_of_category if categorical else _of_number)(z, values[there], number, seen)


def _both(column: pd.Series, values: Values) -> Values:
    return column.notna().to_numpy() & ~np.isnan(values)


def _are_numbers(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _alike(z: Values, x: Values) -> bool:
    return bool(len(z) and np.ptp(z) > 0 and np.ptp(x) > 0 and 1 - abs(np.corrcoef(z, x)[0, 1]) < ALIKE)


def _of_number(z: Values, x: Values, number: bool, seen: int) -> Tells:
    if number and _alike(z, x):
        return Tells.EXACTLY
    of_z = np.unique(z, return_inverse=True)[1]
    low, high = _ends(of_z, x)
    if not _varied(of_z, seen) or not _varied(np.unique(x, return_inverse=True)[1], seen):
        return Tells.LITTLE
    by_low = np.lexsort((high, low))
    grouped = 2 * len(low) <= len(x) and _apart(low[by_low], high[by_low])
    if not (grouped or (number and (_apart(low, high) or _apart(-high, -low)))):
        return Tells.LITTLE
    means = np.bincount(of_z, x) / np.bincount(of_z)
    return Tells.EXACTLY if np.var(x - means[of_z]) <= NEARLY * np.var(x) else Tells.RANGE


def _of_category(z: Values, x: Values, number: bool, seen: int) -> Tells:
    of_z, of_x = (np.unique(each, return_inverse=True)[1] for each in (z, x))
    if not _varied(of_z, seen) or not _varied(of_x, seen):
        return Tells.LITTLE
    low, high = _ends(of_z, of_x)
    changes = np.count_nonzero(np.diff(low))  # in the order of z, of which each category has one stretch
    if (low == high).all() and (2 * len(low) <= len(x) or (number and changes == of_x.max())):
        return Tells.EXACTLY
    low, high = _ends(of_x, of_z)
    return Tells.RANGE if (low == high).all() and 2 * len(low) <= len(x) else Tells.LITTLE


def _varied(codes: Values, seen: int) -> bool:
    return bool(len(codes) - np.bincount(codes).max() >= seen)


def _ends(groups: Values, values: Values) -> tuple[Values, Values]:
    """The least and the largest value of each group."""
    low, high = np.full((2, groups.max() + 1), np.nan)
    np.fmin.at(low, groups, values)
    np.fmax.at(high, groups, values)
    return low, high


def _apart(low: Values, high: Values) -> bool:
    """Whether each range ends before the next begins, or both are the same one value."""
    same = (low[1:] == high[:-1]) & (low[:-1] == high[:-1]) & (low[1:] == high[1:])
    return bool(((high[:-1] < low[1:]) | same).all())
