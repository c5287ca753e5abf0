"""A rule that a release must meet, stated before results are looked at, and what it says of a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from synth_core.analysis.measures import ECDF_MAX, WORST, error_of, error_reach, percentile_of
from synth_core.analysis.utility import statistic_words
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.system import limits

CHOSEN_HERE = (
    "A strict promise does not cover a choice made by looking at these results. It stays strict if the settings are "
    "chosen on a public, simulated or earlier table."
)


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
    guarantee : str
        "strict": only ε that is promised for every table counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Annotated[float | None, Field(gt=0, le=limits.TOTAL_EPSILON[1], allow_inf_nan=False)] = None
    measure: Annotated[str, Field(max_length=20)] = "q90"
    percent: Annotated[float | None, Field(gt=0, le=1000, allow_inf_nan=False)] = None
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
            parts.append(f"ε ≤ {epsilon_number(self.epsilon)}")
        if self.percent is not None:
            parts.append(f"{measured(self.measure)} within {self._limit}")
        if self.guarantee == "strict":
            parts.append("a strict guarantee")
        return ", ".join(parts)

    @property
    def _limit(self) -> str:
        return f"{self.percent:g} {'points' if self.measure == ECDF_MAX else '%'}"


@dataclass(frozen=True)
class Verdict:
    """Whether a result meets a rule, and each reason why not.

    Attributes
    ----------
    by : float or None
        What the best of those that pass is chosen by: the error that the rule limits, else ε. Smaller is better.
    doubt : str
        Why another data set of the same settings may be judged otherwise; empty where it is sure.
    """

    passed: bool
    reasons: tuple[str, ...]
    by: float | None
    doubt: str = ""


def measured(measure: str) -> str:
    """What an accuracy measure is of, as a rule names it."""
    named = {ECDF_MAX: "distribution functions", WORST: "mean and percentiles"}
    return named.get(measure) or statistic_words(measure)


def judge(policy: Policy, numbers: Mapping[str, Any], guarantee: Guarantee) -> Verdict:
    """Hold a result against a rule.

    Parameters
    ----------
    numbers : mapping
        A summary.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import guarantees
    >>> found = {"problems": [], "preview_khat": None, "epsilon": 6.8, "n_datasets": 1}
    >>> judge(Policy(epsilon=1.0), found, guarantees()["none"]).reasons
    ('ε 6.8 > 1',)
    """
    if numbers["problems"] or numbers["preview_khat"] is not None:  # whatever its numbers are
        why = "has not converged" if numbers["problems"] else "not judged before the exact fit"
        return Verdict(False, (why,), None)
    reasons = []
    epsilon = numbers["epsilon"] * guarantee.charged(numbers["n_datasets"])
    if policy.epsilon is not None and epsilon > policy.epsilon * (1 + 1e-9):
        reasons.append(f"ε {_above(epsilon, policy.epsilon)} > {epsilon_number(policy.epsilon)}")
    error = None
    if policy.percent is not None:
        error = error_of(numbers, policy.measure)
        if error is None:
            reasons.append(f"the {measured(policy.measure)} is not among the percentiles that are computed")
        elif not 100 * error <= policy.percent * (1 + 1e-9):
            reasons.append(
                f"{measured(policy.measure)} off by {_above(100 * error, policy.percent)} > {policy._limit}"
            )
    if policy.guarantee == "strict" and not guarantee.strict:
        reasons.append(f"{guarantee.label} is not strict")
    by = error if policy.percent is not None else epsilon
    return Verdict(not reasons, tuple(reasons), by, _doubt(policy, numbers, error, len(reasons)))


def _doubt(policy: Policy, numbers: Mapping[str, Any], error: float | None, n_reasons: int) -> str:
    """A sentence where accuracy decides and is too close to its limit to be sure of; else empty."""
    reach = error_reach(numbers, policy.measure) if policy.percent is not None and error is not None else None
    if reach is None or policy.percent is None or error is None or not math.isfinite(error):
        return ""
    least, most = (100 * end for end in reach)
    passes = 100 * error <= policy.percent * (1 + 1e-9)
    if passes and not n_reasons and most > policy.percent:
        return (
            "Not sure: a release is a random draw, and another one of these settings may be off by up to "
            f"{_short(most)} %"
        )
    if not passes and n_reasons == 1 and least <= policy.percent:
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
