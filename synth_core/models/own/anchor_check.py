"""The step of checking an own program's contract that is about the anchor of anchored censoring."""

from __future__ import annotations

import numpy as np

from synth_core.errors import FitError
from synth_core.mechanisms.censoring import IMPOSSIBLE, Censoring, weighted_terms
from synth_core.models.own.contract_checks import BOUNDS_TRIED, Array, Broken, Examiner, bounds_to_try
from synth_core.models.own.quantities import words_of
from synth_core.system import limits

LEFT_OUT = 0.1  # share of records of weight 0: a pilot's, which must add nothing whatever their anchor


def respects_anchor(examiner: Examiner) -> str:
    """Check that the anchor is subtracted within the clamp, record by record, and read nowhere else.

    Anchors are drawn anew for every check, as bounds are: a program cannot know them.

    Raises
    ------
    Broken
        With what the program does instead.
    """
    if not examiner.model.takes_anchor:
        return "Note: the program declares no anchor, so the anchored mechanisms are off."
    rng = np.random.default_rng()
    _read_nowhere_else(examiner, rng)
    _without_censoring(examiner, rng)
    near = _near(examiner, rng)
    weights = _some_out(examiner.weights, rng)
    _clamped_at(examiner, _typical(examiner, near) * float(np.median(weights)), weights, near)
    for bound in bounds_to_try(rng):
        anchor = _anywhere(examiner, rng)
        typical = bound / _typical(examiner, anchor)
        weights = _some_out(typical * rng.uniform(0.2, 5.0, len(examiner.rows)), rng)
        _clamped_at(examiner, bound, weights, anchor)
    high = limits.EPSILON[1] / 2
    return f"It is subtracted before each term is clamped, at {BOUNDS_TRIED + 1} bounds up to {high:,.0f}."


def _near(examiner: Examiner, rng: np.random.Generator) -> Array:
    """Anchors among the records' own log-likelihoods, as those that are in use."""
    log_lik = examiner.log_lik
    n = log_lik.shape[1]
    spread = np.ptp(log_lik, axis=0)
    point = log_lik[rng.integers(len(log_lik), size=n), np.arange(n)]
    return point + rng.normal(size=n) * np.maximum(spread, 1e-3)


def _anywhere(examiner: Examiner, rng: np.random.Generator) -> Array:
    """Anchors near the log-likelihoods, others of their size and either sign, and an impossible record's."""
    size = float(np.abs(examiner.log_lik).max())
    near = _near(examiner, rng)
    far = rng.uniform(-2.0 * size, 2.0 * size, len(near))
    anchors = np.where(rng.uniform(size=len(near)) < 0.5, near, far)
    anchors[rng.integers(len(anchors))] = IMPOSSIBLE
    return anchors


def _some_out(weights: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.uniform(size=len(weights)) < LEFT_OUT, 0.0, weights)


def _typical(examiner: Examiner, anchor: Array) -> float:
    """Half of the differences between log-likelihoods and anchors are larger."""
    return float(np.median(np.abs(examiner.log_lik - anchor)))


def _read_nowhere_else(examiner: Examiner, rng: np.random.Generator) -> None:
    """Generated quantities, under one seed, are those without an anchor."""
    model, rows = examiner.model, examiner.rows
    wanted, at = tuple(sorted(model.declared.outputs)), model.records.outcome[rows]
    at = at if model.declared.has_cdf else None
    without = model.generate(examiner.draws, model.data_of(rows, cdf_at=at), wanted, words_of(16))
    bound = float(np.median(np.abs(examiner.log_lik)) / 2)
    anchored = model.data_of(rows, censor_bound=bound, cdf_at=at, anchor=_anywhere(examiner, rng))
    try:
        quantities = model.generate(examiner.draws, anchored, wanted, words_of(16))
    except FitError as error:
        if "'anchor'" not in str(error):
            raise
        raise Broken("Declare the anchor without bounds: a log-likelihood can be any number.") from None
    for name in wanted:
        if not np.allclose(quantities[name], without[name], 1e-8, 1e-8, equal_nan=True):
            raise Broken(f"{name} changes with the anchor: only the model block may read it.")


def _without_censoring(examiner: Examiner, rng: np.random.Generator) -> None:
    """Check that at a bound of 0 the target moves by no more than a constant, which no posterior knows of."""
    weights = examiner.weights
    if not examiner.same(
        examiner.targets(weights, anchor=_anywhere(examiner, rng)), examiner.targets(weights)
    ):
        raise Broken(
            "The anchor moves the target where censor_bound is 0: it may only be subtracted from each log_lik."
        )


def _clamped_at(examiner: Examiner, bound: float, weights: Array, anchor: Array) -> None:
    """Against the prior, of a target without records and without an anchor, plus the clamped terms."""
    log_lik, none = examiner.log_lik, np.zeros(len(weights))
    # The tolerance goes by what the program computes with, not by the anchors: one of them is a million.
    size = float(np.abs(weights * log_lik).sum(axis=1).max())
    prior = examiner.targets(none, bound)
    change = examiner.targets(weights, bound, anchor=anchor) - prior
    if examiner.same(change, _sum(log_lik, weights, Censoring(bound, anchor)), size):
        return
    if examiner.same(change, _sum(log_lik, weights, Censoring(bound)), size):
        raise Broken(f"The anchor is ignored at a bound of {bound:.3g}.")
    if not examiner.same(examiner.targets(none, bound, anchor=anchor), prior):
        raise Broken(
            "Something beside the records' own terms depends on the anchor (a prior, a mean): with all weights 0 the "
            "target must not know of it."
        )
    raise Broken(
        f"The anchor is not respected at a bound of {bound:.3g}: each weights[i] * (log_lik[i] - anchor[i]) must be "
        "kept within [-censor_bound, censor_bound] by itself, before they are added."
    )


def _sum(log_lik: Array, weights: Array, censoring: Censoring) -> Array:
    return weighted_terms(log_lik, weights, censoring).sum(axis=1)
