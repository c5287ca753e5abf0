"""What an epsilon is for either side, so that a comparison is one of the same protection.

Neighbours. Ours are two tables that differ in whether the sensitive values of one record are withheld; its predictors
and the number of records are public. A rival works on a table of rows, and its neighbours differ by one row more. With
the predictors of all records known beforehand, a row more is the sensitive values of one record more, so both promise
the same: what is released hardly depends on whether these values were there.

Amount. One draw of a block with clamped terms has a log ratio that varies by at most epsilon_k (bounded range), which
is epsilon_k^2 / 8 zCDP (Cesar and Rogers 2021), and blocks are independent draws, so their rho add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth_core.errors import InputError

COUNTED = ("rho", "epsilon")


def guarantee_words(counted: str, share_squares: float = 1.0) -> str:
    """What a rival promises beside an ε, in few words.

    Parameters
    ----------
    share_squares : float
        Below 1 where ε is divided among several of our fits: their ρ, and the rival's, is a sum over them.

    Examples
    --------
    >>> guarantee_words("rho"), guarantee_words("rho", 0.5), guarantee_words("epsilon", 0.5)
    ('zCDP, ρ = ε²/8', 'zCDP, ρ = Σ εₖ²/8', 'ε-DP')
    """
    if counted == "epsilon":
        return "ε-DP"
    return "zCDP, ρ = ε²/8" if share_squares == 1 else "zCDP, ρ = Σ εₖ²/8"


def rival_promise(epsilon: float, counted: str, share_squares: float = 1.0) -> str:
    """The same with its number.

    Examples
    --------
    >>> rival_promise(2.0, "rho"), rival_promise(2.0, "rho", 0.5), rival_promise(2.0, "epsilon")
    ('zCDP with ρ = ε²/8 = 0.5', 'zCDP with ρ = Σ εₖ²/8 = 0.25', 'ε-DP with ε = 2')
    """
    words = guarantee_words(counted, share_squares)
    if counted == "epsilon":
        return f"{words} with ε = {epsilon:.4g}"
    return f"{words.replace(',', ' with')} = {epsilon**2 * share_squares / 8:.3g}"


@dataclass(frozen=True)
class Budget:
    """What a synthesizer may spend.

    Attributes
    ----------
    epsilon : float
    counted : {"rho", "epsilon"}
        "epsilon": both sides are epsilon-DP; blocks sum to it. "rho": both are rho-zCDP with rho = epsilon^2 / 8,
        what a single draw of bounded range epsilon has.
    """

    epsilon: float
    counted: str = COUNTED[0]

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InputError(f"An ε must be above 0 (given: {self.epsilon:g}).")
        if self.counted not in COUNTED:
            raise InputError(f"A budget is counted by {' or '.join(COUNTED)} (given: {self.counted}).")

    @property
    def rho(self) -> float:
        """The ρ of zCDP."""
        return self.epsilon**2 / 8

    def part(self, share: float) -> Budget:
        """A share of it: of rho, or of epsilon.

        Examples
        --------
        >>> Budget(2.0).part(0.25), Budget(2.0, "epsilon").part(0.25).epsilon
        (Budget(epsilon=1.0, counted='rho'), 0.5)
        """
        return Budget(self.epsilon * (math.sqrt(share) if self.counted == "rho" else share), self.counted)

    def of_blocks(self, shares: Sequence[float]) -> float:
        """The epsilon that blocks divide by their shares.

        Examples
        --------
        Four equal blocks have epsilon / 2 each: 4 (epsilon / 2)^2 / 8 = epsilon^2 / 8.

        >>> Budget(1.0).of_blocks([0.25] * 4), Budget(1.0, "epsilon").of_blocks([0.25] * 4)
        (2.0, 1.0)
        """
        if self.counted == "epsilon":
            return self.epsilon
        return self.epsilon / math.sqrt(sum(share**2 for share in shares))


def refuse_units(settings: Mapping[str, Any]) -> None:
    """Refuse units of several records: other synthesizers count records, and would not be held to the same."""
    if settings.get("unit_column") is not None:
        raise InputError(
            "Other synthesizers promise their ε for one record: compare without units (--unit-column)."
        )
