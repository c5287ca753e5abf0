"""How much of epsilon each sensitive variable needs for the accuracy that is asked of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult
from synth_core.analysis.measures import ECDF_MAX
from synth_core.analysis.records.blocks import Block, shares_of
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Target, within
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import percent

RANGE = (0.05, 20.0)  # of a variable's epsilon, in which it is looked for
HALVINGS = 5  # of that range, on a logarithmic scale
DIGITS = 3
WHY_NOT = {
    False: "with more ε neither: the model itself is that far off",
    True: "since the variables before it have less ε now: ask a little more of them, or of it",
}


@dataclass(frozen=True)
class Share:
    """What one variable was asked, and what it got.

    Attributes
    ----------
    wanted : float or None
        Largest difference of the distribution functions, or total variation of categories; None: nothing was asked,
        and its epsilon stays.
    reached : float
        The same of the division, as a mean over its data sets.
    epsilon, share : float
    reachable : bool
        Whether it was reached where all variables had the largest epsilon.
    """

    name: str
    wanted: float | None
    reached: float
    epsilon: float
    share: float
    reachable: bool

    @property
    def met(self) -> bool:
        """Whether what was asked is reached."""
        return self.wanted is None or bool(within(self.reached, self.wanted))


@dataclass(frozen=True)
class Division:
    """A division of epsilon among the variables of a record, found on the confidential table itself.

    Attributes
    ----------
    epsilon : float
        Of the whole record, the sum.
    guarantee : str
        Its label, of a mechanism whose settings were not found on the table that is released.
    trials : int
        How often the whole records were refitted.
    """

    mechanism: str
    shares: tuple[Share, ...]
    epsilon: float
    guarantee: str
    trials: int
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON."""
        shares = [asdict(each) | {"met": each.met} for each in self.shares]
        return asdict(self) | {"shares": shares, "problems": list(self.problems)}


def check_division(blocks: tuple[Block, ...], mechanism: str, wanted: dict[str, float]) -> None:
    """Refuse in words what cannot be divided; raises InputError."""
    point = find_mechanism(mechanism)
    if not point.epsilon_by_construction:
        raise InputError(
            f"{point.label}: its ε is measured and not set, so there is none to divide. Take a strict mechanism, such "
            f"as anchored."
        )
    names = [block.name for block in blocks]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InputError(
            f"There is no sensitive variable '{unknown[0]}'; there are: {', '.join(names) or 'none'}."
        )
    if not wanted:
        raise InputError("Say what accuracy is wanted of at least one sensitive variable.")
    for name, value in wanted.items():
        if not (math.isfinite(value) and 0 < value < 1):
            raise InputError(f"'{name}': a largest difference lies between 0 and 1 (given: {value:g}).")


def divided_for(
    explored: AnyAnalysis[Any], mechanism: str, target: Target | EpsilonTarget
) -> AnyAnalysis[Any]:
    """Whole records with epsilon divided so that each variable reaches an accuracy with the least that it needs.

    A mechanism whose epsilon is measured has none to divide: it is left as it is.

    Raises
    ------
    InputError
        If the target is no largest difference of distribution functions, or one variable is sensitive.
    """
    if not find_mechanism(mechanism).epsilon_by_construction:
        return explored
    check_divisible(explored, [mechanism], target)
    assert isinstance(target, Target)
    division = divide(explored, mechanism, {block.name: target.at_most for block in explored.blocks})
    return explored.dividing({each.name: each.epsilon for each in division.shares})


def check_divisible(
    explored: AnyAnalysis[Any], mechanisms: Iterable[str], target: Target | EpsilonTarget
) -> None:
    """Refuse in words what cannot be divided by a target; raises InputError."""
    if not explored.blocks or not isinstance(target, Target) or target.measure != ECDF_MAX:
        raise InputError(
            f"--divide takes two blocks or more (--block) and an accuracy of {ECDF_MAX}, such as {ECDF_MAX}<=0.05."
        )
    for key in mechanisms:
        check_division(explored.blocks, key, {block.name: target.at_most for block in explored.blocks})


