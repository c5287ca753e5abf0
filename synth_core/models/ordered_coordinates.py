"""Whitened coordinates of an ordered logit regression, by Fisher scoring; see `coordinates`."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.models.coordinates import ascend, category_contrasts

Array = NDArray[np.float64]
BLOCK_ROWS = 2_000


def gaps(log_share: Array) -> tuple[Array, Array]:
    """Log odds of the cumulative shares, and what lies between neighbours, without rounding where it is little.

    Parameters
    ----------
    log_share : array of shape (n_draws, n_categories)

    Returns
    -------
    arrays of shapes (n_draws, n_categories - 1) and (n_draws, n_categories - 2)

    Examples
    --------
    >>> cut, gap = gaps(np.log([[0.5, 0.25, 0.25]]))
    >>> np.exp(cut), np.exp(gap)
    (array([[1., 3.]]), array([[3.]]))
    """
    upto, beyond = cumulated(log_share)
    inner = log_share[:, 1:-1]
    gap = _log_add(0.0, inner - upto[:, :-1]) + _log_add(0.0, inner - beyond[:, 1:])
    return upto - beyond, gap


def log_shares(cut: Array, gap: Array) -> Array:
    """What `gaps` was made of, of shape (n_draws, n_categories, ...), from arrays with cuts as their second axis."""
    shares = np.zeros((len(cut), cut.shape[1] + 1, *cut.shape[2:]))
    shares[:, :-1] += scipy.special.log_expit(cut)
    shares[:, 1:] += scipy.special.log_expit(-cut)
    with np.errstate(divide="ignore"):
        shares[:, 1:-1] += np.log(-np.expm1(-gap))
    return shares


def log_interval(above: Array, below: Array, apart: Array) -> Array:
    """log(expit(above) - expit(below)), where apart = above - below is known without rounding; ends may be infinite.

    The elementary functions of NumPy are vectorised, SciPy's `log_expit` is not.
    """
    total = (1.0 + np.exp(-np.abs(above))) * (1.0 + np.exp(-np.abs(below)))
    with np.errstate(divide="ignore"):
        total /= -np.expm1(-apart)
    return np.minimum(above, 0.0) - np.maximum(below, 0.0) - np.log(total)


def cumulated(log_share: Array) -> tuple[Array, Array]:
    """Log probabilities up to each cut and beyond it, each of shape (n_draws, n_categories - 1)."""
    upto, beyond = np.array(log_share[:, :-1]), np.array(log_share[:, 1:])
    for c in range(1, upto.shape[1]):
        upto[:, c] = _log_add(upto[:, c - 1], upto[:, c])
        beyond[:, -1 - c] = _log_add(beyond[:, -c], beyond[:, -1 - c])
    return upto, beyond


def _log_add(a: Array | float, b: Array) -> Array:
    """log(exp(a) + exp(b)), vectorised where NumPy's own is not."""
    return np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b)))


def penalised_cuts(slopes: Array, counts: Array, scale: Array) -> tuple[Array, Array]:
    """Penalised estimate of an ordered logit regression with a scale, and a factor of its covariance.

    Parameters
    ----------
    slopes : array of shape (n_rows, k - 1)
        Distinct rows of the design without the intercept.
    counts : array of shape (n_rows, n_categories)
        Sums of the weights over a row's records of a category.
    scale : array of shape (n_categories - 1 + 2 (k - 1),)
        Standard deviations of the normal priors.

    Returns
    -------
    (gamma, beta, delta) as the Stan program has them, and the lower-triangular factor
    """
    n_cuts, k = counts.shape[1] - 1, slopes.shape[1]
    total = counts.sum(axis=0) + 0.5
    at = np.zeros(n_cuts + 2 * k)
    at[:n_cuts] = category_contrasts(n_cuts + 1).T @ np.log(total / total.sum())
    return ascend(at, lambda at: _scored(at, slopes, counts, scale), longest=3.0)


