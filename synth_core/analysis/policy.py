"""A rule that a release must meet, stated before results are looked at, and what it says of a result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from synth_core.analysis.measures import (
    ECDF_MAX,
    WORST,
    VariableError,
    error_reach,
    errors_of_units,
    percentile_of,
)
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.utility import statistic_words
from synth_core.analysis.wording.belief_sentences import epsilon_number, rho_beside
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.system import limits
from synth_core.system.number_text import number_of, points_at_most

CHOSEN_HERE = (
    "A strict promise does not cover a choice made by looking at these results. It stays strict if the settings are "
    "chosen on a public, simulated or earlier table."
)


Limit = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]


class Policy(BaseModel):
    """A limit of ε, one of accuracy, and which guarantee is required; without limits it is no rule.

    Attributes
    ----------
    epsilon : float or None
        Largest ε of all data sets together.
    measure : str
        What accuracy is measured by, see `analysis.measures`.
    percent : float or None
        Its largest error: percent, or percentage points of a difference of distribution functions.
    by_variable : tuple of (str, float)
        Of single variables, in the place of `percent`.
    guarantee : str
        "strict": only ε that is promised for every table counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Annotated[float | None, Field(gt=0, le=limits.TOTAL_EPSILON[1], allow_inf_nan=False)] = None
    measure: Annotated[str, Field(max_length=20)] = "q90"
    percent: Limit | None = None
    by_variable: tuple[tuple[str, Limit], ...] = Field(
        default=(), max_length=limits.MAX_BLOCKS, exclude_if=lambda value: not value
    )
    guarantee: Literal["any", "strict"] = "any"

    @field_validator("measure")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != WORST:
            percentile_of(value)
        return value

    @property
    def states(self) -> bool:
        """Whether anything is required."""
        return self.epsilon is not None or self.percent is not None or self.guarantee == "strict"

    @property
    def text(self) -> str:
        """The rule in words: "ε ≤ 1, 90th percentile within 5 %"; empty if nothing is required."""
        parts = []
        if self.epsilon is not None:
            parts.append(f"ε ≤ {self.epsilon:.12g}")  # a limit is no loss, and is not rounded up
        if self.percent is not None:
            of = ", ".join(f"{name} {limit:g} {self.unit}" for name, limit in self.by_variable)
            others = f" ({of})" if of else ""
            parts.append(f"{measured(self.measure)} within {self.percent:g} {self.unit}{others}")
        if self.guarantee == "strict":
            parts.append("a strict guarantee")
        return ", ".join(parts)

    def stated(self, accuracy_by: str) -> str:
        """The rule in words, with the survey weights by which its accuracy counts."""
        of = f", of the population by {accuracy_by}" if accuracy_by and self.percent is not None else ""
        return self.text + of

    def keeps(self, found: VariableError) -> bool:
        """Whether an error is within the limit of accuracy."""
        return self.percent is None or 100 * abs(found.error) <= self.limit_of(found.variable) * (1 + 1e-9)

    def limit_of(self, variable: str) -> float:
        """The limit of accuracy of a variable; infinite without one."""
        return math.inf if self.percent is None else dict(self.by_variable).get(variable, self.percent)

    def limiting(self, variable: str, limit: float | None) -> Policy:
        """With this limit of a variable; None: that of all."""
        kept = {name: value for name, value in self.by_variable if name != variable}
        kept |= {} if limit is None else {variable: limit}
        return self.model_copy(update={"by_variable": tuple(kept.items())})

    def alone(self, variable: str) -> Policy:
        """The rule of one of several variables that is seen alone: its own limit is that of all."""
        own = dict(self.by_variable).get(variable, self.percent)
        return self.model_copy(update={"percent": own, "by_variable": ()})

    @property
    def unit(self) -> str:
        """What the limits of accuracy are in."""
        return "points" if self.measure == ECDF_MAX else "%"


