"""Bringing a mechanism's measured epsilon to a target, by exact refits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.solving import Solution, solve_increasing


class _HasEpsilon(Protocol):
    @property
    def epsilon(self) -> float: ...


Tuned = TypeVar("Tuned", bound=_HasEpsilon)


def solve_for_epsilon(
    evaluate: Callable[[float], Tuned],
    target: float,
    whose: str,
    mechanism: Mechanism,
    upper: float,
    tolerance: float,
    start: float = 0.5,
) -> tuple[Tuned, Solution]:
    """Solve for the setting in (0, upper] at which a mechanism's measured epsilon is `target`.

    Parameters
    ----------
    evaluate : callable
        An exact refit at a setting; what it returns has an `epsilon`.
    whose : str
        For messages: "of Weighted", or nothing.

    Raises
    ------
    InputError
        If no setting brings epsilon within the relative tolerance of the target.
    """
    refits: dict[float, Tuned] = {}

    def epsilon_at(x: float) -> float:
        refits[x] = evaluate(x)
        return refits[x].epsilon

    wanted = f"ε = {target:.2f} {whose}".strip()
    try:
        solution = solve_increasing(epsilon_at, target, start, upper, tolerance)
    except ValueError:
        raise InputError(
            f"{mechanism.label} cannot reach the {wanted}: even its largest weights stay below it."
        ) from None
    if solution.error > tolerance:
        raise InputError(
            f"{mechanism.label} cannot be brought to the {wanted} by scaling its "
            f"weights: the nearest is ε = {solution.value:.2f}."
        )
    return refits[solution.at], solution
