"""A lower bound on epsilon from counted events, with confidence; NumPy and SciPy only.

If a mechanism keeps (epsilon, delta), every event E has Pr(E | D) <= e^epsilon Pr(E | D') + delta. So
epsilon >= log((Pr(E | D) - delta) / Pr(E | D')), and limits of both probabilities give a limit of epsilon
(Ding et al. 2018, doi:10.1145/3243734.3243818; Jagielski, Ullman and Oprea 2020, arXiv:2006.07709).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from synth_core.experiments.proportions import lower_limit, upper_limit

Array = NDArray[np.float64]

THRESHOLDS = 400  # tried on the first half of the runs


@dataclass(frozen=True)
class Event:
    """One statistic on one side of a threshold."""

    statistic: str
    above: bool  # values >= threshold, else <= threshold
    threshold: float

    def count(self, values: Array) -> int:
        """How many of the values, of shape (n_runs,), are in it."""
        inside = values >= self.threshold if self.above else values <= self.threshold
        return int(np.count_nonzero(inside))


@dataclass(frozen=True)
class Finding:
    """What one event shows, counted on runs that did not choose it.

    Attributes
    ----------
    likelier_on_first : bool
        Whether the event was taken as likelier on D than on D'.
    counts, runs : pairs of int
        Of the likelier table first.
    epsilon_lower : float
        At least 0; epsilon is at least this with the confidence asked for.
    """

    event: Event
    likelier_on_first: bool
    counts: tuple[int, int]
    runs: tuple[int, int]
    epsilon_lower: float


def epsilon_lower(
    counts: tuple[Array | int, Array | int], runs: tuple[int, int], error: float, delta: float = 0.0
) -> Array:
    """log((p_lower - delta) / q_upper), at least 0, wrong with probability at most `error`.

    Parameters
    ----------
    counts : of the event on the table where it is likelier, and on its neighbour
    error : shared equally by the two limits
    """
    p = lower_limit(counts[0], runs[0], error / 2) - delta
    q = upper_limit(counts[1], runs[1], error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilon = np.log(np.maximum(p, 0.0)) - np.log(q)
    return np.maximum(epsilon, 0.0)


def detectable(runs: tuple[int, int], error: float, delta: float = 0.0) -> float:
    """The largest lower bound that so many runs can give: an event that always and never happens.

    Examples
    --------
    >>> round(detectable((10_000, 10_000), 0.05), 2)
    7.9
    """
    return float(epsilon_lower((runs[0], 0), runs, error, delta))


def choose(
    statistic: str, first: Array, second: Array, error: float, delta: float, likelier_on_first: bool
) -> Event:
    """The threshold and the side with the largest lower bound on these runs.

    Parameters
    ----------
    first, second : arrays of shape (n_runs,)
        The statistic on D and on D'.
    """
    likelier, other = (first, second) if likelier_on_first else (second, first)
    pooled = np.unique(np.concatenate([first, second]))
    places = np.linspace(0, len(pooled) - 1, min(THRESHOLDS, len(pooled)))
    # Half of the thresholds evenly by rank, half in the tails, where densities differ most.
    tails = np.geomspace(1, len(pooled), min(THRESHOLDS // 4, len(pooled))) - 1
    ranks = np.unique(np.concatenate([places, tails, len(pooled) - 1 - tails]).astype(int))
    at = pooled[ranks]
    p, q = np.sort(likelier), np.sort(other)
    runs = (len(p), len(q))
    best = Event(statistic, True, float(at[0])), -1.0
    for above in (True, False):
        side: Literal["left", "right"] = "left" if above else "right"
        counted = [np.searchsorted(each, at, side=side) for each in (p, q)]
        counts = [len(each) - k if above else k for each, k in zip((p, q), counted, strict=True)]
        bounds = epsilon_lower((counts[0], counts[1]), runs, error, delta)
        i = int(np.argmax(bounds))
        if bounds[i] > best[1]:
            best = Event(statistic, above, float(at[i])), float(bounds[i])
    return best[0]


def measure(
    first: dict[str, Array], second: dict[str, Array], error: float, delta: float = 0.0
) -> list[Finding]:
    """The lower bound of every statistic in both directions, all true with probability 1 - `error`.

    Thresholds are chosen on the first half of the runs and counted on the second, so the search costs
    nothing; statistics and directions share `error` equally (Bonferroni).

    Parameters
    ----------
    first, second : dict
        By statistic, its values of shape (n_runs,) on D and on D', in the order of the runs.
    """
    each = error / (2 * len(first))
    findings = []
    for name, values in first.items():
        halves = [np.array_split(v, 2) for v in (values, second[name])]
        for likelier_on_first in (True, False):
            event = choose(name, halves[0][0], halves[1][0], each, delta, likelier_on_first)
            tested = [halves[0][1], halves[1][1]]
            if not likelier_on_first:
                tested.reverse()
            counts = (event.count(tested[0]), event.count(tested[1]))
            runs = (len(tested[0]), len(tested[1]))
            bound = float(epsilon_lower(counts, runs, each, delta))
            findings.append(Finding(event, likelier_on_first, counts, runs, bound))
    return findings
