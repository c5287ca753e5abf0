"""How local a local guarantee is: the delta of PPM, and a global epsilon from a factor of safety."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.experiments.proportions import clopper_pearson
from synth_core.mechanisms.guarantees import safety_factor
from synth_core.system.number_text import percent

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exceedance:
    """How often a local bound lies above a target.

    Attributes
    ----------
    count, replicates : int
    probability : float
        Their ratio: the estimate of delta.
    lower, upper : float
        95 % Clopper-Pearson interval of the probability.
    """

    count: int
    replicates: int
    probability: float
    lower: float
    upper: float

    def said(self, digits: int = 3) -> str:
        """For a table of results."""
        return f"{self.probability:.{digits}f}, 95 % from {self.lower:.3f} to {self.upper:.3f}"


def exceedance(lipschitz_bounds: Array, target: float) -> Exceedance:
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
    lower, upper = clopper_pearson(count, len(lipschitz_bounds))
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
        return f"{self.epsilon:.2f}; holds for {percent(self.covered, 0)} of other databases"


def safety(lipschitz_bounds: Array, rows: int) -> Safety:
    """The factor of safety at work.

    Parameters
    ----------
    lipschitz_bounds : array of shape (R,)
    rows : int
        n of each database.
    """
    s = safety_factor(rows)
    ordered = np.sort(lipschitz_bounds)
    count = len(ordered)
    below = np.searchsorted(ordered, s * ordered, side="right") - 1  # without the database itself
    covered = float(below.sum() / (count * (count - 1))) if count > 1 else float("nan")
    return Safety(s, 2 * s * float(np.median(ordered)), covered)


def contraction(lipschitz_bounds: Array) -> tuple[float, float]:
    """Maximum over databases, and maximum minus minimum: what PPM 4.4 watches as n grows."""
    return float(lipschitz_bounds.max()), float(np.ptp(lipschitz_bounds))
