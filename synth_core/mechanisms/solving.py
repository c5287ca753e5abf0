"""Root finding for an increasing quantity that is costly and slightly noisy: Delta of a refit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from synth_core.errors import InputError

MAX_REFITS = 14


@dataclass(frozen=True)
class Solution:
    """The setting found; `error` is |value / target - 1| there."""

    at: float
    value: float
    error: float
    refits: int


def solve_increasing(
    evaluate: Callable[[float], float], target: float, start: float, upper: float, tolerance: float
) -> Solution:
    """Find x in (0, upper] with evaluate(x) within a relative tolerance of `target`.

    Starts at `start`, steps in proportion (Delta grows nearly in proportion to the weights),
    then interpolates inside a bracket. With the sampler's seed fixed, `evaluate` is a
    function, though not a smooth one, so the best point is returned when the tolerance is not
    reached within 14 refits.

    Raises
    ------
    InputError
        If the target is 0.
    ValueError
        If even `upper` stays below the target by more than the tolerance.
    """
    if not 0 < target < math.inf:
        raise InputError(
            "Every weight, and with it every bound, is 0 at these settings: there is nothing "
            "to solve for. Raise the scale or the shift."
        )
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    best: Solution | None = None
    x = min(start, upper)
    for refits in range(1, MAX_REFITS + 1):
        value = evaluate(x)
        error = abs(value / target - 1.0)
        if best is None or error < best.error:
            best = Solution(x, value, error, refits)
        if error <= tolerance:
            return Solution(x, value, error, refits)
        if value < target:
            if x >= upper:
                raise ValueError("the target is beyond what the largest setting gives")
            low = (x, value)
        else:
            high = (x, value)
        if low is not None and high is not None and high[0] - low[0] < 0.004 * high[0]:
            low = high = None  # noise put the root outside: start again beside the best point
            x, value = best.at, best.value
        if low is None or high is None:
            ratio = target / value if value > 0 else 4.0
            x = min(upper, x * min(max(ratio, 0.2), 4.0) * (1.02 if value < target else 0.98))
        else:
            share = (target - low[1]) / (high[1] - low[1]) if high[1] > low[1] else 0.5
            share = min(max(share, 0.1), 0.9)  # never stuck at one end
            x = low[0] + share * (high[0] - low[0])
    assert best is not None
    return Solution(best.at, best.value, best.error, MAX_REFITS)
