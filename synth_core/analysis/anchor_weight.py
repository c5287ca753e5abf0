"""The constant weight c of an anchored fit, chosen on a table simulated from its anchor (docs/methods/anchored.md)."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.anchor import Anchor
from synth_core.analysis.fits import Fits
from synth_core.mechanisms.bounds import lipschitz_bounds
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Model

Array = NDArray[np.float64]

CLAMPED_QUANTILE = 0.995  # of the simulated records, which c leaves unclamped
REAL_TAILS = 0.5  # the share of that c, or of its limit, which is taken: real tails are longer than a model's
CHAINS, DRAWS = 2, 500
COUNTED_TAILS = 0.85  # the same around noisy counts, whose tails are nearly real
KEPT = 1 / 3  # of the limit for categories: an answer may be e^2 times as rare as another anchor says
RECORDS = 3_000  # of the simulated table that are looked at, about


def anchor_weight(
    fits: Fits,
    anchor: Anchor,
    simulated: Array,
    part: NDArray[np.bool_],
    bound: float,
    prior_records: float,
) -> float:
    """Half of the largest c that leaves nearly all records of a table simulated from the anchor unclamped.

    Nearly all where the table is simulated from counts: it then has the tails that a real one has, but for where in a
    bracket and for combinations that are not counted. All of it elsewhere if no record has a density, as far as no
    parameter may give an answer up. No fit is made where normal draws are at hand, since c decides of accuracy alone
    and not of the promise.

    Zeros with a probability of their own are not counted: a few rare ones would set c for all. But c leaves room for
    zeros, and for categories, to be rarer than the anchor says: beyond `largest_that_keeps_answers` the posterior gives
    them up (docs/methods/anchored.md). A pilot takes the whole of that c, and at most half of the bound: clamped
    records cost its draw some accuracy, and the fit after it is another.

    Parameters
    ----------
    fits : Fits
        Of the table; its outcome is not read.
    simulated : array of shape (n_records,)
        Outcomes of a table simulated from the anchor.
    part : array of bool of shape (n_records,)
        The records that the fit will read.
    bound : float
        Of a term, in nats.
    prior_records : float
        How many records the prior from the anchor counts as.
    """
    copies = fits.simulated(simulated, chains=CHAINS, draws=DRAWS, warmup=300)
    n = copies.model.records.n
    at_anchor = anchor.log_lik(fits, simulated)
    prior = prior_records / n
    rows, none = np.flatnonzero(part), np.zeros(n)
    survey = np.ones(n) if fits.survey_weights is None else fits.survey_weights
    rows = rows[:: max(1, len(rows) // RECORDS)]
    judged = copies.model.has_density[rows]
    heaviest = survey[rows].max(initial=1.0)
    taken, most = _limits(anchor.kind, judged, bound, prior_records / max(1, part.sum()))
    most /= heaviest
    rows = rows[judged] if judged.any() else rows
    text = f"choosing the weight {'of the pilot' if anchor.kind == 'guess' else ''}".strip()

    def largest(c: float) -> float:
        """The quantile of max over draws of |log p(x | theta) - anchor|, times c, over the bound; its log."""
        if copies.model.takes_anchor_prior:
            # The simulated table as a prior and no record beside it: under the priors of an anchored fit.
            at, weights = Censoring(bound, None, simulated, np.where(part, prior + c * survey, prior)), none
        else:
            at, weights = None, np.where(part, c * survey, 0.0)
        draws = normal_draws(copies.model, weights, at, CHAINS * DRAWS)
        if draws is None:
            draws = copies.posterior(weights, at, text)[0].draws
        bounds = lipschitz_bounds(
            lambda block: copies.model.log_lik(draws, rows[block]) - at_anchor[rows[block]],
            len(rows),
            CHAINS * DRAWS,
            block_elements=copies.model.block_elements,
        ).lipschitz_bounds
        return float(np.log(c * np.quantile(survey[rows] * bounds, CLAMPED_QUANTILE) / bound))

    log_c, excess = 0.0, largest(1.0)
    if excess <= 0:
        return rounded(min(taken, most))
    slope = 0.5  # of log excess on log c, where the data decide
    for _ in range(4):
        previous = log_c, excess
        # Rounded before it is tried: in another unit its last bits differ, and draws follow them.
        tried = rounded(math.exp(min(0.0, log_c - excess / slope)))
        log_c, excess = math.log(tried), largest(tried)
        if abs(excess) < 0.1:
            break
        if log_c != previous[0]:
            slope = float(np.clip((excess - previous[1]) / (log_c - previous[0]), 0.3, 1.2))
    return rounded(min(taken * math.exp(log_c - max(excess, 0.0) / slope), most))


def _limits(kind: str, judged: NDArray[np.bool_], bound: float, prior: float) -> tuple[float, float]:
    """The share of c that is taken, and the largest c; `prior` is how many records that counts as for each record."""
    kept = largest_that_keeps_answers(bound, prior)
    tails = COUNTED_TAILS if kind == "counts" else REAL_TAILS
    if not judged.any():
        return (tails, tails * kept) if kind == "counts" else (1.0, KEPT * kept)
    if kind == "guess":
        return 1.0, REAL_TAILS * bound
    return tails, math.inf if judged.all() else min(bound, tails * kept)


def largest_that_keeps_answers(bound: float, prior: float) -> float:
    """The largest c at which giving an answer up pays for no parameter, if records follow the anchor.

    Of the share P of the records that have a rare answer let the model leave q P. They cost P bound at most, the others
    gain c (1 - q) P, and the prior loses prior (q - 1 - log q) P. The sum is largest at q = prior / (c + prior), and
    there no more than P (c - prior log(1 + c / prior) - bound). Common answers pay less.

    Examples
    --------
    >>> largest_that_keeps_answers(0.5, 0.0), round(largest_that_keeps_answers(0.5, 1.0), 3)
    (0.5, 1.358)
    """
    if prior == 0:
        return bound
    # u - 1 - log u <= x up to 1 + x + sqrt(2 x), at most: c lies between bound and what that u gives.
    return float(
        scipy.optimize.brentq(
            lambda c: c - prior * np.log1p(c / prior) - bound, bound, bound + math.sqrt(2 * prior * bound)
        )
    )


def normal_draws(
    model: Model, weights: Array, censoring: Censoring | None, n_draws: int
) -> dict[str, Array] | None:
    """Draws of a normal approximation of a fit in its whitened coordinates; None where the family has none.

    Parameters
    ----------
    n_draws : int
        0 gives its centre alone, as one draw.
    """
    if type(model).from_coordinates is Model.from_coordinates:
        return None
    data = model.stan_data(weights, censoring)
    if n_draws == 0:
        return model.from_coordinates(data["center"][None], data)
    points = np.random.default_rng(DRAWS).standard_normal((n_draws, len(data["center"])))
    return model.from_coordinates(data["center"] + points @ data["basis"].T, data)


def rounded(value: float) -> float:
    """To three digits: enough for a weight, and the same in any unit."""
    return float(f"{value:.3g}")
