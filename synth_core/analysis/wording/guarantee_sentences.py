"""A guarantee explained in plain sentences, with the numbers of a result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from scipy.special import betaincinv

from synth_core.analysis.wording.belief_sentences import at_most, odds_factor, rho_words
from synth_core.data.units import unit_words, values_words
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import (
    DECLARED_SPAN,
    REPLACED,
    WITHHELD,
    Guarantee,
    Neighbour,
    belief_after,
)
from synth_core.system.number_text import ceiling, percent, rounded_up

SEED = (
    "It holds for one exact draw of the posterior, made with secret random numbers. A chain only comes near it, and "
    "no diagnostic says how near. A release takes its random numbers from a secret of its own (124 bits a chain); the "
    "seed of an exploration is not secret."
)
DISTANCE = (
    "At a total variation TV of the chain's draw from the exact posterior, what holds is (ε, (1 + e^ε)·TV). "
    "Neither R-hat nor a search for other modes bounds TV."
)

OWN_TESTED = (
    "The program is the analyst's own. What is said here holds if its target is what the check found where it was "
    "tried: values of the parameters and bounds that were drawn, not all."
)
COVERS = "ε covers everything sensitive about one record, all of its blocks withheld together"
SHARES = "The ε of one variable is its share, not the protection of that variable: later ones are conditional on it."


def about_weights(weighted: bool, reference: str, from_current: bool, anchored: bool = False) -> str:
    """A sentence on the source of the weights, and what it means for the promise.

    `from_current` says that re-weighting, range averaging or matching reads the current table
    even where the risk map is frozen, or the span of the risk declared.
    """
    if not weighted:
        if anchored:
            return "All records of the fit have one weight c, so no record moves the weight of another."
        return "It uses no privacy weights, so nothing else of the table enters."
    if from_current and reference != "current":
        fixed = (
            "The span of the risk is declared"
            if reference == DECLARED_SPAN
            else f"The risk map is frozen on {reference}"
        )
        return (
            f"{fixed}, but re-weighting, range averaging or matching is computed from the current table, so a record's "
            "weight still depends on others."
        )
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
    return (
        f"The weights come from a risk map frozen on {reference}: a record's weight depends on that record alone. The "
        "people in that table are not covered by this ε, unless it is public."
    )


NOT_REPLACED = (
    "What replacing it by another value costs is not told, and so no bound on odds: another value may have a larger "
    "term than any record has, so that twice this ε does not bound it."
)
NEIGHBOURS = {  # what ε is for, in a sentence
    WITHHELD: "one record's value withheld, its row and its predictors kept",
    REPLACED: "one record's value replaced",
}
OF_UNITS = {  # the same of units of several records
    WITHHELD: " withheld, its rows and their predictors kept",
    REPLACED: " replaced",
}


def covers_words(unit: str | None, size: int) -> str:
    """Of whom a strict ε of several sensitive variables covers everything, in a sentence."""
    return unit_words(unit, size) or f"{COVERS}."


def in_which_sets(mechanisms: Iterable[Mechanism]) -> str:
    """Of which data sets of a release ε is, of mechanisms that stand side by side.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import find_mechanism
    >>> in_which_sets([find_mechanism("censored")]), in_which_sets([find_mechanism("measured")])
    ('in each released data set', 'in all released data sets together')
    >>> in_which_sets(map(find_mechanism, ("censored", "measured")))
    'in each released data set (of Measured in all together)'
    """
    once = {mechanism.label: mechanism.charged(2) == 1 for mechanism in mechanisms}
    if once and all(once.values()):
        return "in all released data sets together"
    together = " and ".join(label for label, one in once.items() if one)
    return "in each released data set" + (f" (of {together} in all together)" if together else "")


def neighbour_words(mechanisms: Iterable[Mechanism], unit: str | None = None) -> str:
    """What ε is for, of mechanisms that stand side by side.

    Parameters
    ----------
    unit : str, optional
        The column of units of several records that ε is for.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import find_mechanism
    >>> neighbour_words([find_mechanism("censored")])
    "ε is for one record's value withheld, its row and its predictors kept, in each released data set."
    >>> neighbour_words([find_mechanism("histogram")])
    "ε is for one record's value replaced, in each released data set."
    """
    labels: dict[str, list[str]] = {WITHHELD: [], REPLACED: []}
    shown = list(mechanisms)
    for mechanism in shown:
        labels[mechanism.neighbour].append(mechanism.label.lower())
    first = WITHHELD if labels[WITHHELD] else REPLACED
    said = f"ε is for {whom_words(first, unit)}, {in_which_sets(shown)}."
    if labels[WITHHELD] and labels[REPLACED]:
        others = " and the ".join(dict.fromkeys(labels[REPLACED]))
        said += f" Of the {others} it is for one replaced: and there a strict mechanism has twice its ε."
    return said


def whom_words(neighbour: Neighbour, unit: str | None) -> str:
    """What ε is for: one record's value, or all of one unit of several records, in a clause."""
    return NEIGHBOURS[neighbour] if unit is None else f"{values_words(unit)}{OF_UNITS[neighbour]}"


