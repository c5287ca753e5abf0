"""Clamped likelihood terms: the papers' censoring, and anchored censoring (docs/methods/anchored.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

IMPOSSIBLE = -1e6  # nats: what stands for a log-likelihood of minus infinity under an anchor


@dataclass(frozen=True)
class Censoring:
    """Each term alpha_i * (log p(x_i | theta) - anchor_i) is clamped to [-bound, bound].

    Attributes
    ----------
    bound : float
        epsilon / 2, in nats.
    anchor : array of shape (n_records,), optional
        Log-likelihoods under the anchor, in nats: fixed without the table. None is 0 (Censor, section 3.5).
    prior_outcome : array of shape (n_records,), optional
        Outcomes simulated from the anchor for the same predictors; their likelihood, to the power `prior_weight`
        and not clamped, multiplies the prior (a power prior, Ibrahim and Chen 2000). No record enters it.
    prior_weight : float, or array of shape (n_records,)
    prior_design : array of shape (n_prior, n_columns), optional
        Whose outcomes `prior_outcome` simulates, of shape (n_prior,), where the records' own design is sensitive too;
        None is the records'.
    padding : int
        How many of `prior_outcome`, from the first, stand for nothing: they fill the rows of the records where the
        prior has a design of its own. Nothing may be computed from them: their number is that of the records.
    """

    bound: float
    anchor: Array | None = None
    prior_outcome: Array | None = None
    prior_weight: float | Array = 0.0
    prior_design: Array | None = None
    padding: int = 0

    def offset(self, n_records: int) -> Array:
        """What is subtracted from the log-likelihoods, of shape (n_records,)."""
        return np.zeros(n_records) if self.anchor is None else self.anchor

    def of(self, rows: slice | NDArray[np.int64]) -> Censoring:
        """This censoring for some of the records."""
        return Censoring(self.bound, None if self.anchor is None else self.anchor[rows])

    @property
    def content(self) -> list[Any]:
        """What a fit's key knows of it."""
        return [self.bound, self.anchor, self.prior_outcome, self.prior_weight, self.prior_design]


def weighted_terms(log_lik: Array, weights: Array, censoring: Censoring | None = None) -> Array:
    """What records add to the pseudo log-likelihood, of the shape of `log_lik`; a weight of 0 adds 0.

    Parameters
    ----------
    log_lik : array of shape (..., n_rows)
    weights : array of shape (n_rows,)
    censoring : Censoring, optional
        Of these rows; None clamps nothing.
    """
    if censoring is not None and censoring.anchor is not None:
        log_lik = log_lik - censoring.anchor
    with np.errstate(invalid="ignore"):
        terms = np.asarray(weights * log_lik)
    unused = weights == 0
    if unused.any():  # 0 times an infinite log-likelihood is none
        terms[..., unused] = 0.0
    return terms if censoring is None else np.clip(terms, -censoring.bound, censoring.bound, out=terms)
