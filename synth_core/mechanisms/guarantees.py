"""The privacy guarantees, as one small vocabulary used by badge, table, JSON and report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Guarantee:
    """A kind of promise.

    `kind` is the short name shown on badges; `strength` orders badges: 0 none, 1 asymptotic,
    2 strict. `limits` says what is not promised.
    """

    key: str
    label: str
    strength: int
    promise: str
    limits: str

    @property
    def strict(self) -> bool:
        """Whether ε is promised for every table, not measured on this one."""
        return self.strength == 2


WeightsFrom = Literal[
    "current", "frozen", "closed"
]  # table, a frozen map's fixed parts, or all from a plan's map

_LOCAL = (
    "It is local: a neighbouring table may have a larger ε. And it holds the weights: those rescaled by the smallest "
    "and largest risk of this very table all move when the riskiest record leaves, and 2Δ does not bound that, "
    "however many records there are."
)

_SUPPORT = (
    "It holds for every table of values that the model allows, within declared bounds where there are any. "
)

_ANCHORED = (
    _SUPPORT
    + "It covers one record's value withheld; one replaced costs at most 2ε. It rests on an anchor that was fixed "
    "without this table, or paid for: people in a table that the anchor came from are not covered. Settings chosen by "
    "looking at results on confidential data are themselves data-dependent."
)

GUARANTEES: dict[str, Guarantee] = {
    g.key: g
    for g in (
        Guarantee(
            "none",
            "no guarantee",
            0,
            "ε = 2Δ is measured on this table only; nothing was done to keep it at a target.",
            "Another table, even one that differs by a single record, may have a larger ε.",
        ),
        Guarantee(
            "asymptotic",
            "asymptotic DP",
            1,
            "On this table ε = 2Δ bounds what taking one record's term away changes, with all weights held. Where a "
            "weight reads its own record alone, it holds for every table of this kind as the number of records grows.",
            _LOCAL,
        ),
        Guarantee(
            "averaged",
            "range-averaged asymptotic DP",
            1,
            "The measured ε = 2Δ bounds what is learned about a value within its sensitive range, "
            "averaged by the probability that a synthetic value falls into the range.",
            _LOCAL + " That the value lies in its range is not protected; the average is over the "
            "model's predictive distribution, not a worst case.",
        ),
        Guarantee(
            "truncated",
            "range-truncated asymptotic DP",
            1,
            "The measured ε = 2Δ bounds what is learned about a value within its sensitive range, "
            "given that the range itself is known.",
            _LOCAL + " That the value lies in its range is not protected.",
        ),
        Guarantee(
            "censored",
            "ε-DP",
            2,
            "No table and no record can exceed ε: every term of the likelihood is clamped to ±ε/2.",
            _SUPPORT
            + "It covers one record's value withheld; one replaced costs at most 2ε. Settings chosen by "
            "looking at results on confidential data are themselves data-dependent.",
        ),
        Guarantee(
            "censored_weighted",
            "ε-DP",
            2,
            "No table and no record can exceed ε: every weighted term of the likelihood is clamped to ±ε/2.",
            _SUPPORT
            + "It covers one record's value withheld; one replaced costs at most 2ε. Settings chosen by "
            "looking at results on confidential data are themselves data-dependent.",
        ),
        Guarantee(
            "anchored",
            "ε-DP",
            2,
            "No table and no record can exceed ε: what every record says of θ beyond what it says of a fixed anchor is "
            "clamped to ±ε/2.",
            _ANCHORED,
        ),
        Guarantee(
            "anchored_weighted",
            "ε-DP",
            2,
            "No table and no record can exceed ε: what every record, weighted, says of θ beyond what it says of a "
            "fixed anchor is clamped to ±ε/2.",
            _ANCHORED,
        ),
        Guarantee(
            "weights_seen",
            "ε-DP for given weights",
            1,
            "The mechanism is strict once its weights are given: every weighted term is clamped to ±ε/2. But these "
            "weights read the current table.",
            "It is no ε-DP guarantee: one record moves the weights of others, and nothing bounds what that changes, "
            "however many records there are. Freeze the risk map on another table.",
        ),
        Guarantee(
            "data_derived",
            "ε taken from these data",
            1,
            "The mechanism is strict at a given ε, but this ε was computed from the confidential data, to match "
            "another mechanism.",
            "It is no ε-DP guarantee: another table would have been given another ε.",
        ),
        Guarantee(
            "settings_seen",
            "ε-DP for given settings",
            1,
            "The mechanism is strict once its settings are given, but they were chosen by looking at results on "
            "the confidential data.",
            "It is no ε-DP guarantee: another table might have been given other settings.",
        ),
        Guarantee(
            "histogram",
            "ε-DP",
            2,
            "Laplace noise of scale 2/ε on every count gives ε for one record replaced, in one release.",
            "Only for bounds, bins and an ε that were fixed without looking at the data. A censored one beside it has "
            "its ε for a value withheld, and twice as large for one replaced.",
        ),
    )
}


COVERED = "60 to 72 % of other databases in the papers' own design"  # by 2sΔ, at ε = 5, 4, 3 (published-and-ours.md)


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
