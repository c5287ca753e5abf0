"""How local a local guarantee is: the delta of PPM, and a global epsilon from a factor of safety."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

SMALL_TABLE = 1000  # PPM 4.5 asks for a larger factor below it
FACTORS = {True: (1.05, 1.10), False: (1.0, 1.05)}  # by "n is small": the interval that s is taken from


@dataclass(frozen=True)
class Exceedance:
    """How often a local bound lies above a target.

    Attributes
    ----------
    count, replicates : int
    probability : float
        Their ratio: the estimate of delta.
    lower, upper : float
        Clopper-Pearson interval of the probability.
    """

    count: int
    replicates: int
    probability: float
    lower: float
    upper: float


def clopper_pearson(count: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a binomial probability (Clopper and Pearson 1934).

    Examples
    --------
    >>> [round(v, 4) for v in clopper_pearson(0, 100)]
    [0.0, 0.0362]
    """
    tail = (1.0 - level) / 2
    lower = 0.0 if count == 0 else float(stats.beta.ppf(tail, count, trials - count + 1))
    upper = 1.0 if count == trials else float(stats.beta.ppf(1 - tail, count + 1, trials - count))
    return lower, upper


def exceedance(lipschitz_bounds: Array, target: float, level: float = 0.95) -> Exceedance:
    """The probability that a local Delta lies above its target (PPM, Eq. 14 and section 4.3).

    Parameters
    ----------
    lipschitz_bounds : array of shape (R,)
        Delta of each simulated database.
    target : float
        epsilon / 2, or M, in nats.
    """
    # The bound of a clamped term equals its target; a rounding must not count as exceeding.
    count = int((lipschitz_bounds > target * (1 + 1e-9)).sum())
    lower, upper = clopper_pearson(count, len(lipschitz_bounds), level)
    return Exceedance(count, len(lipschitz_bounds), count / len(lipschitz_bounds), lower, upper)


@dataclass(frozen=True)
class Safety:
    """A global epsilon from one local Delta (PPM, section 4.5).

    Attributes
    ----------
    factor : float
        s, the upper end of the papers' interval for this n.
    epsilon : float
        2 * s * (median local Delta): what an agency with a typical database would declare.
    covered : float
        Share of ordered pairs of databases for which 2 * s * Delta of the one is at least
        2 * Delta of the other: how often the declared epsilon holds elsewhere.
    """

    factor: float
    epsilon: float
    covered: float

    @property
    def said(self) -> str:
        """For a table of results; a single database leaves nothing to hold it against."""
        if math.isnan(self.covered):
            return f"{self.epsilon:.2f}; no other database to compare with"
        return f"{self.epsilon:.2f}; holds for {self.covered:.0%} of other databases"


def safety(lipschitz_bounds: Array, rows: int, factor: float | None = None) -> Safety:
    """The factor of safety at work: s in (1, 1.05) for n > 1000, in (1.05, 1.10) below.

    Parameters
    ----------
    lipschitz_bounds : array of shape (R,)
    rows : int
        n of each database.
    factor : float, optional
        s; None takes the upper end of the interval.
    """
    s = FACTORS[rows < SMALL_TABLE][1] if factor is None else factor
    ordered = np.sort(lipschitz_bounds)
    count = len(ordered)
    below = np.searchsorted(ordered, s * ordered, side="right") - 1  # without the database itself
    covered = float(below.sum() / (count * (count - 1))) if count > 1 else float("nan")
    return Safety(s, 2 * s * float(np.median(ordered)), covered)


def contraction(lipschitz_bounds: Array) -> tuple[float, float]:
    """Maximum over databases, and maximum minus minimum: what PPM 4.4 watches as n grows."""
    return float(lipschitz_bounds.max()), float(np.ptp(lipschitz_bounds))
