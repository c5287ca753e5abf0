"""What a guarantee leaves an intruder to believe, as one sentence for readers who do not know ε."""

from __future__ import annotations

import math

from synth_core.mechanisms.composition import DELTA, epsilon_at
from synth_core.mechanisms.guarantees import Guarantee, belief_after
from synth_core.system.number_text import ceiling, percent, rounded_up

PRIOR = 0.01  # the suspicion that the sentence starts from


def epsilon_number(epsilon: float) -> str:
    """Epsilon with two decimals at most, more where it is small; never less than it is.

    Examples
    --------
    >>> epsilon_number(0.5), epsilon_number(8.462), epsilon_number(0.0123), epsilon_number(1.125)
    ('0.5', '8.47', '0.013', '1.13')
    """
    if epsilon < 0.1:
        return rounded_up(epsilon, 2)
    text = ceiling(epsilon, 2)
    return text.rstrip("0").rstrip(".") if "." in text else text


def at_most(belief: float) -> str:
    """A largest belief in percent, rounded up: what is said to be the most must not be too little.

    Examples
    --------
    >>> at_most(0.02671), at_most(0.1421), at_most(0.99996)
    ('at most 2.7 %', 'at most 15 %', 'nearly 100 %')
    """
    percent = 100 * belief
    if percent > 99:
        return "nearly 100 %"
    tenths = math.ceil(round(10 * percent, 6)) / 10
    return f"at most {tenths:g} %" if percent < 10 else f"at most {math.ceil(round(percent, 6))} %"


def odds_factor(epsilon: float) -> str:
    """The factor by which odds grow at most, rounded up as a largest belief is.

    Examples
    --------
    >>> odds_factor(1.0), odds_factor(40.0)
    ('2.8', 'e^40')
    """
    if epsilon >= 30:
        return f"e^{math.ceil(round(epsilon, 6))}"
    return f"{math.ceil(round(10 * math.exp(epsilon), 6)) / 10:,.1f}"


def rho_words(guarantee: Guarantee, epsilon: float) -> str:
    """What an ε is that names a ρ, for one record's values withheld.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import guarantees
    >>> rho_words(guarantees()["measured"], 1.0)
    'ε = 1 names ρ = 0.125 (zCDP), which is (ε, δ)-DP with ε = 2.42 at δ = 1e-06'
    """
    assert guarantee.rho is not None
    rho = guarantee.rho(epsilon)
    return (
        f"ε = {epsilon_number(epsilon)} names ρ = {rounded_up(rho, 4)} (zCDP), which is (ε, δ)-DP with "
        f"ε = {rounded_up(epsilon_at(rho), 4)} at δ = {DELTA:g}"
    )


def rho_beside(rho: float) -> str:
    """What stands in brackets behind an ε that names a ρ: the ρ, and as what a limit at δ counts it.

    Examples
    --------
    >>> rho_beside(0.125)
    'ρ = 0.125; 2.42 at δ = 1e-06'
    """
    return f"ρ = {rounded_up(rho, 4)}; {rounded_up(epsilon_at(rho), 4)} at δ = {DELTA:g}"


def _guessed(guarantee: Guarantee, epsilon: float, values: str) -> str:
    """What zCDP leaves an intruder, in words."""
    assert guarantee.rho is not None
    rho = guarantee.rho(epsilon)
    return (
        f"At ε = {epsilon_number(epsilon)} ({rho_beside(rho)}) who guesses whether {values} were withheld is "
        f"right in {at_most(right_guesses(rho))} of all cases, where a coin is in 50 %"
    )


def right_guesses(rho: float) -> float:
    """The largest share of right guesses whether one record's values were withheld, as likely as not, by ρ-zCDP.

    It is (1 + TV) / 2. The Kullback-Leibler divergence of the two distributions is at most ρ, so their total variation
    is at most the smaller of sqrt(ρ / 2) (Pinsker) and sqrt(1 - exp(-ρ)) (Bretagnolle and Huber).

    Examples
    --------
    >>> right_guesses(0.125)
    0.625
    """
    return 0.5 + 0.5 * min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))


def suspicion(
    guarantee: Guarantee,
    epsilon: float,
    epsilon_replace: float | None,
    datasets: int = 1,
    weights: str = "fixed",
    values: str = "one record's values",
) -> str:
    """What becomes of an intruder's suspicion of 1 % that a record has a certain value.

    A suspicion p becomes at most p e^ε' / (1 - p + p e^ε'), ε' being that of one value replaced, in all data sets:
    twice the ε of a value withheld where the likelihood is clamped, the measured one elsewhere. That is the largest
    that a search found, so nothing is said to be the most there. Where the proof gives no bound on odds, the sentence
    says so.

    Parameters
    ----------
    guarantee : Guarantee
    epsilon : float
        Of one data set.
    epsilon_replace : float or None
        For one value replaced; without it, twice `epsilon`: withheld and put back.
    weights : str
        Of other records, where the guarantee is measured: "fixed" (there are none, or they do not move), "held"
        (they move and are held in `epsilon_replace`).
    values : str
        What ε is for, where a unit has several records.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import guarantees
    >>> suspicion(guarantees()["censored"], 0.5, 1.0)
    "At ε = 0.5 an intruder's suspicion of 1 % rises to at most 2.7 %."
    """
    at = f"ε = {epsilon_number(epsilon)}"
    if not guarantee.pure:
        lesser = guarantee.given
        return _guessed(guarantee, epsilon, values) + (
            f", {lesser[0]}; not promised: {lesser[1]}." if lesser else "."
        )
    if guarantee.learned:
        return f"In this table, and not promised for another, {at} bounds {guarantee.learned}."
    replaced = 2 * epsilon if epsilon_replace is None else epsilon_replace
    charged = guarantee.charged(datasets)
    after = at_most(belief_after(PRIOR, replaced * charged))
    suspected = f"an intruder's suspicion of {percent(PRIOR, 0)} rises to"
    risen = f"{suspected} {after}"
    each = f" for each of {charged} data sets" if charged > 1 else ""
    if guarantee.strict:
        return f"At {at}{each} {risen}."
    if guarantee.given is not None:
        given, why = guarantee.given
        return f"At {at}{each}, {given}, {risen}; not promised: {why}."
    held = "; that the weights of others move with it is not counted" if weights == "held" else ""
    found = after.removeprefix("at most ")  # of a search, which gives no bound
    # Its ε is told elsewhere: beside that of the row, ten times as large, a second one was no sentence's to explain.
    return (
        f"In this table {suspected} {found}, the largest found for a changed value{each}{held}; not promised for "
        f"another table."
    )
