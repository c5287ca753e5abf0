"""What many releases cost together: by the sum of ε, or by zero-concentrated differential privacy (zCDP)."""

from __future__ import annotations

import math

from synth_core.mechanisms.guarantees import Guarantee

DELTA = 1e-6  # at which a sum of ρ is shown as (ε, δ)


def rho_of(guarantee: Guarantee, epsilon: float, datasets: int) -> float | None:
    """ρ of the data sets of one release; None where no theorem gives one.

    A clamped term's log ratio varies over θ by at most ε (bounded range), so one draw is ε²/8-zCDP (Cesar and
    Rogers 2021); the histogram's Laplace noise is ε-DP and so ε²/2-zCDP (Bun and Steinke 2016).

    Examples
    --------
    >>> from synth_core.mechanisms.guarantees import GUARANTEES
    >>> rho_of(GUARANTEES["anchored"], 0.5, 1), rho_of(GUARANTEES["asymptotic"], 0.5, 1)
    (0.03125, None)
    """
    if not guarantee.strict:
        return None
    return datasets * epsilon**2 / (2 if guarantee.key == "histogram" else 8)


def epsilon_at(rho: float, delta: float = DELTA) -> float:
    """ε of (ε, δ)-DP that ρ-zCDP gives, by opendp's conversion.

    Examples
    --------
    >>> round(epsilon_at(12 * 0.5**2 / 8), 2)
    4.44
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = 1 / math.sqrt(2 * rho)  # of Gaussian noise of that ρ
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)
    return float(dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta))
