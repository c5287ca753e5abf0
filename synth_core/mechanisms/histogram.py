"""The perturbed histogram (Censor, section 2.3), and its noise from opendp."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.noise import laplace

Array = NDArray[np.float64]
Noise = Callable[[NDArray[np.int64], float], NDArray[np.int64]]  # counts, epsilon -> noisy counts

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


def noisy_bins(counts: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
    """Counts plus integer Laplace noise of scale 2/epsilon, from opendp.

    Replacing a record moves two counts by one each: an L1 sensitivity of 2. opendp draws the
    discrete Laplace distribution from the system's entropy by exact arithmetic, because noise
    made of floating-point numbers can be attacked (Mironov 2012); hence there is no seed.

    Raises
    ------
    RuntimeError
        If opendp's own accounting does not confirm epsilon.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=2.0 / epsilon
    )
    if measurement.map(2) > epsilon * (1 + 1e-9):
        raise RuntimeError(f"opendp accounts for {measurement.map(2)}, not {epsilon}")
    return np.array(measurement([int(c) for c in counts]), dtype=np.int64)


def seeded_counts(seed: tuple[int, ...]) -> Noise:
    """Noise of the same law from NumPy's generator: for simulated tables only, whose study must be repeatable.

    Never for a release: a noise with a known seed protects nothing.
    """
    rng = np.random.default_rng(seed)

    def noise(counts: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
        return counts + laplace(counts.shape, epsilon / 2, rng)

    return noise


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
    noise: Noise = noisy_bins,
) -> Array:
    """Synthetic values from noisy bins: negative counts to 0, multinomial, uniform in the bin.

    Each data set draws noise of its own and costs epsilon.

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
        noisy = np.maximum(noise(counts, epsilon), 0)
        total = noisy.sum()
        shares = noisy / total if total else np.full(len(noisy), 1 / len(noisy))
        bins = np.repeat(np.arange(len(noisy)), rng.multinomial(n, shares))
        values = edges[bins] + rng.random(n) * np.diff(edges)[bins]
        sets.append(rng.permutation(values))
    return np.stack(sets)