@dataclass(frozen=True)
class Verdict:
    """Whether a result meets a rule, and each reason why not.

    Attributes
    ----------
    by : float or None
        What the best of those that pass is chosen by: the error that the rule limits, else ε. Smaller is better.
    doubt : str
        Why another data set of the same settings may be judged otherwise; empty where it is sure.
    instead : str
        Of which variables a share was held against the limit in the place of a percentile; empty where of none.
    unjudged : str
        Of which variables the rule says nothing, for they have no mean or percentile; empty where of none.
    named : str
        That the ε of the rule is the one that was set, where a limit counts another one; else empty.
    """

    passed: bool
    reasons: tuple[str, ...]
    by: float | None
    doubt: str = ""
    instead: str = ""
    named: str = ""
    unjudged: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of it, pass or fail."""
        return tuple(filter(None, (self.doubt, self.instead, self.unjudged, self.named)))


def measured(measure: str) -> str:
    """What an accuracy measure is of, as a rule names it."""
    named = {ECDF_MAX: "distribution functions", WORST: "mean and percentiles"}
    return named.get(measure) or statistic_words(measure)


def judge(policy: Policy, numbers: ResultNumbers, guarantee: Guarantee | None = None) -> Verdict:
    """Hold a result against a rule: of several sensitive variables, every one must be within its accuracy.

    Parameters
    ----------
    guarantee : Guarantee, optional
        What is promised, where that is not the result's own.
    """
    guarantee = guarantee or numbers.guarantee
    if numbers.problems or numbers.preview_khat is not None:  # whatever its numbers are
        why = "has not converged" if numbers.problems else "not judged before the exact fit"
        return Verdict(False, (why,), None)
    reasons = []
    epsilon = numbers.epsilon * guarantee.charged(numbers.n_datasets)
    if policy.epsilon is not None and epsilon > policy.epsilon * (1 + 1e-9):
        reasons.append(f"ε {epsilon_number(epsilon)} > {policy.epsilon:.12g}")  # rounded up, it is above
    found, others = None, len(reasons) + (policy.guarantee == "strict" and not guarantee.strict)
    if policy.percent is not None:
        errors = _errors(policy, numbers)
        found = max(errors, key=lambda each: each.size / policy.limit_of(each.variable), default=None)
        if found is None:
            reasons.append(f"the {measured(policy.measure)} is not among the percentiles that are computed")
        missed = [each for each in errors if not policy.keeps(each)]
        whose = " in the population" if numbers.accuracy_by else ""
        reasons += [
            _missed(policy, [each for each in missed if each.unit == unit], whose)
            for unit in dict.fromkeys(each.unit for each in missed)
        ]
    if policy.guarantee == "strict" and not guarantee.strict:
        reasons.append(f"{guarantee.label} is not strict")
    by: float | None = epsilon
    if policy.percent is not None:  # as a share of its limit, in the unit of that of all
        by = None if found is None else abs(found.error) * policy.percent / policy.limit_of(found.variable)
    doubt = _doubt(policy, numbers, others)
    named = "" if policy.epsilon is None else _named(guarantee, numbers.epsilon)
    return Verdict(
        not reasons, tuple(reasons), by, doubt, _instead(policy, numbers), named, _unjudged(policy, numbers)
    )


def _named(guarantee: Guarantee, epsilon: float) -> str:
    """Which ε a rule judges, of a promise whose ε only names a ρ; empty of a pure one."""
    if guarantee.pure or guarantee.rho is None:
        return ""
    names = rho_beside(guarantee.rho(epsilon))
    return f"The rule judges ε = {epsilon_number(epsilon)}; a limit of a series counts {names}"


def _errors(policy: Policy, numbers: ResultNumbers) -> list[VariableError]:
    """Of each variable the largest error that the rule limits, in percent and in points."""
    return [error for each in numbers.variables for error in errors_of_units(each, policy.measure)]


def _missed(policy: Policy, missed: list[VariableError], whose: str) -> str:
    """By how much a limit is missed: the furthest of some errors in one unit, and of how many variables more."""
    found = max(missed, key=lambda each: each.size / policy.limit_of(each.variable))
    limit, n_more = policy.limit_of(found.variable), len(missed) - 1
    of = f" of {found.variable}" if found.variable else ""
    more = f", and {number_of(n_more, 'variable')} more beyond {limit:g}" if n_more else ""
    what = found.statistic.words if found.statistic and found.statistic.instead else measured(policy.measure)
    off = _above(100 * abs(found.error), limit) if found.statistic else points_at_most(found.error)
    return f"{what}{of}{whose} off by {off} > {limit:g} {found.unit}{more}"


def _unjudged(policy: Policy, numbers: ResultNumbers) -> str:
    """Of which variables alone a rule of a mean or of percentiles judges, where others have none."""
    if policy.percent is None or policy.measure == ECDF_MAX:
        return ""
    judged = dict.fromkeys(
        each.variable for each in numbers.variables if errors_of_units(each, policy.measure)
    )
    others = dict.fromkeys(each.variable for each in numbers.variables if each.variable not in judged)
    if not judged or not others:
        return ""
    have = "has" if len(others) == 1 else "have"
    of = f"{measured(policy.measure)} of {', '.join(judged)}"
    return f"The rule judges the {of} alone: {', '.join(others)} {have} none"


def _instead(policy: Policy, numbers: ResultNumbers) -> str:
    """That shares are judged, in points, in the place of percentiles at the zeros."""
    if policy.percent is None or policy.measure == ECDF_MAX:
        return ""
    shares = {
        variable.name: each.words
        for variable in numbers.variables
        for each in variable.statistics
        if each.instead is not None and policy.measure in (WORST, each.name)
    }
    if not shares:
        return ""
    names = ", ".join(filter(None, shares))
    of = f" of {names}" if names else ""
    what = "a percentile" if policy.measure == WORST else f"the {measured(policy.measure)}"
    return f"Where {what}{of} is at the zeros, the {next(iter(shares.values()))} is judged, in points"


def _doubt(policy: Policy, numbers: ResultNumbers, n_others: int) -> str:
    """A sentence where accuracy decides and is too close to its limit to be sure of; else empty.

    Parameters
    ----------
    n_others : int
        How many reasons beside accuracy there are to fail.
    """
    if policy.percent is None:
        return ""
    known = _errors(policy, numbers)
    passes = all(policy.keeps(each) for each in known)
    reaches = [
        (each, reach)
        for each in known
        if (reach := error_reach(each)) is not None and math.isfinite(each.error)
    ]
    if not reaches:
        return ""
    if passes and not n_others:
        beyond = [(each, most) for each, (_, most) in reaches if 100 * most > policy.limit_of(each.variable)]
        if beyond:
            widest, most = max(beyond, key=lambda pair: pair[1])
            return (
                "Not sure: a release is a random draw, and another one of these settings may be off by up to "
                f"{_short(100 * most)} {widest.unit}{widest.beside}"
            )
    failed = [each for each in known if not policy.keeps(each)]
    near = {id(each) for each, (least, _) in reaches if 100 * least <= policy.limit_of(each.variable)}
    if not passes and not n_others and all(id(each) in near for each in failed):
        return "Not sure: a release is a random draw, and another one of these settings may pass"
    return ""


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _above(value: float, limit: float) -> str:
    """A number beyond its limit, with as many digits as show that it is."""
    for digits in range(2, 9):
        if float(f"{value:.{digits}g}") > limit:
            return f"{float(f'{value:.{digits}g}'):g}"
    return f"{value:.9g}"
