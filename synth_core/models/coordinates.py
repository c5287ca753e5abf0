"""Whitened coordinates: beta = center + basis * u.

They only choose where a sampler starts to measure from; the posterior does not depend on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

Array = NDArray[np.float64]

MEANS = {
    "log": (lambda eta: np.exp(np.clip(eta, -30, 30)), lambda mean: mean),
    "logit": (special.expit, lambda mean: mean * (1 - mean)),
}  # mean of a linear predictor, and its derivative (canonical links)


def penalised_estimate(
    rows: Array, total: Array, mass: Array, link: str, slope_scale: float
) -> tuple[Array, Array]:
    """Penalised estimate of a canonical generalised linear model, by Newton's method.

    Parameters
    ----------
    rows : array of shape (n_rows, k)
        Distinct rows of the design, the intercept first.
    total, mass : arrays of shape (n_rows,)
        Sums over a row's records of alpha, and of alpha * x.

    Returns
    -------
    beta of shape (k,), and the variance function at its means, of shape (n_rows,)
    """
    mean_of, slope_of = MEANS[link]
    k = rows.shape[1]
    penalty = _penalty(k, slope_scale)
    beta = np.zeros(k)
    average = (mass.sum() + 1e-3) / (total.sum() + 2e-3)
    beta[0] = np.log(average) if link == "log" else special.logit(np.clip(average, 1e-6, 1 - 1e-6))
    for _ in range(25):
        mean = mean_of(rows @ beta)
        gradient = rows.T @ (mass - total * mean) - penalty @ (beta * np.r_[0.0, np.ones(k - 1)])
        precision = (rows * (total * slope_of(mean))[:, None]).T @ rows + penalty
        step = linalg.solve(precision, gradient, assume_a="pos")
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return beta, slope_of(mean_of(rows @ beta))


def whitening(rows: Array, information: Array, slope_scale: float) -> Array:
    """Lower-triangular factor of the covariance of beta, given the information of each row."""
    precision = (rows * information[:, None]).T @ rows + _penalty(rows.shape[1], slope_scale)
    covariance = linalg.inv(precision)
    return linalg.cholesky((covariance + covariance.T) / 2, lower=True)


def _penalty(k: int, slope_scale: float) -> Array:
    return np.diag(np.r_[1e-4, np.full(k - 1, slope_scale**-2.0)])
