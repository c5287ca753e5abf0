"""What a plan was chosen against: mechanisms that ran on the tuning table, as the record of a decision keeps them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, field_validator

from synth_core.analysis.measures import WORST, error_words, furthest_words
from synth_core.analysis.policy import Policy, judge, measured
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.bounded_text import ShortWords, Words, printable
from synth_core.release.plan.column_schema import Closed
from synth_core.system import limits

MOST = 100
NOT_CONVERGED = "has not converged"
Text = Annotated[str, Field(max_length=limits.REASON_LENGTH)]


class Alternative(Closed):
    """A mechanism with its numbers on the tuning table: confidential where that table is.

    Attributes
    ----------
    name : str
        Of the scenario whose settings it ran under; empty: those of the plan.
    epsilon : float
        Of one data set.
    off : dict
        Of each sensitive variable how far its distribution is off, from 0 to 1.
    worst : str
        What is furthest off of mean and percentiles, in words, after what the rule limits; empty where nothing is
        compared so.
    verdict : str
        What the rule says of it; empty without a rule.
    chosen : bool
        Whether it is the plan's.
    """

    name: Annotated[str, Field(max_length=limits.SCENARIO_NAME)] = ""
    mechanism: Annotated[str, Field(min_length=1, max_length=200)]
    epsilon: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    guarantee: ShortWords
    off: dict[Words, Annotated[float, Field(ge=0, le=1)]] = Field(max_length=limits.MAX_BLOCKS * 2)
    worst: Text = ""
    verdict: Text = ""
    chosen: bool = False

    @field_validator("mechanism")
    @classmethod
    def _known(cls, value: str) -> str:
        return find_mechanism(value).key


def alternatives_of(
    results: Iterable[ResultNumbers], outcome: str, policy: Policy, name: str = "", chosen: str = ""
) -> list[Alternative]:
    """The alternatives that some results are; one whose ε is not finite is none.

    Parameters
    ----------
    outcome : str
        The sensitive variable, where there is one.
    policy : Policy
        The rule that they are held against.
    chosen : str
        The mechanism that was chosen among them; empty: none.
    """
    return [
        Alternative(
            name=name,
            mechanism=each.mechanism,
            epsilon=each.epsilon,
            guarantee=each.guarantee.label,
            off={variable.name or outcome: min(variable.ecdf_max, 1.0) for variable in each.variables},
            worst=printable(_worst(each, policy), limits.REASON_LENGTH),
            verdict=_verdict(policy, each),
            chosen=each.mechanism == chosen,
        )
        for each in results
        if math.isfinite(each.epsilon)
    ]


def _worst(numbers: ResultNumbers, policy: Policy) -> str:
    """Which statistic is furthest off, and by how much; before it what the rule limits, which Compare's row says."""
    furthest = furthest_words(numbers)
    if policy.percent is None or policy.measure == WORST or not furthest:
        return furthest
    return f"{measured(policy.measure)}: {error_words(numbers, policy.measure)}; furthest off {furthest}"


def _verdict(policy: Policy, numbers: ResultNumbers) -> str:
    if numbers.problems:
        return NOT_CONVERGED
    if not policy.states:
        return ""
    said = judge(policy, numbers)
    return (
        "passes" if said.passed else f"fails: {printable('; '.join(said.reasons), limits.REASON_LENGTH - 7)}"
    )
