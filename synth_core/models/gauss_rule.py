"""Few rows in place of many in a sum over a logistic regression's rows: Gauss rules of the rows themselves.

Rows of one cell differ in one column only, so that their logits are a line in that column. A Gauss rule of q nodes
gives the weighted sum over the rows of every polynomial of degree 2 q - 1, and its weights are not negative (Golub and
Welsch 1969). log(1 + exp(logit)) is analytic up to distance pi from the real line, so the error of the rule falls
geometrically with q (Trefethen 2019, theorem 19.3), and q is chosen so that it is below rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]

STRIP = 0.9 * np.pi  # log(1 + exp(z)) has its nearest singularities at a distance of pi from the real line
ROUNDING = 1e-16


def nodes_needed(reach: Array) -> Index:
    """How many nodes sum log(1 + exp(logit)) to rounding, where logits are within `reach` of their middle."""
    t = STRIP / np.maximum(reach, 1e-12)
    log_rho = np.arcsinh(t)  # of the largest Bernstein ellipse in the strip
    return np.ceil((-np.log(ROUNDING) / log_rho + 1) / 2).astype(np.int64)


def quadrature_rows(cell: Index, x: Array, weight: Array, slope: float) -> tuple[Index, Array, Array]:
    """Cells, places and weights of as few rows that give the same sums of log(1 + exp(a_cell + b * x)).

    Parameters
    ----------
    cell, x, weight : arrays of shape (n_rows,)
        Weights are not negative.
    slope : float
        The largest |b| at which the sums are the same to rounding; beyond it they differ gradually.

    Returns
    -------
    arrays of shape (n_nodes,), in the order of the cells; rows without a weight are left out
    """
    order = np.flatnonzero(weight)
    order = order[np.lexsort((x[order], cell[order]))]
    cell, x, weight = cell[order], x[order], weight[order]
    if not len(cell):
        return cell, x, weight
    start = np.flatnonzero(np.r_[True, np.diff(cell) != 0])
    size = np.diff(np.r_[start, len(cell)])
    low, high = x[start], x[start + size - 1]
    needed = nodes_needed(slope * (high - low) / 2)
    kept = np.repeat(needed >= size, size)
    parts = [(cell[kept], x[kept], weight[kept])]
    for q in np.unique(needed[needed < size]):
        some = (needed == q) & (needed < size)
        rows = np.repeat(some, size)
        middle, half = (low[some] + high[some]) / 2, np.maximum((high[some] - low[some]) / 2, 1e-300)
        of = np.repeat(np.arange(some.sum()), size[some])
        place, share, total = _rules((x[rows] - middle[of]) / half[of], weight[rows], size[some], int(q))
        nodes = middle[:, None] + half[:, None] * place
        parts.append((np.repeat(cell[start[some]], q), nodes.ravel(), (total[:, None] * share).ravel()))
    cell, x, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(cell, kind="stable")
    return cell[order], x[order], weight[order]


def _rules(x: Array, weight: Array, size: Index, q: int) -> tuple[Array, Array, Array]:
    """Gauss rules of q nodes of groups of rows, one after another: places and shares (n_groups, q), and total weights.

    The matrix of each group's orthogonal polynomials by Lanczos' method, made orthogonal again at every step.
    """
    start = np.r_[0, np.cumsum(size)[:-1]]

    def sums(values: Array) -> Array:
        return np.add.reduceat(values, start)

    total = sums(weight)
    share = weight / np.repeat(total, size)
    matrix = np.zeros((len(size), q, q))
    polynomials = [np.ones(len(x))]
    for j in range(q):
        last = polynomials[-1]
        following = x * last
        matrix[:, j, j] = sums(share * following * last)
        if j == q - 1:
            break
        for _ in range(2):
            for each in polynomials:
                following = following - each * np.repeat(sums(share * following * each), size)
        norm = np.maximum(np.sqrt(sums(share * following**2)), 1e-300)  # 0: fewer places than nodes
        matrix[:, j, j + 1] = matrix[:, j + 1, j] = norm
        polynomials.append(following / np.repeat(norm, size))
    places, vectors = np.linalg.eigh(matrix)
    return places, vectors[:, 0, :] ** 2, total
