"""Identification risk of released values: a second view that rests on an assumed intruder.

The intruder knows a record's predictors and its value up to a relative radius r, and picks
at random among the synthetic records that match (the risk behind the count weights;
Reiter and Mitra 2009). It is no guarantee: another intruder may know more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IdentificationRisk:
    """Match risk of one synthetic data set.

    Attributes
    ----------
    by_record : array of shape (n_records,)
        1 / (number of matches) where the record's own synthetic value matches, else 0; their mean is
        the share of records that a random pick identifies.
    true_match_rate : float
        Share of records with exactly one match, their own.
    false_match_rate : float or None
        Among records with exactly one match, the share where it is another's; None where no record has.
    """

    by_record: Array
    true_match_rate: float
    false_match_rate: float | None


def identification_risk(
    confidential: Array, synthetic: Array, group: NDArray[np.int64], radius: float
) -> IdentificationRisk:
    """Match risk by record and overall.

    Parameters
    ----------
    confidential, synthetic : arrays of shape (n_records,)
    group : array of shape (n_records,)
        Which records share all known predictors.
    radius : float
        r: a synthetic value within r * |x_i| of x_i matches.
    """
    reach = radius * np.abs(confidential)
    ordered = np.sort(_by_group(group, synthetic))
    matches = np.searchsorted(ordered, _by_group(group, confidential + reach), side="right")
    matches -= np.searchsorted(ordered, _by_group(group, confidential - reach), side="left")
    own = (synthetic >= confidential - reach) & (synthetic <= confidential + reach)
    by_record = np.where(own, 1.0 / np.maximum(matches, 1), 0.0)
    unique = matches == 1
    return IdentificationRisk(
        by_record,
        float((unique & own).mean()),
        float((unique & ~own).sum() / unique.sum()) if unique.any() else None,
    )


def _by_group(group: NDArray[np.int64], values: Array) -> NDArray[np.complex128]:
    """Numbers that are in order by group, and by value within one: NumPy compares real parts first."""
    keys = np.empty(len(values), dtype=np.complex128)
    keys.real, keys.imag = group, values
    return keys
