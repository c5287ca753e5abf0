"""The smallest setting that meets a target, by bracketing a share that is known with error.

Pure: what a setting is and how it is tried belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


Measure = Callable[[float], Trial]


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


class _Search:
    """Trials so far: how many, the closest one, and the largest setting that missed below the one in question."""

    def __init__(self, share: float, rounded: Callable[[float], float]):
        self._share, self._rounded = share, rounded
        self.tried = 0
        self.best: Trial | None = None
        self.below: Trial | None = None

    def meets(self, trial: Trial) -> bool:
        """Count a trial; whether enough of its data sets meet the target.

        On fresh data sets a setting is judged again: what was searched on flatters its own choice.
        """
        self.tried += 1
        if self.best is None or trial.share > self.best.share or trial.at == self.best.at:
            self.best = trial
        return trial.share >= self._share

    def climb(self, grid: Sequence[float], start: int, measured: Measure) -> tuple[Trial, int] | None:
        """The first setting of the grid that meets the target, and the place after it."""
        for i in range(start, len(grid)):
            trial = measured(self._rounded(grid[i]))
            if self.meets(trial):
                return trial, i + 1
            self.below = trial
        return None

    def narrow(self, above: Trial, measured: Measure) -> Trial:
        """Bisect towards the last setting that missed."""
        while self.below is not None and above.at > self.below.at * (1 + TOLERANCE):
            middle = self._rounded((above.at * self.below.at) ** 0.5)
            if not self.below.at < middle < above.at:
                break
            trial = measured(middle)
            if self.meets(trial):
                above = trial
            else:
                self.below = trial
        return above

    def confirm(self, x: float, top: float, confirmed: Measure) -> tuple[Trial | None, float]:
        """The first setting from `x` on that meets the target on fresh data sets, and where that ended."""
        for _ in range(MAX_CONFIRMATIONS):
            trial = confirmed(x)
            if self.meets(trial):
                return trial, x
            self.below = trial
            if x >= top:
                break
            x = min(self._rounded(x * (1 + TOLERANCE)), self._rounded(top))
        return None, x


def smallest(
    grid: Sequence[float], share: float, tried: Measure, confirmed: Measure, rounded: Callable[[float], float]
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
    search, start, trial = _Search(share, rounded), 0, None
    while trial is None and (reached := search.climb(grid, start, tried)) is not None:
        above, following = reached
        above = search.narrow(above, tried)
        trial, x = search.confirm(above.at, grid[min(following, len(grid) - 1)], confirmed)
        start = next((i for i, value in enumerate(grid) if rounded(value) > x), len(grid))
    assert search.best is not None
    return Found(trial, search.below, search.best, search.tried)
