"""What rules come to for given records: values that they decide, and values that they leave possible.

A rule whose conditions are public and that leaves one value *decides* it: the value is as public as the condition, so
nothing is fitted for it and nothing is paid. Any other rule is a *limit* of what is drawn: of synthetic values alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.clauses import PRESENT, Array, Clause, Rows
from synth_core.data.rules import Rule, Sensitive, public_amounts
from synth_core.errors import InputError


@dataclass(frozen=True)
class Limit:
    """A rule of given records that leaves several values, or that reads a sensitive column.

    Attributes
    ----------
    rule : Rule
    rows : array of bool of shape (n_rows,)
        Where its conditions on public columns hold.
    reads : tuple of Clause
        Its conditions on sensitive columns, which are drawn before its own.
    beside : array of shape (n_rows,), or None
        The public column that its own, an amount, is compared with.
    """

    rule: Rule
    rows: Rows
    reads: tuple[Clause, ...]
    beside: Array | None = None

    def of(self, rows: NDArray[np.int64]) -> Limit:
        """The same of some rows."""
        return replace(self, rows=self.rows[rows], beside=None if self.beside is None else self.beside[rows])

    def other(self, sensitive: Sensitive, categories: tuple[str, ...] | None) -> Array | None:
        """The numbers of the column that its own is compared with; None where that is a value.

        Parameters
        ----------
        categories : tuple of str or None
            Of its own column.
        """
        name = self.rule.beside(categories)
        if name is None or self.beside is not None:
            return self.beside
        return sensitive[name][0]

    def holds(self, sensitive: Sensitive) -> Rows:
        """Where all its conditions hold, given sensitive values that have been drawn."""
        here = self.rows.copy()
        for each in self.reads:
            here &= each.of_values(*sensitive[each.column])
        return here


@dataclass(frozen=True)
class Decided:
    """What the rules of one column come to.

    Attributes
    ----------
    rows : array of bool of shape (n_rows,)
        Where its value is decided.
    values : array of shape (n_rows,)
        The value there, missing as NaN.
    present : bool
        Whether it is missing nowhere else.
    limits : tuple of Limit
    """

    rows: Rows
    values: Array
    present: bool = False
    limits: tuple[Limit, ...] = ()

    def of(self, rows: NDArray[np.int64]) -> Decided:
        """The same of some rows."""
        limits = tuple(each.of(rows) for each in self.limits)
        return Decided(self.rows[rows], self.values[rows], self.present, limits)


def decided(
    frame: pd.DataFrame, rules: Sequence[Rule], categories: tuple[str, ...] | None, public: Collection[str]
) -> Decided:
    """What the rules of one column come to.

    Parameters
    ----------
    categories : tuple of str or None
        Declared categories of the column; None of a number.
    public : collection of str
        The columns that rules may decide by.

    Raises
    ------
    InputError
        If two rules decide a record differently.
    """
    rows, values = np.zeros(len(frame), dtype=bool), np.full(len(frame), np.nan)
    deciding = [rule for rule in rules if rule.decides(public)]
    for rule in deciding:
        here, code = rule.holds(frame), rule.code(categories)
        other = here & rows & ~((values == code) | (np.isnan(values) & np.isnan(code)))
        if other.any():
            raise InputError(
                f"The rule {rule} contradicts another one (first in row {int(np.argmax(other)) + 1}): both decide "
                f"'{rule.column}' there."
            )
        values[here] = code
        rows |= here
    amounts = {rule.column for rule in rules} if categories is None else set()
    limits = limits_of(frame, [rule for rule in rules if rule not in deciding], public, amounts)
    return Decided(rows, values, any(rule.exactly for rule in deciding), limits)


def decided_missing(frame: pd.DataFrame, rules: Sequence[Rule], public: Collection[str]) -> Decided:
    """What the rules of one column come to for whether it is missing, which is 1, or not, 0."""
    said = [rule for rule in rules if rule.one_value or rule.then.comparison == PRESENT]
    values, left = np.full(len(frame), np.nan), []
    for rule in said:
        if len(rule.reads(public)) == len(rule.conditions):
            values[rule.holds(frame)] = float(rule.missing)
        else:
            left.append(rule)
    return Decided(~np.isnan(values), values, False, limits_of(frame, left, public))


def limits_of(
    frame: pd.DataFrame, rules: Sequence[Rule], public: Collection[str], amounts: Collection[str] = ()
) -> tuple[Limit, ...]:
    """Rules as limits; `amounts` are those of their columns that hold no categories."""
    found = []
    for rule in rules:
        rows = np.ones(len(frame), dtype=bool)
        for each in rule.reads(public):
            rows &= each.of_cells(frame[each.column])
        other = rule.then.word if rule.column in amounts else None
        found.append(
            Limit(
                rule,
                rows,
                tuple(each for each in rule.conditions if each.column not in public),
                public_amounts(frame, rule, other) if other is not None and other in public else None,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Possible:
    """Which values rules leave of a column, record by record; a missing value is none of them.

    Attributes
    ----------
    lower, upper : arrays of shape (n_rows,)
        Ends of the range of a number, themselves within it.
    categories : array of bool of shape (n_rows, n_categories), or None
        Which codes are possible; None of a number.
    """

    lower: Array
    upper: Array
    categories: Rows | None

    @property
    def limited(self) -> Rows:
        """The records of which not every value is possible."""
        if self.categories is not None:
            return np.asarray(~self.categories.all(axis=1))
        return np.asarray(np.isfinite(self.lower) | np.isfinite(self.upper))

    def holds(self, values: Array) -> Rows:
        """Whether values of these records are possible, of shape (n_rows,)."""
        if self.categories is not None:
            return self.categories[np.arange(len(values)), values.astype(np.int64)]
        return np.asarray((values >= self.lower) & (values <= self.upper))

    def of(self, rows: NDArray[np.int64]) -> Possible:
        """The same of some rows."""
        some = None if self.categories is None else self.categories[rows]
        return Possible(self.lower[rows], self.upper[rows], some)


def possible(
    limits: Sequence[Limit],
    sensitive: Sensitive,
    rows: NDArray[np.int64],
    categories: tuple[str, ...] | None,
    kept_to: Declared | None = None,
) -> Possible:
    """Which values of a column its limits leave of some rows, given the sensitive values that have been drawn.

    Parameters
    ----------
    kept_to : Declared, optional
        What is declared of the column beside its rules.

    Raises
    ------
    InputError
        If they leave none of a record; the rules are named.
    """
    lower, upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    codes = None if categories is None else np.ones((len(rows), len(categories)), dtype=bool)
    holding = [(each, each.holds(sensitive)[rows]) for each in limits if not each.rule.then.of_missing]
    for limit, here in holding:
        if categories is not None and codes is not None:
            codes[here] &= limit.rule.then.of_categories(categories)
            continue
        ends = limit.rule.then.ends(limit.other(sensitive, categories))
        low, high = (end[rows[here]] if end.ndim else end for end in ends)
        lower[here] = np.maximum(lower[here], low)
        upper[here] = np.minimum(upper[here], high)
    if kept_to is not None:
        lower, upper = np.maximum(lower, kept_to.lower), np.minimum(upper, kept_to.upper)
        if kept_to.decimals is not None:
            lower, upper = multiples_within(lower, upper, kept_to.decimals)
    none = lower > upper if codes is None else ~codes.any(axis=1)
    if holding and none.any():
        at = int(np.argmax(none))
        here_hold = "; ".join(str(each.rule) for each, here in holding if here[at])
        raise InputError(
            f"Together the rules {here_hold} leave no {_kind(kept_to)} of '{holding[0][0].rule.column}' where all of "
            "them hold: write one that says what is then."
        )
    return Possible(lower, upper, codes)


@dataclass(frozen=True)
class Declared:
    """What is declared of a sensitive column beside its rules.

    Attributes
    ----------
    categories : tuple of str or None
        None of an amount.
    may_miss : bool
    lower, upper : float
        Of an amount.
    decimals : int or None
        Of an amount that is a multiple of 10 to the power of minus as many: 0 of a count; None of any number.
    """

    categories: tuple[str, ...] | None = None
    may_miss: bool = False
    lower: float = -np.inf
    upper: float = np.inf
    decimals: int | None = None


def _kind(declared: Declared | None) -> str:
    if declared is None or declared.decimals is None:
        return "value"
    if declared.decimals == 0:
        return "whole number"
    return f"multiple of {10.0**-declared.decimals:g}"


def multiples_within(lower: Array, upper: Array, decimals: int) -> tuple[Array, Array]:
    """The smallest and the largest multiple of 10 to the power of minus `decimals` of each range.

    The first is above the second where there is none.

    Examples
    --------
    >>> [each.tolist() for each in multiples_within(np.array([0.21, 0.3, 3.1]), np.array([0.3, 0.3, 3.9]), 1)]
    [[0.3, 0.3, 3.1], [0.3, 0.3, 3.9]]
    >>> [each.tolist() for each in multiples_within(np.array([2.5]), np.array([2.9]), 0)]
    [[3.0], [2.0]]
    """
    step = 10.0**-decimals
    least, most = np.round(lower, decimals), np.round(upper, decimals)
    least = np.where(least < lower, np.round(least + step, decimals), least)
    most = np.where(most > upper, np.round(most - step, decimals), most)
    return least, most


def must_be_missing(limits: Sequence[Limit], sensitive: Sensitive, n: int) -> Rows:
    """The records whose value is missing by a limit."""
    found = np.zeros(n, dtype=bool)
    for each in limits:
        if each.rule.missing:
            found |= each.holds(sensitive)
    return found


def must_be_present(limits: Sequence[Limit], sensitive: Sensitive, n: int) -> Rows:
    """The records whose value is not missing by a limit."""
    found = np.zeros(n, dtype=bool)
    for each in limits:
        if each.rule.exactly:
            found |= ~each.holds(sensitive)
        elif not each.rule.missing and (each.rule.one_value or each.rule.then.of_missing):
            found |= each.holds(sensitive)
    return found
