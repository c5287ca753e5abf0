"""Does a synthetic data set copy confidential records beyond what chance gives? Two tests.

Own values. Given the predictors, a synthetic value is drawn independently of the record's own
value: among records of (nearly) the same expected value, synthetic values are exchangeable. The
number of records that got their own value back, at the released precision, is compared with
what permuting the synthetic values within blocks of such neighbours gives.

Borrowed values. A confidential value that one record alone has is a fingerprint. A synthesizer
draws from a density that is smooth at the scale of the released precision, so it hits the set of
such values about as often as the same set moved by a few units of that precision. More hits
than that means that values were handed over (a hot deck, a bootstrap, a memorising model).

Both are one-sided Poisson tests at the level `limits.COPY_ALPHA`, shared by the data sets, with
one coincidence granted for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.system import limits

Array = NDArray[np.float64]

BLOCK = 20  # neighbours among which synthetic values are permuted
SHIFTS = np.array([s for s in range(-10, 11) if s], dtype=float)
FULL_PRECISION = 1e-9  # relative: two values closer than this count as one where nothing is rounded


@dataclass(frozen=True)
class CopyTest:
    """Coincidences seen and expected by chance, the worst of all data sets; `p` is that one's."""

    name: str
    seen: int
    expected: float
    p: float
    refused: bool


def precision_of(decimals: int | None, whole: bool) -> float:
    """The step between released values; 0 where nothing is rounded."""
    if whole:
        return 1.0
    return 0.0 if decimals is None else 10.0**-decimals


def _cells(values: Array, step: float) -> Array:
    """Values of one cell are the same value as far as the release shows it."""
    if step > 0:
        return np.round(values / step)
    with np.errstate(divide="ignore"):  # a relative grid: equal cells differ by 1e-9 at most
        exponent = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    grain = 10.0**exponent * FULL_PRECISION
    return np.round(values / grain) * grain


def copy_tests(
    confidential: Array,
    synthetic: Array,
    design: Array,
    step: float,
    edges: tuple[float, ...],
    rng: np.random.Generator,
) -> tuple[CopyTest, CopyTest]:
    """Both tests over all data sets.

    Parameters
    ----------
    confidential : array of shape (n_records,)
        Missing as NaN.
    synthetic : array of shape (n_datasets, n_records)
        As released, record by record (before any shuffling); missing as NaN.
    design : array of shape (n_records, n_columns)
    step : float
        Of the released precision, 0 for none; see `precision_of`.
    edges : tuple of float
        Declared bounds: values that were moved there are no coincidence.
    """
    own, borrowed = [], []
    for each in synthetic:
        there = ~(np.isnan(confidential) | np.isnan(each))
        own.append(_own_values(confidential[there], each[there], design[there], step, edges, rng))
        released, known = each[~np.isnan(each)], confidential[~np.isnan(confidential)]
        borrowed.append(_borrowed_values(known, released, step, edges))
    m = len(synthetic)
    return _worst("own values", own, m), _worst("borrowed values", borrowed, m)


def _worst(name: str, found: list[tuple[int, float]], m: int) -> CopyTest:
    tests = [
        (float(scipy.stats.poisson.sf(seen - 1, expected + 1.0)), seen, expected) for seen, expected in found
    ]
    p, seen, expected = min(tests)
    return CopyTest(name, seen, expected, p, p < limits.COPY_ALPHA / m)


def _own_values(
    confidential: Array,
    synthetic: Array,
    design: Array,
    step: float,
    edges: tuple[float, ...],
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Records with their own value, and how many a permutation within blocks gives on average."""
    target, released = _cells(confidential, step), _cells(synthetic, step)
    usable = ~np.isin(confidential, edges)
    fitted = design @ np.linalg.lstsq(design, synthetic, rcond=None)[0]
    # Records of equal predictors come in random order, so that blocks do not follow the table's.
    order = np.lexsort((rng.random(len(fitted)), fitted))
    target, released, usable = target[order], released[order], usable[order]
    expected = 0.0
    for start in range(0, len(order), BLOCK * 1000):  # every pair within a block, exactly
        rows = slice(start, start + BLOCK * 1000)
        x, y, counted = (_blocks(v[rows]) for v in (target, released, usable))
        pairs = ((x[:, :, None] == y[:, None, :]) & (counted[:, :, None] == 1)).sum(axis=(1, 2))
        expected += float((pairs / np.isfinite(counted).sum(axis=1)).sum())
    return int(((released == target) & usable).sum()), expected


def _blocks(values: NDArray[Any]) -> Array:
    """Rows of `BLOCK` values each, the last filled with NaN, which equals nothing."""
    filled = np.full(-(-len(values) // BLOCK) * BLOCK, np.nan)
    filled[: len(values)] = values
    return filled.reshape(-1, BLOCK)


def _borrowed_values(
    confidential: Array, synthetic: Array, step: float, edges: tuple[float, ...]
) -> tuple[int, float]:
    """Synthetic values that one confidential record alone has, and how many of a moved set."""
    cells, counts = np.unique(_cells(confidential[~np.isin(confidential, edges)], step), return_counts=True)
    alone = cells[counts == 1]
    released = _cells(synthetic[~np.isin(synthetic, edges)], step)
    if step > 0:
        moved = [np.isin(released, alone + shift).sum() for shift in SHIFTS]
    else:
        moved = [np.isin(released, _cells(alone * (1 + shift * 1e-7), step)).sum() for shift in SHIFTS]
    return int(np.isin(released, alone).sum()), float(np.mean(moved))
