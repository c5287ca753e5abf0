"""The privacy guarantees, as one small vocabulary used by badge, table, JSON and report."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


SEED = (
    "It holds for one draw made with a secret random seed, up to the sampler's distance from the exact "
    "posterior: never publish the seed of a release. It has 31 bits a chain, so the promise is computational: it "
    "holds against who cannot try them all."
)

OWN_TESTED = (
    "The program is the analyst's own. What is said here holds if its target is what the check found where it was "
    "tried: values of the parameters and bounds that were drawn, not all."
)

COVERED = "60 to 72 % of other databases in the papers' own design"  # by 2sΔ, at ε = 5, 4, 3 (published-and-ours.md)

# What an intruder may learn, where a bound on odds does not follow from the claim.
NO_ODDS = {
    "averaged": "An average bounds no single case: nothing follows for what an intruder may believe of one record.",
    "truncated": "Nothing follows for what an intruder believes who does not know the range. A range relative to the "
    "value (from a·x to b·x) tells the value to whoever knows the range: use fixed brackets where it could be known.",
}


DECLARED_SPAN = "declared span"  # in the place of a reference table's name


def about_weights(weighted: bool, reference: str, from_current: bool, anchored: bool = False) -> str:
    """Whose alpha: what the source of the weights means for the promise.

    `from_current` says that re-weighting, range averaging or matching reads the current table
    even where the risk map is frozen.
    """
    if not weighted:
        if anchored:
            return "All records of the fit have one weight c, so no record moves the weight of another."
        return "It uses no weights, so nothing else of the table enters."
    if reference == DECLARED_SPAN:
        return (
            "The span of the risk is declared, so no record that leaves rescales the weights of the others; they read "
            "the table through the draws of its unweighted fit alone."
        )
    if reference == "current":
        return (
            "The weights come from the current table: a record's weight depends on all records. Only a frozen risk map "
            "(a risk reference) makes it depend on its own."
        )
    if from_current:
        return (
            f"The risk map is frozen on {reference}, but re-weighting, range averaging or matching is computed from "
            "the current table, so a record's weight still depends on others."
        )
    return (
        f"The weights come from a risk map frozen on {reference}: a record's weight depends on that record alone. The "
        "people in that table are not covered by this ε, unless it is public."
    )


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


def local_words(oscillation: float | None, joint: float | None, draws: int) -> str:
    """What one record does over the draws at hand, whatever the unit; empty where it was not measured.

    If all of S independent draws stay within a range, at most 3/S of the posterior lies beyond it, with 95 %
    confidence: (1 - p)^S = 0.05.

    Examples
    --------
    >>> local_words(None, None, 0)
    ''
    """
    if oscillation is None and joint is None:
        return ""
    ways = [
        "" if oscillation is None else f"{oscillation:.2f} nats with all weights held",
        "" if joint is None else f"{joint:.2f} nats as the weights of the others move with it",
    ]
    moved = oscillation is not None and joint is not None and joint > 1.01 * oscillation
    return (
        f"Over the draws, what one record's leaving changes varies by at most {' and '.join(filter(None, ways))}, "
        f"whatever the unit of the value: a local figure. Up to {3 / draws:.2%} of the posterior may lie beyond "
        f"{draws:,} draws (95 % confidence)."
        + (" What is said with weights held says too little here: they move." if moved else "")
    )


def explain(  # noqa: PLR0913 # each is another part of what is said
    guarantee: Guarantee,
    epsilon: float,
    epsilon_replace: float | None,
    datasets: int,
    weighted: bool,
    reference: str,
    from_current: bool = False,
    anchor: str = "",
    more: Sequence[str] = (),
) -> list[str]:
    """The badge's explanation in plain sentences, with numbers for the epsilon on screen.

    Parameters
    ----------
    anchor : str
        A sentence about what the likelihood is anchored at.
    more : sequence of str
        Sentences to follow the neighbours: of `local_words`, `OWN_TESTED`; empty ones are left out.
    """
    lines = [guarantee.promise, f"Not promised: {guarantee.limits}", *filter(None, [anchor])]
    histogram = guarantee.key == "histogram"
    if not histogram:
        lines.append(about_weights(weighted, reference, from_current, bool(anchor)))
    change = "replaced by any other" if histogram else "withheld, its row and its predictors kept"
    neighbour = f"ε = {epsilon:.2f} is for one record's value {change}"
    if epsilon_replace and not histogram:
        neighbour += f"; for one replaced {'' if guarantee.strict else 'by another value of the table '}"
        neighbour += f"it is {epsilon_replace:.2f}"
    if datasets > 1:
        neighbour += f". {datasets} data sets cost {datasets} × {epsilon:.2f} = {epsilon * datasets:.2f}"
    lines += [neighbour + ".", *filter(None, more)]
    if guarantee.key in NO_ODDS:
        return [*lines, NO_ODDS[guarantee.key], SEED]
    # Odds between two values of a record: the neighbour relation is replacement.
    total = (epsilon_replace or epsilon) * datasets
    beliefs = "; ".join(f"{prior:.0%} at most {belief_after(prior, total):.1%}" for prior in (0.01, 0.1, 0.5))
    factor = f"{math.exp(total):,.1f}" if total < 30 else f"e^{total:.0f}"
    kind = "can at most become" if guarantee.strict else "would on this table at most become"
    held = "" if guarantee.strict or not weighted else " and the weights of the others held"
    lines.append(
        f"What an intruder believes of a record's value before and after: odds between two values grow by at most "
        f"e^ε = {factor}, with the ε of replacing{held}. A belief of {beliefs} ({kind})."
    )
    if not histogram:
        lines.append(SEED)
    return lines


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
