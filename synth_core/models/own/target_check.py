"""Whether an own program's target is the one that was asked for, at all records, weights and the bound of a fit.

The contract is tested on a hundred records: a program could keep it there and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Draws, Model, Refit
from synth_core.models.own import sandbox
from synth_core.models.own.model import OwnProgram
from synth_core.models.own.quantities import log_target

POINTS = 4  # draws of the fit at which the target is compared
TOLERANCE = 1e-7  # of the sum of the terms' sizes


def require_target(model: Model, fit: Refit, draws: Draws) -> None:
    """Refuse a fit whose target is not the prior and the sum of the terms that its weights and a bound make of log_lik.

    The bound is its own, and one that half of the terms reach.

    Other models than own programs pass: theirs are tested.

    Parameters
    ----------
    draws : dict
        Of the fit, by parameter.

    Raises
    ------
    InputError
        If it is another one.
    """
    if not isinstance(model, OwnProgram):
        return
    some = np.linspace(0, len(next(iter(draws.values()))) - 1, POINTS).astype(int)
    at = {name: values[some] for name, values in draws.items()}
    censoring, rows = fit.censoring, slice(None)
    anchor = 0.0 if censoring is None else censoring.offset(model.records.n)
    terms = fit.weights * (model.log_lik(at, rows) - anchor)
    terms[:, fit.weights == 0] = 0.0
    program, none = sandbox.own_source(model.source), np.zeros(model.records.n)
    points = [{name: values[s] for name, values in at.items()} for s in range(POINTS)]
    beside = [log_target(program, model.stan_data(none, censoring), point) for point in points]

    def kept_at(asked: Censoring | None) -> bool:
        bound = np.inf if asked is None else asked.bound
        data = model.stan_data(fit.weights, asked)
        found = [log_target(program, data, point) for point in points]
        difference = np.subtract(found, beside) - np.clip(terms, -bound, bound).sum(axis=1)
        # Up to a constant, as the anchor of terms that are not clamped is.
        return bool(np.ptp(difference) <= TOLERANCE * (1.0 + np.abs(terms).sum(axis=1).max()))

    asked = [censoring]
    sizes = np.abs(terms[:, fit.weights != 0])
    if censoring is not None and sizes.size and (typical := float(np.median(sizes))) > 0:
        # A fit may clamp no term at its draws, and its promise is that it would: half of them reach this bound.
        asked.append(replace(censoring, bound=typical))
    if not all(map(kept_at, asked)):
        raise InputError(
            "The own program does not keep the contract at all records of this fit, though it does at a hundred of "
            "them: its log target is not the prior and the sum of weights[i] * log_lik[i], each kept within "
            "±censor_bound."
        )
