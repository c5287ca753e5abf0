"""Whitened coordinates of an ordered logit regression, by Fisher scoring; see `coordinates`."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.models.coordinates import category_contrasts

Array = NDArray[np.float64]
LEAST_SHARE = 1e-12  # of a category in a row, where only the coordinates are asked for
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
    upto = np.logaddexp.accumulate(log_share, axis=1)[:, :-1]
    beyond = np.logaddexp.accumulate(log_share[:, ::-1], axis=1)[:, -2::-1]
    inner = log_share[:, 1:-1]
    gap = np.logaddexp(0.0, inner - upto[:, :-1]) + np.logaddexp(0.0, inner - beyond[:, 1:])
    return upto - beyond, gap


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
    value, gradient, precision = _scored(at, slopes, counts, scale)
    for _ in range(40):
        step = scipy.linalg.solve(precision, gradient, assume_a="pos")
        step *= min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))
        for _ in range(12):
            tried = _scored(at + step, slopes, counts, scale)
            if tried[0] >= value - 1e-9 * abs(value):
                break
            step /= 2
        at, (value, gradient, precision) = at + step, tried
        if np.abs(step).max() < 1e-6:
            break
    covariance = scipy.linalg.inv(precision)
    return at, scipy.linalg.cholesky((covariance + covariance.T) / 2, lower=True)


def _scored(at: Array, slopes: Array, counts: Array, scale: Array) -> tuple[float, Array, Array]:
    """Penalised log-likelihood, its gradient, and the expected information with the prior's."""
    n_cuts, k = counts.shape[1] - 1, slopes.shape[1]
    contrasts = category_contrasts(n_cuts + 1)
    log_share = scipy.special.log_softmax(contrasts @ at[:n_cuts])
    share = np.exp(log_share)
    upto = np.cumsum(share)[:-1]
    cut = gaps(log_share[None])[0][0]
    # d cut / d gamma: by the cumulative shares, by the logits.
    below = (np.arange(n_cuts + 1) <= np.arange(n_cuts)[:, None]).astype(float)
    odds = np.maximum(upto * np.cumsum(share[::-1])[-2::-1], LEAST_SHARE)
    by_gamma = ((below - upto[:, None]) * share / odds[:, None]) @ contrasts
    size = n_cuts + 2 * k
    value = -0.5 * float(((at / scale) ** 2).sum())
    gradient, information = np.zeros(size), np.zeros((size, size))
    for first in range(0, len(slopes), BLOCK_ROWS):
        z, seen = slopes[first : first + BLOCK_ROWS], counts[first : first + BLOCK_ROWS]
        inverse = np.exp(-(z @ at[n_cuts + k :]))
        u = (cut - (z @ at[n_cuts : n_cuts + k])[:, None]) * inverse[:, None]
        upper = scipy.special.expit(u)
        density = upper * scipy.special.expit(-u)
        edge = np.zeros((len(z), 1))
        shares = np.maximum(np.diff(np.hstack([edge, upper, edge + 1]), axis=1), LEAST_SHARE)
        value += float((seen * np.log(shares)).sum())
        # Derivatives of the cumulative probabilities by cut, location and spread, then of the shares.
        by_cut = density * inverse[:, None]
        moves = np.zeros((len(z), n_cuts + 1, n_cuts + 2))
        place = np.arange(n_cuts)
        moves[:, place, place] += by_cut
        moves[:, place + 1, place] -= by_cut
        for column, slope in ((n_cuts, -by_cut), (n_cuts + 1, -density * u)):
            moves[:, :, column] = np.diff(np.hstack([edge, slope, edge]), axis=1)
        score = np.einsum("rc,rcp->rp", seen / shares, moves)
        weighted = moves * np.sqrt(seen.sum(axis=1)[:, None] / shares)[:, :, None]
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