def promise_words(guarantee: Guarantee, unit: str | None = None) -> list[str]:
    """What is promised and what is not: two texts about one record, or about one unit of several records.

    Parameters
    ----------
    unit : str, optional
        The column of units of several records that ε is for.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import guarantees
    >>> promise_words(guarantees()["asymptotic"], "house")[0][:101]
    "On this table ε = 2Δ, over the draws that were looked at, bounds what taking the terms of one 'house'"
    """
    of_record = {
        "one": "record",
        "whom": "one record",
        "value": "one record's value",
        "term": "one record's term",
    }
    of_record |= {"values": values_words(None), "clamp": "±ε/2", "scale": "2/ε"}
    everything, largest = values_words(unit), f"the most records of one '{unit}'"
    of_unit = {
        "one": f"'{unit}'",
        "whom": everything,
        "value": everything,
        "term": f"the terms of one '{unit}'",
    }
    of_unit |= {
        "values": everything,
        "clamp": f"±ε/2 (divided by {largest})",
        "scale": f"2/ε (times {largest})",
    }
    words = of_record if unit is None else of_unit
    return [text.format(**words) for text in (guarantee.promise, f"Not promised: {guarantee.limits}")]


def local_words(oscillation: float | None, joint: float | None, draws: float) -> str:
    """What one record does over the draws at hand, whatever the unit; empty where it was not measured.

    What lies beyond the smallest and the largest of S independent draws has the law Beta(2, S - 1): with 95 %
    confidence at most 4.74/S of the posterior. Draws of a chain are worth as many as their effective size says.

    Parameters
    ----------
    draws : float
        The effective number, of bulk and tail the smaller one.

    Examples
    --------
    >>> local_words(None, None, 0)
    ''
    """
    if oscillation is None and joint is None:
        return ""
    ways = [
        "" if oscillation is None else f"{ceiling(oscillation, 2)} nats with all weights held",
        "" if joint is None else f"{ceiling(joint, 2)} nats as the weights of the others move with it",
    ]
    moved = oscillation is not None and joint is not None and joint > 1.01 * oscillation
    beyond = f"{ceiling(100 * float(betaincinv(2, max(draws, 2.0) - 1, 0.95)), 2)} %"
    return (
        f"Over the draws, what one record's leaving changes varies by at most {' and '.join(filter(None, ways))}, "
        f"whatever the unit of the value: a local figure. Of one record named in advance up to {beyond} of the "
        f"posterior may lie beyond draws that are worth {math.floor(draws):,} independent ones (95 % confidence)."
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
    unit: str | None = None,
) -> list[str]:
    """The badge's explanation in plain sentences, with numbers for the epsilon on screen.

    Parameters
    ----------
    anchor : str
        A sentence about what the likelihood is anchored at.
    more : sequence of str
        Sentences to follow the neighbours: of `local_words`, `OWN_TESTED`; empty ones are left out.
    unit : str, optional
        The column of units of several records that ε is for.
    """
    lines = [*promise_words(guarantee, unit), *filter(None, [anchor])]
    if guarantee.secret_seed:
        lines.append(about_weights(weighted, reference, from_current, bool(anchor)))
    of_replacing = guarantee.neighbour == REPLACED
    whom = whom_words(guarantee.neighbour, unit)
    neighbour = f"ε = {rounded_up(epsilon, 4)} is for {whom}{' by any other' if of_replacing else ''}"
    if epsilon_replace and not of_replacing:
        neighbour += (
            f"; for one replaced it is {rounded_up(epsilon_replace, 4)}"
            if guarantee.strict
            else f"; for one replaced by another value of the table a search found {rounded_up(epsilon_replace, 4)}"
        )
    charged = guarantee.charged(datasets)
    if charged > 1:
        cost = f"{datasets} × {rounded_up(epsilon, 4)} = {rounded_up(epsilon * datasets, 4)}"
        neighbour += f". {datasets} data sets cost {cost}"
    elif datasets > 1:
        neighbour += f". {datasets} data sets cost what one costs: all are made of the same measurement"
    lines += [neighbour + ".", *filter(None, more)]
    if guarantee.no_odds:
        if guarantee.rho is not None and not guarantee.pure:
            lines.append(f"{rho_words(guarantee, epsilon)}.")
        return [*lines, guarantee.no_odds, *([SEED] if guarantee.secret_seed else [])]
    # Odds between two values of a record: the neighbour relation is replacement.
    if epsilon_replace is None and not of_replacing:
        return [*lines, NOT_REPLACED, *([SEED] if guarantee.secret_seed else [])]
    total = (epsilon_replace or epsilon) * charged
    beliefs = "; ".join(
        f"{percent(prior, 0)} {at_most(belief_after(prior, total))}" for prior in (0.01, 0.1, 0.5)
    )
    factor = odds_factor(total)
    kind = "can at most become" if guarantee.strict else "on this table, as far as the search found"
    held = "" if guarantee.strict or not weighted else " and the weights of the others held"
    lines.append(
        f"What an intruder believes of a record's value before and after: odds between two values grow by at most "
        f"e^ε = {factor}, with the ε of replacing{held}. A belief of {beliefs} ({kind})."
    )
    if guarantee.secret_seed:
        lines += [SEED, *([DISTANCE] if guarantee.strict else [])]
    return lines
