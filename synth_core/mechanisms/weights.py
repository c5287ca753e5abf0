"""Privacy weights: from a record's risk to the power its likelihood is raised to.

Every function is elementwise or a sort over records, knows NumPy only, and returns
weights of shape (n_records,) in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def relative_risk(max_abs_log_lik: Array, span: tuple[float, float] | None = None) -> Array:
    """Rescale the unweighted bounds f_i to [0, 1] (PPM, section 3, step 1c).

    Parameters
    ----------
    max_abs_log_lik : array of shape (n_records,)
        f_i = max over draws of |log p(x_i | theta)| on the unweighted fit, in nats.
        A non-finite entry marks a record whose likelihood overflowed in some draw.
    span : (min f, max f), optional
        Frozen on a reference table; None takes them from the finite entries. Values beyond
        the span count as 0 or 1.

    Returns
    -------
    array of shape (n_records,)
        (f - min f) / (max f - min f) over the finite entries; NaN where f is not finite;
        0 everywhere if all finite f are equal.

    Examples
    --------
    >>> relative_risk(np.array([1.0, 2.0, 5.0]))
    array([0.  , 0.25, 1.  ])
    """
    finite = np.isfinite(max_abs_log_lik)
    risk = np.full(max_abs_log_lik.shape, np.nan)
    if not finite.any():
        return risk
    values = max_abs_log_lik[finite]
    low, high = span or (values.min(), values.max())
    risk[finite] = np.clip((values - low) / (high - low), 0.0, 1.0) if high > low else 0.0
    return risk


def _linear(risk: Array, threshold: float) -> Array:
    return 1.0 - risk


def _reciprocal(risk: Array, threshold: float) -> Array:
    return 1.0 / (1.0 + risk)


def _threshold(risk: Array, threshold: float) -> Array:
    return (risk < threshold).astype(float)


WEIGHT_FUNCTIONS: dict[str, Callable[[Array, float], Array]] = {
    "linear": _linear,
    "reciprocal": _reciprocal,
    "threshold": _threshold,
}
"""Decreasing maps m of relative risk to an unscaled weight (PPM, Assumption 2)."""


def likelihood_weights(
    max_abs_log_lik: Array,
    scale: float = 1.0,
    shift: float = 0.0,
    risk_map: str = "linear",
    threshold: float = 0.5,
    span: tuple[float, float] | None = None,
) -> Array:
    """Likelihood-based weights, LW: alpha = clip(c * m(risk) + g, 0, 1).

    Savitsky, Williams and Hu (2022), section 3; Savitsky, Hu and Williams, Algorithm 1.
    A record with a non-finite bound gets weight 0.

    Parameters
    ----------
    max_abs_log_lik : array of shape (n_records,)
        f_i of the unweighted fit, in nats.
    scale, shift : float
        c and g.
    risk_map : str
        A key of `WEIGHT_FUNCTIONS`; `threshold` is z* of the map of that name.
    span : (min f, max f), optional
        Of a reference table: the weight then depends on the record alone.

    Examples
    --------
    >>> likelihood_weights(np.array([1.0, 2.0, 5.0]), scale=0.8)
    array([0.8, 0.6, 0. ])
    """
    risk = relative_risk(max_abs_log_lik, span)
    with np.errstate(invalid="ignore"):
        weights = np.clip(scale * WEIGHT_FUNCTIONS[risk_map](risk, threshold) + shift, 0.0, 1.0)
    return np.where(np.isnan(risk), 0.0, weights)


def isolation_risk(values: Array, radius: float, reference: Array | None = None) -> Array:
    """IR_i: the share of records outside [x_i - r|x_i|, x_i + r|x_i|], bounds inside.

    Savitsky, Hu and Williams, Algorithm 2. One sort, two searches: O(n log n).

    Parameters
    ----------
    values : array of shape (n_records,)
    radius : float
        r, relative to |x_i|.
    reference : array of shape (n_reference,), optional
        The table whose records are counted; None counts the records themselves.

    Examples
    --------
    >>> isolation_risk(np.array([1.0, 1.1, 5.0]), 0.2).round(3)
    array([0.333, 0.333, 0.667])
    """
    ordered = np.sort(values if reference is None else reference)
    order = np.argsort(values)  # neighbours are searched for one after the other, in memory that is at hand
    asked = values[order]
    reach = radius * np.abs(asked)
    inside = np.empty(len(values), dtype=np.int64)
    inside[order] = np.searchsorted(ordered, asked + reach, side="right") - np.searchsorted(
        ordered, asked - reach, side="left"
    )
    return 1.0 - inside / len(ordered)


def count_weights(risk: Array, scale: float = 1.0, shift: float = 0.0) -> Array:
    """Count-based weights, CW: alpha = clip(c * (1 - IR) + g, 0, 1) (Algorithm 2, step 4)."""
    return np.clip(scale * (1.0 - risk) + shift, 0.0, 1.0)


def scalar_weight(target: float, unweighted: float) -> float:
    """EM: one weight, Delta_target / Delta_unweighted, at most 1 (PPM, section 3.1)."""
    if not np.isfinite(unweighted):
        return 0.0
    return min(1.0, target / unweighted) if unweighted > 0 else 1.0


def truncate(weights: Array, max_abs_log_lik: Array, bound: float) -> Array:
    """Weighted-e: alpha_i becomes 0 where alpha_i * f_i > epsilon / 2 (Censor, section 2.2).

    Parameters
    ----------
    bound : float
        epsilon / 2, in nats.
    """
    with np.errstate(invalid="ignore"):
        over = weights * max_abs_log_lik > bound
    return np.where(over | ~np.isfinite(max_abs_log_lik), 0.0, weights)


def reweight(weights: Array, lipschitz_bounds: Array, k: float, largest: float | None = None) -> Array:
    """alpha_i^w = clip(k * alpha_i * Delta / Delta_i, 0, 1) (Reweight, section 3.1).

    A weight of 0 stays 0.

    Parameters
    ----------
    lipschitz_bounds : array of shape (n_records,)
        Delta_i of the fit under `weights`.
    largest : float, optional
        Delta, frozen on another table; None is the largest of `lipschitz_bounds`.
    """
    active = lipschitz_bounds > 0
    delta = lipschitz_bounds.max() if largest is None else largest
    raised = np.zeros_like(weights)
    with np.errstate(over="ignore"):  # a tiny bound: the weight is 1 then
        raised[active] = k * weights[active] * (delta / lipschitz_bounds[active])
    return np.clip(raised, 0.0, 1.0)


def range_averaged_weights(weights: Array, outside: Array) -> Array:
    """alpha*_i = lambda_i + (1 - lambda_i) * alpha_i (Range, section 2).

    Parameters
    ----------
    outside : array of shape (n_records,)
        lambda_i, the probability that a synthetic value leaves the sensitive range.
    """
    return outside + (1.0 - outside) * weights
