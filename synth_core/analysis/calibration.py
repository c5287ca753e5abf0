"""Calibration: survey weights moved as little as possible so that a file's weighted totals are those that are public.

The calibrated weights are w exp(x'λ), which stay above 0 (raking; Deville and Särndal 1992). They are a function of the
file and of the public totals alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from synth_core.data.survey_weights import effective_records
from synth_core.errors import InputError
from synth_core.system.number_text import declared

Array = NDArray[np.float64]
TOLERANCE, STEPS = 1e-9, 200


@dataclass(frozen=True)
class Margin:
    """What a weighted total is of.

    Attributes
    ----------
    name : str
        What is totalled, in words.
    values : array of shape (n_records,)
        0 and 1 for the records of a category, or numbers.
    total : float
        What is public of it.
    """

    name: str
    values: Array
    total: float


@dataclass(frozen=True)
class Calibrated:
    """Calibrated weights.

    Attributes
    ----------
    weights : array of shape (n_records,)
    least, most : float
        The smallest and the largest factor of a weight.
    effective_before, effective : float
        As how many records of equal weight they tell.
    """

    weights: Array
    least: float
    most: float
    effective_before: float
    effective: float


def calibrated(weights: Array, margins: Sequence[Margin]) -> Calibrated:
    """Weights whose totals are the public ones, by Newton's method on the dual of the least relative entropy.

    Raises
    ------
    InputError
        If no positive weights have these totals, as where they contradict each other.

    Examples
    --------
    >>> young = Margin("young", np.array([1.0, 1.0, 0.0]), 6.0)
    >>> old = Margin("old", np.array([0.0, 0.0, 1.0]), 2.0)
    >>> calibrated(np.ones(3), (young, old)).weights.round(6)
    array([3., 3., 2.])
    """
    for each in margins:
        if not np.any(each.values) and each.total:
            raise InputError(
                f"No record of the file has {each.name}, of which the public total is {declared(each.total)}."
            )
    scale = np.array([np.abs(each.values).max() or 1.0 for each in margins])
    columns = np.column_stack([each.values for each in margins]) / scale
    totals = np.array([each.total for each in margins]) / scale
    reach = max(float(np.abs(totals).max()), 1e-300)
    slopes = np.zeros(len(margins))

    def dual(at: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            value = float((weights * np.exp(columns @ at)).sum() - at @ totals)
        return value if np.isfinite(value) else np.inf

    for _ in range(STEPS):
        now = weights * np.exp(columns @ slopes)
        missing = totals - columns.T @ now
        if np.abs(missing).max() <= TOLERANCE * reach:
            factors = now / weights
            return Calibrated(
                now,
                float(factors.min()),
                float(factors.max()),
                effective_records(weights),
                effective_records(now),
            )
        step = np.linalg.lstsq((columns * now[:, None]).T @ columns, missing)[0]
        length, start = 1.0, dual(slopes)
        rounding = 1e-13 * (now.sum() + np.abs(slopes) @ np.abs(totals))  # near the solution the dual is flat
        while length > 1e-10 and not dual(slopes + length * step) <= start + rounding - 1e-4 * length * (
            step @ missing
        ):
            length /= 2
        if length <= 1e-10:
            break
        slopes = slopes + length * step
    furthest = margins[int(np.argmax(np.abs(missing)))].name
    if linprog(np.zeros(len(weights)), A_eq=columns.T, b_eq=totals, method="highs").status == 0:
        raise InputError(
            "These totals were not reached, though some weights of 0 or more have them: they are at the edge of what "
            f"the file can say. Furthest off is {furthest}."
        )
    raise InputError(
        "No positive weights have all of these totals: they contradict each other, or the file lacks records that "
        f"they need. Furthest off is {furthest}."
    )
