"""What many releases cost together: by the sum of ε, or by zero-concentrated differential privacy (zCDP)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.system import limits

DELTA = 1e-6  # at which a sum of ρ is shown as (ε, δ)
_LARGEST_RHO = 1e4  # that opendp's conversion takes without overflow, with room to spare


@dataclass(frozen=True)
class Count:
    """How a limit counts: the sum of ε where `delta` is None, otherwise ε at that δ, by zCDP.

    Raises
    ------
    InputError
        If δ is beyond its bounds.
    """

    delta: float | None = None

    def __post_init__(self) -> None:
        low, high = limits.LIMIT_DELTA
        if self.delta is not None and not low <= self.delta <= high:
            raise InputError(f"The δ of a limit must lie between {low:g} and {high:g}.")

    @property
    def words(self) -> str:
        """What is counted."""
        return "the sum of ε" if self.delta is None else f"ε at δ = {self.delta:g}, by zCDP"

    def taken(self, guarantee: Guarantee, epsilon: float, datasets: int) -> float | None:
        """What one release alone takes of a limit that counts so; None where it cannot be counted so.

        Examples
        --------
        >>> from synth_core.mechanisms.catalogue import guarantees
        >>> measured, anchored = guarantees()["measured"], guarantees()["anchored"]
        >>> Count().taken(anchored, 0.5, 3), Count().taken(measured, 2.0, 3)
        (1.5, None)
        >>> round(Count(1e-6).taken(measured, 2.0, 3), 2)
        5.22
        """
        if self.delta is None:
            return epsilon * guarantee.charged(datasets) if guarantee.pure else None
        rho = rho_of(guarantee, epsilon, datasets)
        return None if rho is None else epsilon_at(rho, self.delta)


SUM = Count()


def not_counted(label: str, guarantee: Guarantee, count: Count) -> str:
    """Why a limit cannot count the releases of a mechanism (see `Count.taken`), and what can be done."""
    laplace = "or take Laplace noise, whose ε can be summed: Measured, pure ε (page Compare)."
    if guarantee.strict and guarantee.rho is not None:
        return (
            f"{label} promises ρ (zCDP) and no pure ε, and the limit counts {count.words}. Let the limit of a series "
            f"count by zCDP, which is fixed with its first limit, {laplace}"
        )
    why = f"no theorem gives the ρ of its releases ({guarantee.label})"
    other = "tune on a public, simulated or historical table"
    if guarantee.pure:
        return f"{label}: the limit counts {count.words}, and {why}: {other}, or let the limit count the sum of ε."
    return f"{label}: {why}, and it has no pure ε, so no limit could count one: {other}, {laplace}"


def rho_of(guarantee: Guarantee, epsilon: float, datasets: int) -> float | None:
    """ρ of the data sets of one release; None where no theorem gives one.

    A clamped term's log ratio varies over θ by at most ε (bounded range), so one draw is ε²/8-zCDP
    (`bounded_range_rho`); the histogram's Laplace noise is ε-DP and so ε²/2-zCDP (`pure_rho`).

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import guarantees
    >>> rho_of(guarantees()["anchored"], 0.5, 1), rho_of(guarantees()["asymptotic"], 0.5, 1)
    (0.03125, None)
    """
    if not guarantee.strict or guarantee.rho is None:
        return None
    return guarantee.charged(datasets) * guarantee.rho(epsilon)


def epsilon_at(rho: float, delta: float = DELTA) -> float:
    """ε of (ε, δ)-DP that ρ-zCDP gives, by opendp's conversion.

    Beyond what opendp can represent it is ρ + 2 √(ρ log(1/δ)), which is slightly larger (Bun and Steinke 2016).

    Examples
    --------
    >>> round(epsilon_at(12 * 0.5**2 / 8), 2)
    4.44
    """
    if rho <= 0:
        return 0.0
    if rho > _LARGEST_RHO:
        return rho + 2 * math.sqrt(rho * math.log(1 / delta))
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = 1 / math.sqrt(2 * rho)  # of Gaussian noise of that ρ
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)
    return float(dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta))


@functools.lru_cache(maxsize=256)
def rho_at(epsilon: float, delta: float) -> float:
    """The largest ρ that gives no more than ε at δ, from below.

    Examples
    --------
    >>> round(rho_at(4.5, 1e-6), 3)
    0.384
    """
    low, high = 0.0, 1.0
    while epsilon_at(high, delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(middle, delta) <= epsilon else (low, middle)
    return low
