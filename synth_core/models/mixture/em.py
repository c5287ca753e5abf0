"""Weighted EM for a normal mixture regression: where a pilot run starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.models.coordinates import solve_penalised

Array = NDArray[np.float64]

RIDGE = 0.05
STARTS, ITERATIONS = 6, 150
MAX_RECORDS = 20_000  # a subsample is enough for coordinates


@dataclass(frozen=True)
class MixtureEstimate:
    """shares (K,), beta (k, K), sigma (K,), responsibilities (n, K), weighted log-likelihood."""

    shares: Array
    beta: Array
    sigma: Array
    responsibilities: Array
    log_lik: float


def fit_mixture(
    design: Array,
    response: Array,
    weights: Array,
    n_components: int,
    sigma_lower: float,
    rng: np.random.Generator,
) -> MixtureEstimate:
    """The best of several EM runs from random starts.

    Parameters
    ----------
    design : array of shape (n, k)
    response, weights : arrays of shape (n,)
    """
    gram = (design * weights[:, None]).T @ design + RIDGE * np.eye(design.shape[1])
    pooled = solve_penalised(gram, design.T @ (weights * response))
    residual = response - design @ pooled
    spread = max(float(residual.std()), sigma_lower)
    estimates = []
    for _ in range(STARTS):
        centers = np.quantile(residual, rng.random(n_components))
        start = np.exp(-2.0 * ((residual[:, None] - centers) / spread) ** 2) + 1e-3
        start /= start.sum(axis=1, keepdims=True)
        estimates.append(_iterate(design, response, weights, start, sigma_lower, ITERATIONS // 4))
    best = max(estimates, key=lambda estimate: estimate.log_lik)
    return _iterate(design, response, weights, best.responsibilities, sigma_lower, ITERATIONS)


def memberships(
    design: Array, response: Array, shares: Array, beta: Array, sigma: Array
) -> tuple[Array, Array]:
    """Responsibilities of shape (n, K) and log sum_k pi_k N(y | z' beta_k, sigma_k), up to a constant."""
    # By component first: what is summed or compared over components lies in whole rows.
    terms = (response - beta.T @ design.T) / sigma[:, None]
    np.square(terms, out=terms)
    terms *= -0.5
    terms += np.log(shares / sigma)[:, None]
    top = terms.max(axis=0)
    terms -= top
    np.exp(terms, out=terms)
    total = terms.sum(axis=0)
    terms /= total
    return terms.T, top + np.log(total)


def _iterate(
    design: Array, response: Array, weights: Array, responsibilities: Array, sigma_lower: float, steps: int
) -> MixtureEstimate:
    k, n_components = design.shape[1], responsibilities.shape[1]
    beta, sigma = np.empty((k, n_components)), np.empty(n_components)
    last = -np.inf
    for _ in range(steps):
        mass = weights[:, None] * responsibilities
        totals = mass.sum(axis=0)
        for j in range(n_components):
            weighted = design * mass[:, [j]]
            beta[:, j] = solve_penalised(weighted.T @ design + RIDGE * np.eye(k), weighted.T @ response)
            rss = float(mass[:, j] @ (response - design @ beta[:, j]) ** 2)
            sigma[j] = max(np.sqrt((rss + RIDGE) / (totals[j] + 1.0)), 1.2 * sigma_lower)
        shares = (totals + 1.0 / n_components) / (totals.sum() + 1.0)
        responsibilities, log_terms = memberships(design, response, shares, beta, sigma)
        log_lik = float(weights @ log_terms)
        if log_lik - last < 1e-3:
            break
        last = log_lik
    return MixtureEstimate(shares, beta, sigma, responsibilities, log_lik)
