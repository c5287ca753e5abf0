"""Whether a limit has room for a charge, and what is spent and left in words."""

from __future__ import annotations

import math

from synth_core.errors import InputError
from synth_core.mechanisms.composition import DELTA, Count, epsilon_at, rho_at
from synth_core.release.ledger.balances import Balance, Place
from synth_core.system.number_text import rounded_up

ROUNDING = 1e-9  # a sum of decimals may miss a limit by its last bits
_WHAT_TO_DO = (
    "Wait for the next table's budget, plan a smaller ε or fewer data sets, or raise the limit with a reason."
)


def check_room(others: Balance, epsilon: float, rho: float | None, guarantee: str) -> None:
    """Refuse a charge that passes the limit.

    Parameters
    ----------
    others : Balance
        Of the series without the release that is charged.
    epsilon, rho : float
        All data sets of the release. `rho` is None where no theorem gives one.
    guarantee : str
        What the release promises, for the message.

    Raises
    ------
    InputError
        If no limit is set, there is no room, or the limit counts ρ and the release has none.
    """
    series, limit, delta = others.series, others.limit, others.count.delta
    if limit is None:
        raise InputError(f"The series {series} has no limit yet: set one (--limit, or `ledger limit`).")
    most = _most(limit)
    if delta is None:
        if others.spent + epsilon > most:
            raise InputError(
                f"The limit of the series {series} has no room for this release: it allows ε = {limit:g} in all, "
                f"{others.spent:g} is spent or reserved, and this release needs {epsilon:g}. {_WHAT_TO_DO}"
            )
        return
    if rho is None:
        raise InputError(
            f"The limit of the series {series} counts {others.count.words}, and no theorem gives the ρ of this "
            f"release ({guarantee}): only a strict guarantee has one. Plan a strict mechanism that was not tuned "
            f"on this table, or release under a series whose limit counts the sum of ε."
        )
    reached = math.inf if others.rho is None else epsilon_at(others.rho + rho, delta)
    if reached > most:
        raise InputError(
            f"The limit of the series {series} has no room for this release: it allows ε = {limit:g} at "
            f"δ = {delta:g} in all, by zCDP, {_at(limit_spent(others))} is spent or reserved, and with this "
            f"release it would be {_at(reached)}; {left_words(others)}. {_WHAT_TO_DO}"
        )


def over_limit(held: Balance) -> str:
    """That more is spent than the limit allows now, in words: it was lowered since. Empty where it allows it."""
    if held.limit is None or limit_spent(held) <= _most(held.limit):
        return ""
    return f"the limit is {limit_words(held)} now and allows less than what is spent: it was lowered after the charge"


def _most(limit: float) -> float:
    return limit + ROUNDING * max(1.0, limit)


def check_count(balance: Balance, asked: Count | None) -> Count:
    """How the next limit of a series counts: as its first one did.

    Parameters
    ----------
    asked : Count, optional
        What was asked for; None leaves it as it is, and is the sum of ε for a first limit.

    Raises
    ------
    InputError
        If another one was asked for.
    """
    if balance.limit is None:
        return asked or Count()
    if asked not in (None, balance.count):
        raise InputError(
            f"The limit of the series {balance.series} counts {balance.count.words}. That was fixed with its first "
            f"limit: the number may change, what it counts may not. For another one, start another series."
        )
    return balance.count


def limit_spent(held: Balance | Place) -> float:
    """What the limit counts, so far: the sum of ε, or ε at the limit's δ."""
    if held.count.delta is None:
        return held.spent
    return math.inf if held.rho is None else epsilon_at(held.rho, held.count.delta)


def largest_next(held: Balance | Place) -> float:
    """Under a limit by zCDP: the largest ε of one more data set whose ρ is ε²/8, to two decimals.

    Of Laplace noise, whose ρ is ε²/2, half of it.
    """
    if held.limit is None or held.count.delta is None or held.rho is None:
        return 0.0
    room = rho_at(held.limit, held.count.delta) - held.rho
    return math.floor(100 * math.sqrt(8 * room)) / 100 if room > 0 else 0.0


def spent_words(held: Balance | Place) -> str:
    """What the limit counts, so far."""
    if held.count.delta is None:
        return f"ε = {held.spent:g}"
    return f"ε = {_at(limit_spent(held))} at δ = {held.count.delta:g}"


def limit_words(held: Balance | Place) -> str:
    """The limit, and that it counts by zCDP if it does."""
    limit = 0.0 if held.limit is None else held.limit
    return f"{limit:g}" + (", counted by zCDP" if held.count.delta is not None else "")


def other_words(held: Balance | Place) -> str:
    """The releases of a series in the way that its limit does not count; empty where no theorem does.

    ε of Gaussian noise names a ρ: those of several releases have no sum that would be a loss of privacy.
    """
    if held.count.delta is not None:
        return f"the sum of ε is {held.spent:g}" if held.pure else ""
    return f"counted by zCDP, ε = {rounded_up(epsilon_at(held.rho), 4)} at δ = {DELTA:g}" if held.rho else ""


def left_words(held: Balance | Place) -> str:
    """What the limit still allows."""
    if held.limit is None:
        return "no limit"
    if held.count.delta is None:
        return f"{max(0.0, round(held.limit - held.spent, 9)):g} left"
    largest = largest_next(held)
    if not largest:
        return "no room for another one"
    half = math.floor(50 * largest) / 100
    return f"room for one more data set of at most ε = {largest:g} (with Laplace noise {half:g})"


def _at(epsilon: float) -> str:
    return rounded_up(epsilon, 4)
