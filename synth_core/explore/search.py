"""The smallest setting that meets a target, by bracketing a share that is known with error.

Pure: what a setting is and how it is tried belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy import stats

TOLERANCE = 0.03  # of the bracket's ratio: neighbouring settings differ by 3 % at the end
MAX_CONFIRMATIONS = 8


@dataclass(frozen=True)
class Trial:
    """One setting tried: `met` of `n` data sets meet the target. `usable` is False where its fit failed."""

    at: float
    epsilon: float
    met: int
    n: int
    usable: bool = True

    @property
    def share(self) -> float:
        return self.met / self.n if self.usable else 0.0


@dataclass(frozen=True)
class Found:
    """`trial` is the smallest setting that meets the target, as confirmed on fresh data sets.

    `below` is the largest setting tried under it, which misses; None where the smallest of the
    grid already meets the target. `best` is the trial that came closest, for when none did.
    """

    trial: Trial | None
    below: Trial | None
    best: Trial
    tried: int


def clopper_pearson(met: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, met out of n (Clopper and Pearson 1934).

    Examples
    --------
    >>> clopper_pearson(0, 10)[0], round(clopper_pearson(0, 10)[1], 4)
    (0.0, 0.3085)
    """
    tail = (1 - confidence) / 2
    lower = 0.0 if met == 0 else float(stats.beta.ppf(tail, met, n - met + 1))
    upper = 1.0 if met == n else float(stats.beta.isf(tail, met + 1, n - met))
    return lower, upper


def smallest(
    grid: Sequence[float],
    share: float,
    tried: Callable[[float], Trial],
    confirmed: Callable[[float], Trial],
    rounded: Callable[[float], float],
) -> Found:
    """The smallest setting at which at least `share` of the data sets meet the target.

    Climbs the grid until a setting meets it, bisects towards the last that missed, and confirms
    the end on fresh data sets (what was searched on flatters its own choice); while these fall
    short, it climbs on. Nothing is assumed of what lies beyond the first setting that meets the
    target; a window narrower than a step of the grid can be missed.

    Parameters
    ----------
    grid : sequence of positive float, ascending
    tried, confirmed : callables
        Measure a setting on the data sets of the search, and on fresh ones.
    rounded : callable
        Settings are rounded to this before they are tried.
    """
    count = 0
    best: Trial | None = None

    def attempt(x: float, how: Callable[[float], Trial]) -> Trial:
        nonlocal count, best
        trial = how(x)
        count += 1
        if best is None or trial.share > best.share:
            best = trial
        return trial

    below: Trial | None = None
    above: Trial | None = None
    start = 0
    while True:
        above = None
        for i in range(start, len(grid)):
            trial = attempt(rounded(grid[i]), tried)
            if trial.share >= share:
                above, start = trial, i + 1
                break
            below = trial
        if above is None:
            break
        while below is not None and above.at > below.at * (1 + TOLERANCE):
            middle = rounded((above.at * below.at) ** 0.5)
            if not below.at < middle < above.at:
                break
            trial = attempt(middle, tried)
            if trial.share >= share:
                above = trial
            else:
                below = trial
        x, top = above.at, grid[start] if start < len(grid) else grid[-1]
        for _ in range(MAX_CONFIRMATIONS):
            trial = attempt(x, confirmed)
            if trial.share >= share:
                assert best is not None
                return Found(trial, below, best, count)
            below = trial
            if x >= top:
                break
            x = min(rounded(x * (1 + TOLERANCE)), rounded(top))
        start = next((i for i, value in enumerate(grid) if rounded(value) > x), len(grid))
    assert best is not None
    return Found(None, below, best, count)