def _scored(at: Array, slopes: Array, counts: Array, scale: Array) -> tuple[float, Array, Array]:
    """Penalised log-likelihood, its gradient, and the expected information with the prior's."""
    n_cuts, k = counts.shape[1] - 1, slopes.shape[1]
    contrasts = category_contrasts(n_cuts + 1)
    log_share = scipy.special.log_softmax(contrasts @ at[:n_cuts])
    cut, gap = (found[0] for found in gaps(log_share[None]))
    # d cut / d gamma: a share of what lies up to the cut, or beyond it.
    upto, beyond = cumulated(log_share[None])
    below = np.arange(n_cuts + 1) <= np.arange(n_cuts)[:, None]
    part = np.exp(log_share - np.where(below, upto[0][:, None], beyond[0][:, None]))
    by_gamma = np.where(below, part, -part) @ contrasts
    size = n_cuts + 2 * k
    value = -0.5 * float(((at / scale) ** 2).sum())
    gradient, information = np.zeros(size), np.zeros((size, size))
    place = np.arange(n_cuts)
    for first in range(0, len(slopes), BLOCK_ROWS):
        z, seen = slopes[first : first + BLOCK_ROWS], counts[first : first + BLOCK_ROWS]
        inverse = np.exp(-(z @ at[n_cuts + k :]))[:, None]
        u = (cut - (z @ at[n_cuts : n_cuts + k])[:, None]) * inverse
        # All of it by logarithms: differences of probabilities near 0 or 1 would be rounding, and no ascent.
        upper, lower = scipy.special.log_expit(u), scipy.special.log_expit(-u)
        between = -np.expm1(-gap * inverse)
        terms = log_shares(u, gap * inverse)
        value += float(np.sum(seen * terms, where=seen > 0))
        # Derivatives of log shares: by the cut above a category and by the one below, then by location and spread.
        moves = np.zeros((len(z), n_cuts + 1, n_cuts + 2))
        above, under = np.exp(lower), -np.exp(upper)
        with np.errstate(divide="ignore"):
            above[:, 1:] = np.exp(lower[:, 1:] - lower[:, :-1]) / between
            under[:, :-1] = -np.exp(upper[:, :-1] - upper[:, 1:]) / between
        moves[:, place, place] = above * inverse
        moves[:, place + 1, place] = under * inverse
        moves[:, :, n_cuts] = -moves[:, :, :n_cuts].sum(axis=2)
        moves[:, :-1, n_cuts + 1] -= above * u
        moves[:, 1:, n_cuts + 1] -= under * u
        score = np.einsum("rc,rcp->rp", seen, moves)
        weighted = moves * np.sqrt(seen.sum(axis=1)[:, None] * np.exp(terms))[:, :, None]
        each = weighted.transpose(0, 2, 1) @ weighted  # information of a row: cuts, location, spread
        cuts, beta, delta = slice(0, n_cuts), slice(n_cuts, n_cuts + k), slice(n_cuts + k, size)
        gradient[cuts] += score[:, :n_cuts].sum(axis=0)
        gradient[beta] += score[:, n_cuts] @ z
        gradient[delta] += score[:, n_cuts + 1] @ z
        information[cuts, cuts] += each[:, :n_cuts, :n_cuts].sum(axis=0)
        for where, column in ((beta, n_cuts), (delta, n_cuts + 1)):
            information[cuts, where] += each[:, :n_cuts, column].T @ z
            information[where, where] += (z * each[:, column, column, None]).T @ z
        information[beta, delta] += (z * each[:, n_cuts, n_cuts + 1, None]).T @ z
    information[n_cuts:, :n_cuts] = information[:n_cuts, n_cuts:].T
    information[n_cuts + k :, n_cuts : n_cuts + k] = information[n_cuts : n_cuts + k, n_cuts + k :].T
    turn = np.eye(size)
    turn[:n_cuts, :n_cuts] = by_gamma
    return (
        value,
        turn.T @ gradient - at / scale**2,
        turn.T @ information @ turn + np.diag(scale**-2.0),
    )
