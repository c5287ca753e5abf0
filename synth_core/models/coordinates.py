"""Whitened coordinates: beta = center + basis * u.

They only choose where a sampler starts to measure from; the posterior does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]

MEANS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "log": (lambda eta: np.exp(np.clip(eta, -30, 30)), lambda mean: mean),
    "logit": (lambda eta: scipy.special.expit(eta), lambda mean: mean * (1 - mean)),
}  # mean of a linear predictor, and its derivative (canonical links)


def row_sums(row_of: NDArray[np.int64], values: Array, n_rows: int) -> Array:
    """Sums of the values by distinct row of the design, of shape (n_rows,).

    Parameters
    ----------
    row_of, values : arrays of shape (n_records,)
    """
    return np.bincount(row_of, values, n_rows)  # type: ignore[return-value]  # typed as if it counted only


def penalised_estimate(
    rows: Array, total: Array, mass: Array, link: str, slope_scale: float
) -> tuple[Array, Array]:
    """Penalised estimate of a canonical generalised linear model, by Newton's method.

    Parameters
    ----------
    rows : array of shape (n_rows, k)
        Distinct rows of the design, the intercept first.
    total, mass : arrays of shape (n_rows,)
        Sums over a row's records of the weights, and of weight * x.

    Returns
    -------
    beta of shape (k,), and the variance function at its means, of shape (n_rows,)
    """
    mean_of, slope_of = MEANS[link]
    k = rows.shape[1]
    penalty = _penalty(k, slope_scale)
    beta = np.zeros(k)
    average = (mass.sum() + 1e-3) / (total.sum() + 2e-3)
    beta[0] = np.log(average) if link == "log" else scipy.special.logit(np.clip(average, 1e-6, 1 - 1e-6))
    for _ in range(25):
        mean = mean_of(rows @ beta)
        gradient = rows.T @ (mass - total * mean) - penalty @ (beta * np.r_[0.0, np.ones(k - 1)])
        precision = (rows * (total * slope_of(mean))[:, None]).T @ rows + penalty
        step = solve_penalised(precision, gradient)
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return beta, slope_of(mean_of(rows @ beta))


def solve_penalised(precision: Array, gradient: Array) -> Array:
    """Newton's step, of shape (k,); the shortest one where rounding leaves no inverse (few records, a tiny penalty)."""
    if len(gradient) == 1 and precision[0, 0] > 0:
        return np.asarray(gradient / precision[0, 0])
    # SciPy's own solve takes ten times as long for a few coefficients, and a climb makes thousands of steps.
    _, step, failed = scipy.linalg.lapack.dposv(precision, gradient)
    return scipy.linalg.lstsq(precision, gradient)[0] if failed else step


def whitening(rows: Array, information: Array, slope_scale: float) -> Array:
    """Lower-triangular factor of the covariance of beta, given the information of each row."""
    return covariance_factor((rows * information[:, None]).T @ rows + _penalty(rows.shape[1], slope_scale))


def covariance_factor(precision: Array) -> Array:
    """Lower-triangular factor of the inverse of a precision matrix, of shape (k, k)."""
    try:
        covariance = scipy.linalg.inv(precision)
        return scipy.linalg.cholesky((covariance + covariance.T) / 2, lower=True)
    except (
        scipy.linalg.LinAlgError
    ):  # singular but for rounding: what is nearly not determined is given a long axis
        values, vectors = scipy.linalg.eigh(precision)
        root = vectors * np.maximum(values, 1e-12 * values.max()) ** -0.5
        upper = scipy.linalg.qr(root.T, mode="r")[0]
        return (upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]).T


def ascend(
    at: Array, scored: Callable[[Array], tuple[float, Array, Array]], longest: float = np.inf
) -> tuple[Array, Array]:
    """The largest value by Newton's method, with shorter steps where a whole one is no ascent, and the factor there.

    Parameters
    ----------
    at : array of shape (n,)
        Where the search begins.
    scored : callable
        Given a point: the log density, its gradient, and the precision, of shape (n, n): minus the second derivative,
        or what is expected of it.
    longest : float
        Of a step, in any coordinate.

    Returns
    -------
    the point, and the lower-triangular factor of the inverse of its precision
    """
    value, gradient, precision = scored(at)
    for _ in range(100):
        step = solve_penalised(precision, gradient)
        step *= min(1.0, longest / max(float(np.abs(step).max()), 1e-300))
        for _ in range(30):
            tried = scored(at + step)
            if tried[0] >= value - 1e-9 * abs(value):
                break
            step /= 2
        gained = float(gradient @ step)
        at, (value, gradient, precision) = at + step, tried
        if gained < 1e-8:
            break
    return at, covariance_factor(precision)


def category_contrasts(n_categories: int) -> Array:
    """Orthonormal columns that each sum to 0, of shape (n_categories, n_categories - 1) (Helmert)."""
    contrasts = np.zeros((n_categories, n_categories - 1))
    for j in range(1, n_categories):
        contrasts[:j, j - 1], contrasts[j, j - 1] = 1.0, -j
        contrasts[: j + 1, j - 1] /= np.sqrt(j * (j + 1))
    return contrasts


def penalised_shares(rows: Array, counts: Array, scale: Array) -> tuple[Array, Array]:
    """Penalised estimate of a multinomial logit regression by Newton's method, and a factor of its covariance.

    Parameters
    ----------
    rows : array of shape (n_rows, k)
    counts : array of shape (n_rows, n_categories)
        Sums of the weights over a row's records of a category.
    scale : array of shape (k,)
        Standard deviation of the normal prior of each coefficient.

    Returns
    -------
    gamma of shape (k * (n_categories - 1),), column by column, in the coordinates of `category_contrasts`, and the
    lower-triangular factor
    """
    k, free = rows.shape[1], counts.shape[1] - 1
    contrasts, total = category_contrasts(free + 1), counts.sum(axis=1)
    penalty = np.tile(scale**-2.0, free)

    def scored(gamma: Array) -> tuple[float, Array, Array]:
        log_share = scipy.special.log_softmax(rows @ gamma.reshape(free, k).T @ contrasts.T, axis=1)
        share = np.exp(log_share)
        gradient = (rows.T @ (counts - total[:, None] * share) @ contrasts).T.ravel() - penalty * gamma
        precision = _information(rows, total, share @ contrasts, (share[:, :, None] * contrasts), contrasts)
        value = float((counts * log_share).sum() - 0.5 * (penalty * gamma) @ gamma)
        return value, gradient, precision + np.diag(penalty)

    return ascend(np.zeros(k * free), scored)


def _information(rows: Array, total: Array, mean: Array, product: Array, contrasts: Array) -> Array:
    """Information about gamma: for contrasts a and b the rows, weighted by the covariance of a and b."""
    k, free = rows.shape[1], contrasts.shape[1]
    information = np.empty((free, k, free, k))
    for a in range(free):
        for b in range(a + 1):
            weight = total * (product[:, :, a] @ contrasts[:, b] - mean[:, a] * mean[:, b])
            information[a, :, b, :] = information[b, :, a, :] = (rows * weight[:, None]).T @ rows
    return information.reshape(free * k, free * k)


def _penalty(k: int, slope_scale: float) -> Array:
    return np.diag(np.r_[1e-4, np.full(k - 1, slope_scale**-2.0)])
