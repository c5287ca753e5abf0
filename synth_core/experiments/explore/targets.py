"""What inverse tuning is asked for, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from synth_core.analysis.measures import percentile_of
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import PointSummary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits


@dataclass(frozen=True)
class EpsilonTarget:
    """An epsilon that is not to be exceeded, given as a number or as that which a mechanism has as it is set.

    `measure` chooses the best of several settings that reach it.
    """

    epsilon: float | None = None
    measure: str = "ecdf_max"
    like: str | None = None

    def __post_init__(self) -> None:
        percentile_of(self.measure)
        if (self.epsilon is None) == (self.like is None):
            raise InputError("Give the ε to reach, or the mechanism that has it.")
        if self.like is not None:
            find_mechanism(self.like)
        elif self.epsilon is not None and not limits.EPSILON[0] <= self.epsilon <= limits.EPSILON[1]:
            raise InputError(
                f"The ε to reach must lie between {limits.EPSILON[0]:g} and {limits.EPSILON[1]:g} "
                f"(given: {self.epsilon:g})."
            )


def read_spec(spec: dict[str, Any]) -> Target | EpsilonTarget:
    """A target from its plain form, `dataclasses.asdict`."""
    return EpsilonTarget(**spec) if "epsilon" in spec else Target(**spec)


@dataclass(frozen=True)
class TuningAnswer:
    """What one mechanism answers to a target. Confidential.

    Attributes
    ----------
    point : PointSummary or None
        The point found, None when no setting reaches the target.
    share, interval, n : float or None
        Of `n` fresh predictive data sets the share that meets the target, its 95 % interval
        (Clopper-Pearson); None for an epsilon target.
    n_fits : int
        How many fits they are of, each with noise or a pilot of its own; 1 where a release draws none.
    epsilon_seeds : (float, float) or None
        Smallest and largest epsilon of the same settings over sampler seeds; None where epsilon
        is promised, not measured.
    below : (float, float) or None
        Epsilon and share of the largest setting tried that misses the target.
    below_at : float or None
        The value of that setting.
    why : str
        When nothing was found: what came closest.
    shares : dict of str to float
        How epsilon is divided among several variables; empty of one.
    """

    mechanism: str
    point: PointSummary | None
    share: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    epsilon_seeds: tuple[float, float] | None = None
    below: tuple[float, float] | None = None
    below_at: float | None = None
    wanted: float | None = None
    refits: int = 0
    why: str = ""
    shares: dict[str, float] = field(default_factory=dict)
    n_fits: int = 1

    @property
    def reached(self) -> PointSummary:
        """The point, of an answer that has one."""
        assert self.point is not None
        return self.point
