"""How close a synthetic table is to the confidential one in several columns together: what agencies judge one by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.records.discretise import Codes, DiscretisedTables
from synth_core.analysis.utility import category_shares
from synth_core.models.coordinates import penalised_estimate

Array = NDArray[np.float64]
K = 3  # columns of a marginal (NIST)
MARGINALS = 200  # at most: beyond, as many are drawn
SHARES = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
)  # of samples that a score is compared with
SAMPLES = 5  # of each share
SLOPE_SCALE = 100.0  # of the propensity's slopes: it keeps a column that separates the tables finite


def measure(tables: DiscretisedTables, seed: int) -> Measures:
    """All measures of a pair of tables; `seed` draws marginals and samples where there are too many."""
    sets = marginals(len(tables.names), seed, n_public=tables.n_public)
    score = k_marginal_score(
        tables.confidential, tables.synthetic, tables.n_codes, sets, weights=tables.weights
    )
    pmse, ratio = propensity(tables)
    worst, mean, pair = association_difference(tables)
    return Measures(score, equal_sample(tables, sets, score, seed), pmse, ratio, mean, worst, pair)


def average(measures: Sequence[Measures]) -> Measures:
    """Means over data sets; the worst pair is that of the worst of them."""
    worst = max(measures, key=lambda each: each.worst_association)
    return replace(
        worst,
        k_marginal=float(np.mean([each.k_marginal for each in measures])),
        sample_share=float(np.mean([each.sample_share for each in measures])),
        pmse=float(np.mean([each.pmse for each in measures])),
        pmse_ratio=float(np.mean([each.pmse_ratio for each in measures])),
        association=float(np.mean([each.association for each in measures])),
        impossible=None
        if worst.impossible is None
        else float(np.mean([each.impossible or 0.0 for each in measures])),
    )


def marginals(n_columns: int, seed: int, k: int = K, n_public: int = 0) -> list[tuple[int, ...]]:
    """Sets of k columns with a sensitive one: all of them, or so many drawn at random.

    Parameters
    ----------
    n_public : int
        How many columns are public, the first of them: they are kept, so sets of them alone agree without any merit.

    Examples
    --------
    >>> marginals(4, seed=1, k=2, n_public=3)
    [(0, 3), (1, 3), (2, 3)]
    """
    every = [
        columns
        for columns in itertools.combinations(range(n_columns), min(k, n_columns))
        if columns[-1] >= n_public
    ]
    if len(every) <= MARGINALS:
        return every
    return [every[i] for i in np.random.default_rng([seed, 71]).choice(len(every), MARGINALS, replace=False)]


def k_marginal_score(
    confidential: Codes,
    synthetic: Codes,
    n_codes: tuple[int, ...],
    sets: list[tuple[int, ...]],
    weights: tuple[Array, Array] | None = None,
) -> float:
    """1000 * (1 - the mean over sets of columns of the total variation distance of their tables of shares).

    NIST's score of the Collaborative Research Cycle (SDNist): 1000 for the same shares, 0 for none in common.

    Parameters
    ----------
    weights : pair of arrays of shapes (n_records,) and (n_synthetic,), optional
        How much each record counts in the shares, by default once.

    Examples
    --------
    >>> mine, theirs = np.array([[0], [0], [1], [1]]), np.array([[0], [0], [0], [1]])
    >>> k_marginal_score(mine, theirs, (2,), [(0,)])
    750.0
    """
    both, n = np.concatenate([confidential, synthetic]), len(confidential)
    mine, theirs = weights or (None, None)
    distances = []
    for columns in sets:
        cell = cells_of(both, columns, n_codes)
        distances.append(_distances((cell[:n], mine), [(cell[n:], theirs)])[0])
    return float(1000 * (1 - np.mean(distances)))


def cells_of(codes: Codes, columns: tuple[int, ...], n_codes: tuple[int, ...]) -> Codes:
    """The cell of each row in the table of these columns, by a number below a few times the number of rows."""
    shape = tuple(n_codes[column] for column in columns)
    cells = np.ravel_multi_index(tuple(codes[:, list(columns)].T), shape)
    if math.prod(shape) > 2 * len(cells):
        cells = np.unique(cells, return_inverse=True)[1]
    return cells


def _distances(table: tuple[Codes, Array | None], parts: Sequence[tuple[Codes, Array | None]]) -> list[float]:
    """Total variation between the shares of cells of a table and of each of others, each of cells and weights."""
    size = 1 + max(int(cells.max(initial=0)) for cells, _ in (table, *parts))
    mine, *others = (category_shares(cells, size, own) for cells, own in (table, *parts))
    return [float(0.5 * np.abs(mine - each).sum()) for each in others]


def equal_sample(tables: DiscretisedTables, sets: list[tuple[int, ...]], score: float, seed: int) -> float:
    """The share of the confidential records whose random sample, with the weights of its records, has this score.

    A sample of a share s lacks about a multiple of the root of (1 - s) / s to 1000, so logarithms are interpolated.
    """
    if score >= 1000:
        return 1.0
    rng, n = np.random.default_rng([seed, 72]), len(tables.confidential)
    samples = [
        rng.choice(n, max(1, round(share * n)), replace=False) for share in SHARES for _ in range(SAMPLES)
    ]
    weights = None if tables.weights is None else tables.weights[0]
    of_samples = [None if weights is None else weights[rows] for rows in samples]
    distances = np.zeros(len(samples))
    for columns in sets:  # the cells of a table's samples are cells of the table
        cell = cells_of(tables.confidential, columns, tables.n_codes)
        parts = [(cell[rows], own) for rows, own in zip(samples, of_samples, strict=True)]
        distances += _distances((cell, weights), parts)
    by_share = 1000 * distances.reshape(len(SHARES), SAMPLES).mean(axis=1) / len(sets)
    lacking = np.maximum(by_share, 1e-9)
    log_odds = scipy.special.logit(SHARES)
    tried, at = -np.log(np.minimum.accumulate(lacking)), -np.log(1000 - score)
    log_odds_of_share = float(np.interp(at, tried, log_odds))
    if at < tried[0]:  # below the shares that were tried, in proportion
        log_odds_of_share = log_odds[0] + 2 * (at - tried[0])
    return float(scipy.special.expit(log_odds_of_share))


def propensity(tables: DiscretisedTables) -> tuple[float, float]:
    """pMSE, and its ratio to what it is on average where the sensitive columns are drawn anew given the predictors.

    A logistic regression tells the two tables apart by their codes; with c the share of synthetic rows among N, pMSE
    is the mean of (p - c)^2. To first order it is U' (D' D)^-1 U / N, D the design and U = D' (s - c) with s = 1 for
    synthetic rows. Given the predictors of both tables, their part of U is fixed, and k (1 - c)^2 c / N is expected
    beside it, k the number of coefficients of sensitive columns: exactly where the shares of codes are sums of terms
    of single predictors, else a little less. Where both have the same predictors their part is 0. Another sample
    of the population has twice that at c = 1/2: the confidential table varies too.

    With weights W both are weighted means, U = D' W (s - c), and in the place of k stands the trace of S^-1 B, with
    S = R' W R and B = R' W^2 R of the residuals R of sensitive columns given the public ones.
    """
    both, weight = np.vstack([tables.confidential, tables.synthetic]), np.concatenate(tables.counted)
    synthetic = np.repeat([0.0, 1.0], [len(tables.confidential), len(tables.synthetic)])
    columns, sensitive = [np.ones(len(both))], [False]
    for place, column in enumerate(both.T):
        own = [(column == code).astype(float) for code in np.unique(column)[1:]]
        columns += own
        sensitive += [place >= tables.n_public] * len(own)
    design = np.column_stack(columns)
    pivots = np.abs(np.diag(np.linalg.qr(design, mode="r")))
    there = pivots > 1e-8 * np.sqrt(len(design))
    design, of_sensitive = design[:, there], np.array(sensitive)[there]
    total = weight.sum()
    share = weight @ synthetic / total
    coefficients, _ = penalised_estimate(design, weight, weight * synthetic, "logit", SLOPE_SCALE)
    score = scipy.special.expit(design @ coefficients)
    pmse = float(weight @ (score - share) ** 2 / total)
    public, drawn = design[:, ~of_sensitive], design[:, of_sensitive]
    weighed: Array = public * weight[:, None]
    given = weighed.T @ (synthetic - share)
    fixed = float(given @ np.linalg.solve(weighed.T @ public, given)) / total
    effective = float(drawn.shape[1])
    if tables.weights is not None:
        rest = drawn - public @ np.linalg.solve(weighed.T @ public, weighed.T @ drawn)
        rest *= np.sqrt(weight)[:, None]
        effective = float(np.trace(np.linalg.solve(rest.T @ rest, (rest * weight[:, None]).T @ rest)))
    expected = fixed + effective * (1 - share) ** 2 * share / total
    return pmse, pmse / expected if expected > 0 else float("nan")


def association_difference(tables: DiscretisedTables) -> tuple[float, float, tuple[str, str]]:
    """The largest and the mean absolute difference of Cramér's V over pairs of columns, and the worst pair.

    Of pairs with a sensitive column: public ones are kept, so that pairs of them alone would lower the mean.
    """
    differences = {}
    for i, j in itertools.combinations(range(len(tables.names)), 2):
        if j < tables.n_public:
            continue
        sides = [
            cramers_v(t[:, i], t[:, j], own)
            for t, own in zip((tables.confidential, tables.synthetic), tables.counted, strict=True)
        ]
        differences[tables.names[i], tables.names[j]] = abs(sides[0] - sides[1])
    if not differences:
        return 0.0, 0.0, (tables.names[0], tables.names[0])
    worst = max(differences, key=lambda pair: differences[pair])
    return differences[worst], float(np.mean(list(differences.values()))), worst


def cramers_v(first: Codes, second: Codes, weights: Array | None = None) -> float:
    """Cramér's V of two columns of codes: 0 for independent ones, 1 where one tells the other."""
    shape = int(first.max()) + 1, int(second.max()) + 1
    counted = np.bincount(first * shape[1] + second, weights, shape[0] * shape[1]).reshape(shape)
    counted = counted[counted.any(axis=1)][:, counted.any(axis=0)]
    if min(counted.shape) < 2:
        return 0.0
    table = counted / counted.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (min(table.shape) - 1)))
