"""Privacy guarantees: what is promised, about which neighbouring tables, and how releases add up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Neighbour = Literal["withheld", "replaced"]  # how neighbouring tables differ in one record's value
WITHHELD: Neighbour = "withheld"
REPLACED: Neighbour = "replaced"


def bounded_range_rho(epsilon: float) -> float:
    """ρ of one draw whose log ratio varies over θ by at most ε (Cesar and Rogers 2021)."""
    return epsilon**2 / 8


def pure_rho(epsilon: float) -> float:
    """ρ of any ε-DP mechanism (Bun and Steinke 2016)."""
    return epsilon**2 / 2


@dataclass(frozen=True)
class Guarantee:
    """A kind of promise.

    Attributes
    ----------
    label : str
        The short name shown on badges.
    strength : int
        Orders badges: 0 none, 1 asymptotic, 2 strict.
    promise, limits : str
        What is promised, and what is not; with the fields of `analysis.wording.guarantee_sentences.promise_words`,
        which says them of one record, or of a unit of several.
    neighbour : str
        What ε is for: one record's value "withheld" or "replaced".
    rho : callable, optional
        ρ (zCDP) of one charged data set, given its ε; None where no theorem gives one.
    one_charge : bool
        Whether all data sets of a release cost what one costs, since they are made of one measurement.
    secret_seed : bool
        Whether it rests on a draw made with a secret seed; else on noise without one, and no weights enter.
    given : pair of str, optional
        What a strict promise takes as given, and why it may not be: both are clauses of a sentence.
    learned : str
        What ε bounds where no bound on an intruder's belief follows: the rest of the sentence "ε bounds".
    no_odds : str
        Why none follows; empty where it does.
    pure : bool
        Whether ε itself is promised, and adds up; else it names the ρ (zCDP) that `rho` gives of it.
    """

    key: str
    label: str
    strength: int
    promise: str
    limits: str
    neighbour: Neighbour = WITHHELD
    rho: Callable[[float], float] | None = None
    one_charge: bool = False
    secret_seed: bool = True
    given: tuple[str, str] | None = None
    learned: str = ""
    no_odds: str = ""
    pure: bool = True

    @property
    def strict(self) -> bool:
        """Whether ε is promised for every table, not measured on this one."""
        return self.strength == 2

    def charged(self, datasets: int) -> int:
        """How many of the data sets of a release are charged."""
        return 1 if self.one_charge else datasets

    @property
    def sets_words(self) -> str:
        """Of how many data sets of a release an ε is."""
        return "for all data sets together" if self.one_charge else "a data set"

    def weakened_to(self, lesser: Guarantee) -> Guarantee:
        """A lesser promise of the same mechanism: about the same neighbours, charged and counted as this one is."""
        return replace(
            lesser,
            label=lesser.label.replace("ε-DP", self.label),
            neighbour=self.neighbour,
            rho=self.rho,
            one_charge=self.one_charge,
            secret_seed=self.secret_seed,
            no_odds=self.no_odds,
            pure=self.pure,
        )

    def replaced(self, epsilon: float) -> float:
        """The a-priori ε of one record's value replaced, given the ε that is promised for `neighbour`."""
        return epsilon if self.neighbour == REPLACED else 2 * epsilon


WeightsFrom = Literal[
    "current", "frozen", "closed"
]  # table, a frozen map's fixed parts, or a plan's map, which fixes what its mechanism reads

DECLARED_SPAN = "declared span"  # of the risk, in the place of the name of a table that weights come from

SUPPORT = (
    "It holds for every table of values that the model allows, within declared bounds where there are any: to these a "
    "release brings each value that lies beyond them."
)
EMPTIED = (
    "Anything about emptying a cell of a variable that is not declared to have missing values: its row leaves, and the "
    "number of records, the scaling of predictors, c and the prior move with it. "
)
ONE_VALUE = "As little as ε for {value} replaced: that costs up to 2ε. "
CHOSEN = "Anything about settings that were chosen by looking at results on confidential data."

NONE = Guarantee(
    "none",
    "no guarantee",
    0,
    "ε = 2Δ is measured on this table only; nothing was done to keep it at a target.",
    "Another table, even one that differs by a single record, may have a larger ε.",
)
WEIGHTS_SEEN = Guarantee(
    "weights_seen",
    "ε-DP for given weights",
    1,
    "The mechanism is strict once its weights are given: every weighted term is clamped to {clamp}. But these "
    "weights read the current table.",
    "It is no ε-DP guarantee: one record moves the weights of others, and nothing bounds what that changes, "
    "however many records there are. Freeze the risk map on another table.",
    given=("these weights given", "the weights were made from this table"),
)
DATA_DERIVED = Guarantee(
    "data_derived",
    "ε taken from these data",
    1,
    "The mechanism is strict at a given ε, but this ε was computed from the confidential data, to match "
    "another mechanism.",
    "It is no ε-DP guarantee: another table would have been given another ε.",
    given=("this ε given", "this ε was taken from this table"),
)
SETTINGS_SEEN = Guarantee(
    "settings_seen",
    "ε-DP for given settings",
    1,
    "The mechanism is strict once its settings are given, but they were chosen by looking at results on "
    "the confidential data.",
    "It is no ε-DP guarantee: another table might have been given other settings.",
    given=("these settings given", "they were chosen by looking at results on confidential data"),
)

COVERED = "61 to 72 % of other databases in the papers' own design"  # by 2sΔ, at ε = 5, 4, 3 (published-and-ours.md)


def belief_after(prior: float, epsilon: float) -> float:
    """The most that an intruder's belief can become after releases of total `epsilon`.

    Posterior odds are at most e^epsilon times prior odds.

    Examples
    --------
    >>> round(belief_after(0.01, math.log(10)), 3)
    0.092
    """
    if epsilon > 700:
        return 1.0
    odds = prior / (1.0 - prior) * math.exp(epsilon)
    return odds / (1.0 + odds)


def safety_factor(n: int) -> float:
    """Room for the distance between a local and the global bound (PPM, section 4.5).

    The upper end of the paper's interval: s in (1, 1.05) for n > 1000, in (1.05, 1.10) below. The
    paper leaves n = 1000 open; it takes the larger.

    Examples
    --------
    >>> safety_factor(1001), safety_factor(1000)
    (1.05, 1.1)
    """
    return 1.05 if n > 1000 else 1.10
