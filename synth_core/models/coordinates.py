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
        step = scipy.linalg.solve(precision, gradient, assume_a="pos")
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return beta, slope_of(mean_of(rows @ beta))


def whitening(rows: Array, information: Array, slope_scale: float) -> Array:
    """Lower-triangular factor of the covariance of beta, given the information of each row."""
    precision = (rows * information[:, None]).T @ rows + _penalty(rows.shape[1], slope_scale)
    covariance = scipy.linalg.inv(precision)
    return scipy.linalg.cholesky((covariance + covariance.T) / 2, lower=True)


def _penalty(k: int, slope_scale: float) -> Array:
    return np.diag(np.r_[1e-4, np.full(k - 1, slope_scale**-2.0)])
