"""How close a synthetic table is in several columns together, as plain numbers; `records.measures` computes them."""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.system.number_text import ceiling, percent


@dataclass(frozen=True)
class Measures:
    """Measures of the joint distribution of one synthetic table, or their means over several.

    Attributes
    ----------
    k_marginal : float
        0 to 1000, where 1000 are the same tables (SDNist).
    sample_share : float
        The share of the records whose random sample scores the same.
    pmse, pmse_ratio : float
        Mean squared error of the propensity score, and over its expectation where the sensitive columns are drawn from
        their distribution in the confidential table given the predictors (Snoke et al. 2018). A draw of the parameters
        adds about 1: 2 is good for independent values, 1 for even ones.
    association : float
        Mean over pairs of columns, one at least sensitive, of the absolute difference of Cramér's V.
    worst_association : float
        The largest; of several tables that of the worst.
    worst_pair : tuple of str
    impossible : float, optional
        The share of synthetic records that break a declared rule; None where none is declared.
    impossible_before : float, optional
        The share of those that would, were the same draw of parameters, or the same noisy tables, drawn from without
        keeping rules.
    """

    k_marginal: float
    sample_share: float
    pmse: float
    pmse_ratio: float
    association: float
    worst_association: float
    worst_pair: tuple[str, str]
    impossible: float | None = None
    impossible_before: float | None = None


def measures_in_words(measures: Measures) -> str:
    """The measures of several columns together, in words."""
    first, second = measures.worst_pair
    said = (
        "By three columns at a time, on average, it is as close to the table as a random sample of "
        f"{percent(measures.sample_share)} of its records. "
        f"Worst kept is how {first} goes with {second}: off by at most "
        f"{ceiling(measures.worst_association, 2)} on a scale from 0 to 1."
    )
    if measures.impossible is None:
        return said
    return f"{said} {impossible_words(measures.impossible, measures.impossible_before)}"


def impossible_words(share: float, before: float | None = None) -> str:
    """How many records break a rule, in words.

    Examples
    --------
    >>> impossible_words(0.0), impossible_words(0.0021)
    ('No record breaks a declared rule.', '0.21 % of the records break a declared rule.')
    >>> impossible_words(0.0, 0.093)
    'No record breaks a declared rule; 9.3 % would break one, were the same fit drawn from without rules.'
    """
    said = (
        "No record breaks a declared rule"
        if share == 0
        else f"{percent(share, 2)} of the records break a declared rule"
    )
    return f"{said}." if before is None else f"{said}; {before_words(before)}."


def before_words(before: float) -> str:
    """What rules change: how many records would break one."""
    return f"{percent(before, 1)} would break one, were the same fit drawn from without rules"
