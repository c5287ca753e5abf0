"""The perturbed histogram (Censor, section 2.3)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.noise import OPENDP, Noise
from synth_core.mechanisms.whole_numbers import whole_between

Array = NDArray[np.float64]

MAX_BINS = 100_000


def bin_count(rule: str, n: int) -> int:
    """m of a rule: "log" is ceil(ln n), "sqrt" is ceil(sqrt n), else a number.

    Examples
    --------
    >>> bin_count("log", 2000), bin_count("sqrt", 2000), bin_count("30", 2000)
    (8, 45, 30)
    """
    if rule == "log":
        return max(1, math.ceil(math.log(n)))
    if rule == "sqrt":
        return max(1, math.ceil(math.sqrt(n)))
    try:
        m = int(rule)
    except ValueError:
        m = 0
    if not 1 <= m <= MAX_BINS:
        raise InputError(f"Bins must be log, sqrt or a number from 1 to {MAX_BINS:,} (given: {rule}).")
    return m


def noisy_bins(counts: NDArray[np.int64], epsilon: float, noise: Noise = OPENDP) -> NDArray[np.int64]:
    """Counts plus integer Laplace noise of scale 2/epsilon.

    Replacing a record moves two counts by one each: an L1 sensitivity of 2.
    """
    return noise.laplace(counts, 2.0 / epsilon)


def check_bounds(outcome: Array, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Bounds declared by the analyst, and covering the data."""
    if bounds is None:
        raise InputError(
            "The histogram needs declared bounds of the sensitive variable: taken from "
            "the data they would void its guarantee."
        )
    lower, upper = bounds
    outside = int(((outcome < lower) | (outcome > upper)).sum())
    if outside:
        raise InputError(
            f"The declared bounds {lower:g} and {upper:g} cut off {outside:,} of "
            f"{len(outcome):,} records; declare wider bounds."
        )
    return bounds


def synthesize(
    outcome: Array,
    bounds: tuple[float, float] | None,
    epsilon: float,
    rule: str,
    datasets: int,
    rng: np.random.Generator,
    noise: Noise = OPENDP,
    discrete: bool = False,
) -> Array:
    """Synthetic values from noisy bins: negative counts to 0, multinomial, uniform in the bin.

    Each data set draws noise of its own and costs epsilon.

    Parameters
    ----------
    discrete : bool
        Whether values are whole numbers, those of a bin equally likely.

    Returns
    -------
    array of shape (datasets, n_records)
    """
    lower, upper = check_bounds(outcome, bounds)
    n = len(outcome)
    edges = np.linspace(lower, upper, bin_count(rule, n) + 1)
    counts = np.histogram(outcome, edges)[0]
    sets = []
    for _ in range(datasets):
        noisy = np.maximum(noisy_bins(counts, epsilon, noise), 0)
        total = noisy.sum()
        shares = noisy / total if total else np.full(len(noisy), 1 / len(noisy))
        bins = np.repeat(np.arange(len(noisy)), rng.multinomial(n, shares))
        low, high, part = edges[bins], edges[bins + 1], rng.random(n)
        beyond = np.nextafter(high, np.where(high == upper, np.inf, high))  # the last bin has its upper end
        values = whole_between(low, beyond, part) if discrete else low + part * (high - low)
        sets.append(rng.permutation(values))
    return np.stack(sets)