def shares_by_name(explored: AnyAnalysis[Any]) -> dict[str, float]:
    """The share of ε of each of several sensitive variables; empty where there is one."""
    if not explored.blocks:
        return {}
    return dict(zip((b.name for b in explored.blocks), shares_of(explored.blocks), strict=True))


def divide(whole: AnyAnalysis[Any], mechanism: str, wanted: dict[str, float]) -> Division:
    """The least epsilon of each variable with which the accuracy that is asked of it is reached.

    All variables are searched at once, by halving: a variable's accuracy follows its own epsilon, and a little those
    of the variables before it, so the division that was found is fitted once more and told as it is then.

    Parameters
    ----------
    wanted : dict of float
        By variable; one that is not named keeps its epsilon.

    Raises
    ------
    InputError
        If nothing can be divided. FitError if a fit fails; Cancelled passes through.
    """
    check_division(whole.blocks, mechanism, wanted)
    total = whole.settings.epsilon
    kept = {b.name: total * share for b, share in zip(whole.blocks, shares_of(whole.blocks), strict=True)}
    low = {name: RANGE[0] for name in wanted}
    high = {name: RANGE[1] for name in wanted}
    steps = HALVINGS + 2
    trials = 0

    def fitted(epsilons: dict[str, float]) -> AnyResult:
        nonlocal trials
        trials += 1
        at = min(trials, steps)

        def tell(text: str, share: float) -> None:
            whole.progress(f"division {at} of {steps}: {text}", (at - 1 + share) / steps)

        return whole.reporting(tell).dividing(kept | epsilons).run(mechanism)

    last = fitted(high)
    # What the largest epsilon does not reach, none does: it stays there, and is told.
    open_ = [name for name in wanted if within(_distances(last)[name], wanted[name])]
    for _ in range(HALVINGS):
        if not open_:
            break
        middle = high | {name: _rounded(math.sqrt(low[name] * high[name])) for name in open_}
        try:
            distances = _distances(fitted(middle))
        except InputError:  # an ε that is too small for an anchor reaches nothing
            distances = dict.fromkeys(open_, math.inf)
        for name in open_:
            (high if within(distances[name], wanted[name]) else low)[name] = middle[name]
    if open_:
        last = fitted(high)
    distances = _distances(last)
    epsilons = kept | high
    total, shares = sum(epsilons.values()), _shares(epsilons)
    return Division(
        last.mechanism,
        tuple(
            Share(
                name,
                wanted.get(name),
                distances[name],
                epsilons[name],
                shares[name],
                name in open_ or name not in wanted,
            )
            for name in epsilons
        ),
        total,
        last.guarantee.label,
        trials,
        last.problems,
    )


def _shares(epsilons: dict[str, float]) -> dict[str, float]:
    """The shares of the sum, in tenths of a per cent; the largest has what is left.

    Examples
    --------
    >>> _shares({"a": 1.0, "b": 2.0, "c": 3.0})
    {'a': 0.167, 'b': 0.333, 'c': 0.5}
    """
    total, largest = sum(epsilons.values()), max(epsilons, key=epsilons.__getitem__)
    shares = {name: max(0.001, round(each / total, 3)) for name, each in epsilons.items()}
    others = sum(share for name, share in shares.items() if name != largest)
    return shares | {largest: round(1 - others, 3)}


def _distances(result: AnyResult) -> dict[str, float]:
    """The distance of each variable; of one that may be missing, the larger of its two parts'."""
    distances: dict[str, float] = {}
    for each in result.summary_numbers.variables:
        distances[each.variable] = max(distances.get(each.variable, 0.0), each.ecdf_max)
    return distances


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}")


def division_words(division: Division) -> list[str]:
    """The division in plain sentences, a line a variable."""
    lines = [
        f"ε = {epsilon_number(division.epsilon)} ({division.guarantee}) for a whole record, divided by what is asked "
        "of each variable:"
    ]
    for each in division.shares:
        asked = "nothing asked" if each.wanted is None else f"at most {each.wanted:g} asked"
        said = "" if each.met else f": NOT reached, {WHY_NOT[each.reachable]}"
        lines.append(
            f"{each.name}: ε = {epsilon_number(each.epsilon)} ({percent(each.share)}), "
            f"difference {each.reached:.3g}, {asked}{said}"
        )
    return lines
