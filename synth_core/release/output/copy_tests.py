"""Does a synthetic data set copy confidential records beyond what chance gives? Two tests.

Own values. Given the predictors, a synthetic value is drawn independently of the record's own value. The
number of records that got their own value back, at the released precision, is compared with what chance gives.
Where few values are released, categories or small counts, that is a sum of chances by multinomial logits of the
predictors and of pairs of them, of own and of synthetic values: one of the two has to be right. Of many values, what
synthetic ones have beyond their expected value is exchangeable among records of nearly the same one whose two values
lie in one class of amounts, and is permuted among them.

Borrowed values. A confidential value that one record alone has is a fingerprint. A synthesizer
draws from a density that is smooth at the scale of the released precision, so it hits the set of
such values about as often as the same set moved by a few units of that precision, to where values do not heap. More
hits than that means that values were handed over (a hot deck, a bootstrap, a memorising model).

Both are one-sided Poisson tests at the level `limits.COPY_ALPHA`, shared by the data sets, with one coincidence
granted for nothing: a sum of independent chances has no heavier tail than a Poisson variable. What blocks tell of
chance errs itself: two standard errors of it are granted too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.balanced_drawing import binned
from synth_core.models.records import distinct_columns
from synth_core.system import limits

Array = NDArray[np.float64]

BLOCK = 8  # neighbours among which synthetic values are permuted: of more, expected values differ
FEW_CELLS, CLASSES = 30, 8  # distinct values that have a chance each; classes of amounts where there are more
STEPS = 128  # of a predictor, ages one by one: no curve of low degree follows a school grade by age
PARAMETERS = 2_000  # of steps over all predictors and cells: fewer steps where there are more of these
PAIRED, PAIRS = 4, 250  # steps of a predictor that are paired with those of others; pairs, the most even ones
FOLDS = 5  # chances are those that the other folds tell
RIDGE = 0.1  # a larger one shrinks both chances of a record alike, and what it takes from them is no chance
MOST_RECORDS = 20_000  # chosen at random, of rounded values: enough to find one in twenty handed over
SHIFTS = np.array([s for s in range(-10, 11) if s], dtype=float)
HEAP = 5  # times as many values as around it, and as many more, make a cell a heap
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
    """The step between released values; 0 where nothing is rounded.

    Examples
    --------
    >>> precision_of(2, False), precision_of(None, True), precision_of(-1, True), precision_of(None, False)
    (0.01, 1.0, 10.0, 0.0)
    """
    step = 0.0 if decimals is None else 10.0**-decimals
    return max(step, 1.0) if whole else step


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


def _worst(name: str, found: list[tuple[int, float, float]], m: int) -> CopyTest:
    """The smallest p of coincidences seen, expected, and granted."""
    tests = [
        (float(scipy.stats.poisson.sf(seen - 1, expected + granted)), seen, expected)
        for seen, expected, granted in found
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
) -> tuple[int, float, float]:
    """Records with their own value, how many there are on average if predictors alone tell it, and what is granted."""
    if not len(synthetic):  # no record has both
        return 0, 0.0, 1.0
    some = rng.permutation(len(synthetic))[:MOST_RECORDS] if step > 0 else slice(None)
    confidential, synthetic, design = confidential[some], synthetic[some], design[some]
    target, released = _cells(confidential, step), _cells(synthetic, step)
    usable = ~np.isin(confidential, edges)
    kinds = np.unique(np.concatenate([target, released]))
    if len(kinds) <= FEW_CELLS:
        own, synthetic_cell = np.searchsorted(kinds, target), np.searchsorted(kinds, released)
        chances = _expected_of_few(own, synthetic_cell, design, len(kinds), rng)
        return int(((released == target) & usable).sum()), float(chances[usable].sum()), 1.0
    if step > 0:  # the value of many, such as zero, is no copy; and predictors move no heap by steps
        heaps = [_heaps(*np.unique(cells, return_counts=True)) for cells in (target, released)]
        usable &= ~np.isin(target, np.concatenate(heaps))
    # Among neighbours of one class, own and synthetic value: what predictors say beyond it is little.
    bounds = np.unique(np.quantile(target, np.arange(1, CLASSES) / CLASSES))
    class_of = np.searchsorted(bounds, target)
    comparable = (class_of == np.searchsorted(bounds, released)) & usable
    for place in range(CLASSES):  # in a class of one cell, such as zeros, all coincide
        comparable &= (class_of != place) | (len(np.unique(target[class_of == place])) > 1)
    ranks = scipy.stats.rankdata(synthetic)  # amounts follow predictors by a curve that is not asked for
    index = design @ np.linalg.lstsq(design, ranks, rcond=None)[0]
    # Records of equal predictors come in random order, so that blocks do not follow the table's.
    order = np.lexsort((rng.random(len(index)), index, class_of))
    order = order[comparable[order]]
    target, released, index, class_of = target[order], released[order], index[order], class_of[order]
    fitted = np.zeros(len(order))
    for place in np.unique(class_of) if step > 0 else ():  # on a relative grid nothing coincides by chance
        here = class_of == place
        apart = index[here] - index[here].mean()
        if apart.any():
            fitted[here] = apart * (apart @ released[here]) / (apart @ apart)
    expected = 0.0
    for start in range(0, len(order), BLOCK * 1000):  # every pair within a block, exactly
        rows = slice(start, start + BLOCK * 1000)
        x, y, f = _blocks(target[rows]), _blocks(released[rows]), _blocks(fitted[rows])
        same = x[:, :, None] == y[:, None, :] + np.round(f[:, :, None] - f[:, None, :])
        others = same.sum(axis=(1, 2)) - (x == y).sum(axis=1)  # a value's own record tells nothing of chance
        expected += float((others / np.maximum(np.isfinite(x).sum(axis=1) - 1, 1)).sum())
    return int((released == target).sum()), expected, 1.0 + 2 * math.sqrt(2 * expected / BLOCK)


def _expected_of_few(
    own: NDArray[np.intp],
    synthetic: NDArray[np.intp],
    design: Array,
    n_cells: int,
    rng: np.random.Generator,
) -> Array:
    """The chance of each record that both values are of one cell, given the predictors.

    Of the chances a and b of the cells, and what stands there, s and y: y a + s b - a b, which is right on average if
    either is, and off by the product of both errors else. The chances of a record are fitted to the others: fitted to
    it too, they would take copies for what predictors say.
    """
    regressors = _regressors(design, PARAMETERS // n_cells)
    record = np.arange(len(own))
    fold = rng.permutation(len(own)) % FOLDS
    a, b = np.empty((2, len(own), n_cells))
    for left_out in range(FOLDS):
        there = fold != left_out
        for chances, codes in ((a, synthetic), (b, own)):
            chances[~there] = _chances(regressors[there], codes[there], n_cells, regressors[~there])
    return np.asarray(a[record, own] + b[record, synthetic] - (a * b).sum(axis=1))


def _regressors(design: Array, most: int) -> Array:
    """Columns of the design, standardised, steps of those of more than two values (values or quantiles), and pairs.

    Pairs are products of coarser steps of two columns: where columns act together, no sum of theirs tells.
    """
    some = design[:, np.ptp(design, axis=0) > 0]
    parts = [np.ones((len(design), 1)), (some - some.mean(axis=0)) / some.std(axis=0)]
    numbers = [column for column in some.T if len(np.unique(column)) > 2]
    for column in numbers:
        step = binned(column, min(STEPS, max(most // len(numbers), 3)))
        parts.append((step[:, None] == np.arange(step.max() + 1)).astype(float))
    return np.hstack([*parts, _pairs(some, min(most, PAIRS))])


def _pairs(columns: Array, most: int) -> Array:
    """Products of the steps of two columns, of at most so many pairs: those that tell records apart most evenly."""
    parts = [np.empty((len(columns), 0))]
    for step in (binned(column, PAIRED) for column in columns.T):
        parts.append((step[:, None] == np.arange(1, step.max() + 1)).astype(float))
    steps = np.hstack(parts)
    both = np.triu(steps.T @ steps, k=1)
    evenness = np.minimum(both, len(columns) - both)
    first, second = np.unravel_index(np.argsort(-evenness, axis=None, kind="stable")[:most], both.shape)
    told = evenness[first, second] > 0
    return steps[:, first[told]] * steps[:, second[told]]


def _chances(regressors: Array, codes: NDArray[np.intp], n_cells: int, others: Array) -> Array:
    """Chances of the cells of other records by a multinomial logit with a slight ridge; of shape (n, n_cells)."""
    first, row_of = distinct_columns(regressors.T)
    rows, k = regressors[first], regressors.shape[1]
    counts = np.bincount(row_of * n_cells + codes, minlength=len(rows) * n_cells).reshape(-1, n_cells)

    def loss(flat: Array) -> tuple[float, Array]:
        logs = scipy.special.log_softmax(rows @ flat.reshape(k, n_cells), axis=1)
        slope = rows.T @ (counts.sum(axis=1, keepdims=True) * np.exp(logs) - counts)
        return 0.5 * RIDGE * flat @ flat - (counts * logs).sum(), slope.ravel() + RIDGE * flat

    found = scipy.optimize.minimize(
        loss, np.zeros(k * n_cells), jac=True, method="L-BFGS-B", options={"maxiter": 100}
    )
    return np.asarray(scipy.special.softmax(others @ found.x.reshape(k, n_cells), axis=1))


def _blocks(values: NDArray[Any]) -> Array:
    """Rows of `BLOCK` values each, the last filled with NaN, which equals nothing."""
    filled = np.full(-(-len(values) // BLOCK) * BLOCK, np.nan)
    filled[: len(values)] = values
    return filled.reshape(-1, BLOCK)


def _borrowed_values(
    confidential: Array, synthetic: Array, step: float, edges: tuple[float, ...]
) -> tuple[int, float, float]:
    """Synthetic values that one confidential record alone has, and how many of that set moved to where none heap."""
    cells, counts = np.unique(_cells(confidential[~np.isin(confidential, edges)], step), return_counts=True)
    alone = cells[counts == 1]
    released = _cells(synthetic[~np.isin(synthetic, edges)], step)
    places, hits = np.unique(released, return_counts=True)
    heaps = _heaps(cells, counts)
    found, smooth = np.zeros((2, len(alone)))
    for shift in SHIFTS:
        moved = alone + shift if step > 0 else _cells(alone * (1 + shift * 1e-7), step)
        told = ~np.isin(moved, heaps) if step > 0 else np.ones(len(alone), dtype=bool)
        place = np.minimum(np.searchsorted(places, moved), len(places) - 1)
        found += np.where(told & (places[place] == moved), hits[place], 0) if len(places) else 0
        smooth += told
    chances = found / np.maximum(smooth, 1)
    return int(np.isin(released, alone).sum()), float(chances.sum()), 1.0


def _heaps(cells: Array, counts: NDArray[np.int64]) -> Array:
    """Cells that many more records share than those around them, such as zero or round amounts."""
    total = np.concatenate([[0], np.cumsum(counts)])
    reach = np.abs(SHIFTS).max()
    first, last = np.searchsorted(cells, cells - reach), np.searchsorted(cells, cells + reach, side="right")
    around = (total[last] - total[first] - counts) / len(SHIFTS)
    return cells[counts > HEAP * (1 + around)]
