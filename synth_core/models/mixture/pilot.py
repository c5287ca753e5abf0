"""A pilot run of a normal mixture regression: where a sampler starts and in which coordinates, never what
it samples.

A Gibbs sampler with the components as latent data (Diebolt and Robert 1994). It moves records between
components, so it finds which components the posterior occupies; an estimate by EM alone occupies all of them.
Under weights the complete-data likelihood of a record is raised to its weight: near the pseudo posterior, not it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import lapack

from synth_core.models.mixture.em import MixtureEstimate, memberships

Array = NDArray[np.float64]

SWEEPS, KEPT, EVERY = 6000, 400, 5  # the last 2,000 sweeps, thinned: shares that are exchanged move slowly
DEGREES = 3.0  # of the half-Student-t priors
RATE = 5.0  # of the gamma prior of a


@dataclass(frozen=True)
class State:
    """One draw: a, shares (K,), beta (k, K), sigma (K,), s (k,)."""

    a: float
    shares: Array
    beta: Array
    sigma: Array
    s: Array


@dataclass(frozen=True)
class Pilot:
    """What a pilot run keeps: mean responsibilities (n, K) and sigma (K,), every draw, and coordinates.

    Attributes
    ----------
    precision, shift : arrays of shape (K, k, k) and (k, K)
        A_k and A_k b_k: what these records say of beta_k, the coordinates of `standardise`.
    """

    responsibilities: Array
    sigma: Array
    states: tuple[State, ...]
    precision: Array
    shift: Array


def run_pilot(
    design: Array,
    response: Array,
    weights: Array,
    start: MixtureEstimate | Pilot,
    sigma_lower: float,
    prior_scale: float,
    concentration: float,
    rng: np.random.Generator,
) -> Pilot:
    """Gibbs sweeps, with uncorrelated coefficients a priori.

    Parameters
    ----------
    design : array of shape (n, k)
    response, weights : arrays of shape (n,)
    start : MixtureEstimate or Pilot
        Of these records, whatever their weights; from a pilot run, labels go on.
    sigma_lower, prior_scale, concentration : float
        Lower bound of sigma_k; scale of the half-t priors of s_j and sigma_k; prior mean of a.
    """
    n, k = design.shape
    n_components = start.responsibilities.shape[1]
    sigma, s, a = np.maximum(start.sigma, 1.05 * sigma_lower), np.full(k, prior_scale), concentration
    root = np.sqrt(weights)
    weighted_design, weighted_response = design * root[:, None], response * root
    component = _drawn(start.responsibilities, rng)
    mean, mean_sigma, states = np.zeros((n, n_components)), np.zeros(n_components), []
    for sweep in range(SWEEPS):
        records = np.bincount(component, weights, n_components)
        shares = np.maximum(rng.dirichlet(a / n_components + records), 1e-300)
        beta = np.empty((k, n_components))
        order = np.argsort(component, kind="stable")
        ends = np.cumsum(np.bincount(component, minlength=n_components))
        ordered_design, ordered_response = weighted_design[order], weighted_response[order]
        for j in range(n_components):
            rows = slice(ends[j - 1] if j else 0, ends[j])
            z, y = ordered_design[rows], ordered_response[rows]
            beta[:, j] = _coefficients(z, y, sigma[j], s, rng)
            rss = float(((y - z @ beta[:, j]) ** 2).sum())
            sigma[j] = _spread(sigma[j], rss, records[j], sigma_lower, prior_scale, rng)
        s = _prior_spread(s, (beta**2).sum(axis=1), n_components, prior_scale, rng)
        a = _concentration(a, np.log(shares), concentration, rng)
        responsibilities, _ = memberships(design, response, shares, beta, sigma)
        component = _drawn(responsibilities, rng)
        if sweep >= SWEEPS - KEPT * EVERY and sweep % EVERY == 0:
            mean += responsibilities / KEPT
            mean_sigma += sigma / KEPT
            states.append(State(a, shares, beta, sigma.copy(), s.copy()))
    mass = weights[:, None] * mean / mean_sigma**2
    precision = np.stack([(design * each[:, None]).T @ design for each in mass.T])
    coordinates = _widened(precision, design.T @ (mass * response[:, None]), states)
    return Pilot(mean, mean_sigma, tuple(states), *coordinates)


def standardise(beta: Array, s: Array, precision: Array, shift: Array) -> Array:
    """u of the Stan program for given beta of shape (k, K), its entries uncorrelated a priori."""
    u = np.empty_like(beta)
    for j in range(beta.shape[1]):
        c = scipy.linalg.cholesky(precision[j] + np.diag(s**-2.0), lower=True)
        u[:, j] = c.T @ beta[:, j] - scipy.linalg.solve_triangular(c, shift[:, j], lower=True)
    return u


def _widened(precision: Array, shift: Array, states: list[State]) -> tuple[Array, Array]:
    """A_k and A_k b_k with the information that not knowing the components takes away.

    Given the components u would have variance 1; where two overlap it has many times that, while s_j near 0
    leaves it 1: a funnel. Dividing the directions of A_k by the variance that u was seen to have removes it.
    """
    variance = np.var([standardise(each.beta, each.s, precision, shift) for each in states], axis=0)
    found, found_shift = np.empty_like(precision), np.empty_like(shift)
    for j, v in enumerate(np.maximum(variance, 1.0).T):
        ridge = 1e-9 * (1 + np.trace(precision[j])) * np.eye(len(v))  # an empty component says nothing
        c = scipy.linalg.cholesky(precision[j] + ridge, lower=True)
        found[j] = (c / v) @ c.T
        found_shift[:, j] = c @ (scipy.linalg.solve_triangular(c, shift[:, j], lower=True) / v)
    return found, found_shift


def _drawn(responsibilities: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A component of each record."""
    ends = np.cumsum(responsibilities.T, axis=0)
    component = (ends < rng.random(ends.shape[1]) * ends[-1]).sum(axis=0)
    return np.minimum(component, len(ends) - 1)


def _coefficients(design: Array, response: Array, sigma: float, s: Array, rng: np.random.Generator) -> Array:
    """beta_k given its records: normal. LAPACK is called as it is: most of the time of SciPy's own is checks."""
    precision = design.T @ design / sigma**2
    precision.flat[:: len(s) + 1] += s**-2.0
    factor, failed = lapack.dpotrf(precision, lower=True)
    if failed:
        raise scipy.linalg.LinAlgError("the precision of a component's coefficients is not positive definite")
    mean, _ = lapack.dpotrs(factor, design.T @ response / sigma**2, lower=True)
    apart, _ = lapack.dtrtrs(factor, rng.standard_normal(len(s)), lower=True, trans=True)
    return mean + apart


def _spread(
    sigma: float, rss: float, records: float, lower: float, prior_scale: float, rng: np.random.Generator
) -> float:
    """sigma_k given its records: a few Metropolis steps on the log scale."""

    def log_density(value: float) -> float:
        return (1 - records) * np.log(value) - 0.5 * rss / value**2 + _half_t(value, prior_scale)

    step = min(1.0, 2.0 / np.sqrt(2 * records + 1))
    for _ in range(4):
        proposed = sigma * np.exp(step * rng.standard_normal())
        log_ratio = log_density(proposed) - log_density(sigma)
        if proposed > lower and np.log(rng.random()) < log_ratio:
            sigma = proposed
    return sigma


def _prior_spread(
    s: Array, squares: Array, n_components: int, prior_scale: float, rng: np.random.Generator
) -> Array:
    """s given the coefficients, `squares` being their sums of squares over components."""

    def log_density(value: Array) -> Array:
        return (1 - n_components) * np.log(value) - 0.5 * squares / value**2 + _half_t(value, prior_scale)

    for _ in range(3):
        proposed = s * np.exp(0.5 * rng.standard_normal(len(s)))
        s = np.where(np.log(rng.random(len(s))) < log_density(proposed) - log_density(s), proposed, s)
    return s


def _concentration(a: float, log_shares: Array, mean: float, rng: np.random.Generator) -> float:
    """a given the shares and its prior mean."""
    n_components, shape = len(log_shares), RATE * mean

    def log_density(value: float) -> float:
        each = value / n_components
        return (
            scipy.special.gammaln(value)
            - n_components * scipy.special.gammaln(each)
            + each * log_shares.sum()
            + shape * np.log(value)
            - RATE * value
        )

    for _ in range(3):
        proposed = a * np.exp(0.5 / np.sqrt(mean) * rng.standard_normal())
        if np.log(rng.random()) < log_density(proposed) - log_density(a):
            a = proposed
    return a


def _half_t(value: Array | float, scale: float) -> Array | float:
    """Log density of a half-Student-t, up to a constant."""
    return -0.5 * (DEGREES + 1) * np.log1p((value / scale) ** 2 / DEGREES)
