"""What rules come to for given records: values that they decide, and values that they leave possible.

A rule whose conditions are public and that leaves one value *decides* it: the value is as public as the condition, so
nothing is fitted for it and nothing is paid. Any other rule is a *limit* of what is drawn: of synthetic values alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.clauses import PRESENT, Array, Clause, Rows
from synth_core.data.rules import Rule, Sensitive
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
    """

    rule: Rule
    rows: Rows
    reads: tuple[Clause, ...]

    def of(self, rows: NDArray[np.int64]) -> Limit:
        """The same of some rows."""
        return replace(self, rows=self.rows[rows])

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
    limits = _limits(frame, [rule for rule in rules if rule not in deciding], public)
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
    return Decided(~np.isnan(values), values, False, _limits(frame, left, public))


def _limits(frame: pd.DataFrame, rules: Sequence[Rule], public: Collection[str]) -> tuple[Limit, ...]:
    found = []
    for rule in rules:
        rows = np.ones(len(frame), dtype=bool)
        for each in rule.reads(public):
            rows &= each.of_cells(frame[each.column])
        found.append(Limit(rule, rows, tuple(each for each in rule.conditions if each.column not in public)))
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
    limits: Sequence[Limit], sensitive: Sensitive, rows: NDArray[np.int64], categories: tuple[str, ...] | None
) -> Possible:
    """Which values of a column its limits leave of some rows, given the sensitive values that have been drawn.

    Raises
    ------
    InputError
        If they leave none of a record; the rules are named.
    """
    lower, upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    codes = None if categories is None else np.ones((len(rows), len(categories)), dtype=bool)
    holding = [(each.rule, each.holds(sensitive)[rows]) for each in limits if not each.rule.then.of_missing]
    for rule, here in holding:
        if categories is not None and codes is not None:
            codes[here] &= rule.then.of_categories(categories)
            continue
        low, high = rule.then.ends()
        lower[here], upper[here] = np.maximum(lower[here], low), np.minimum(upper[here], high)
    none = lower > upper if codes is None else ~codes.any(axis=1)
    if none.any():
        at = int(np.argmax(none))
        raise InputError(
            f"Together the rules {'; '.join(str(rule) for rule, here in holding if here[at])} leave no value of "
            f"'{holding[0][0].column}' where all of them hold: write one that says what is then."
        )
    return Possible(lower, upper, codes)


# Of sensitive columns: declared categories, and whether values may be missing.
States = Mapping[str, tuple[tuple[str, ...] | None, bool]]
MOST_STATES = 100_000  # of the sensitive columns that the rules of one column read


def check_agreement(
    frame: pd.DataFrame, rules: Sequence[Rule], name: str, states: States, public: Collection[str]
) -> None:
    """Refuse rules of one column that contradict each other for some record that may be drawn; raises InputError.

    Parameters
    ----------
    rules : sequence of Rule
        Of all columns.
    states : mapping
        Of each sensitive column.
    """
    categories = states[name][0]
    mine = decided(frame, [rule for rule in rules if rule.column == name], categories, public)
    if not mine.limits:
        return
    read = list(dict.fromkeys(each.column for limit in mine.limits for each in limit.reads))
    before = _limits(frame, [rule for rule in rules if _is_of(rule, read, public)], public)
    tell_apart = [mine.rows, np.where(mine.rows, mine.values, 0.0)]
    tell_apart += [each.rows for each in (*mine.limits, *before)]
    _, first = np.unique(np.column_stack(tell_apart), axis=0, return_index=True)
    values = [_values(*states[column]) for column in read]
    n_states = math.prod(map(len, values))
    if n_states * len(first) > MOST_STATES:
        raise InputError(f"The rules of '{name}' read too many sensitive columns together: write fewer.")
    combined = np.array(list(itertools.product(*values)), dtype=float).reshape(n_states, len(read))
    rows = np.repeat(first, n_states)
    drawn = {
        column: (np.tile(combined[:, j], len(first)), states[column][0]) for j, column in enumerate(read)
    }
    kept = np.ones(len(rows), dtype=bool)  # what the rules of the columns that are read leave of them
    for limit in before:
        own, known = drawn[limit.rule.column]
        wrong = _broken(limit.of(rows), drawn, own, known)
        # What stands for any amount may be as the rule says.
        kept &= ~(wrong if known or limit.rule.then.of_missing else wrong & np.isnan(own))
    at = mine.of(rows)
    for limit in at.limits:
        if (kept & at.rows & _broken(limit, drawn, at.values, categories)).any():
            raise InputError(
                f"The rule {limit.rule} contradicts another one that says what '{name}' is of the same record."
            )
    free, n = kept & ~at.rows, len(rows)
    absent = must_be_missing(at.limits, drawn, n)
    if (free & absent & must_be_present(at.limits, drawn, n)).any():
        raise InputError(
            f"Two rules of '{name}' contradict each other: by one it is missing and by another it is not, of the same "
            "record."
        )
    possible(at.limits, drawn, np.flatnonzero(free & ~absent), categories)


def _is_of(rule: Rule, read: Collection[str], public: Collection[str]) -> bool:
    """Whether a rule is of one of these columns, by these and public ones alone."""
    return rule.column in read and all(each.column in {*read, *public} for each in rule.conditions)


def _values(categories: tuple[str, ...] | None, may_miss: bool) -> list[float]:
    """What a column may be to a rule that reads it: of an amount it reads only whether it is missing."""
    return [*map(float, range(len(categories or ("any",)))), *([np.nan] if may_miss else [])]


def _broken(limit: Limit, sensitive: Sensitive, values: Array, categories: tuple[str, ...] | None) -> Rows:
    here = limit.holds(sensitive)
    wrong = here & ~limit.rule.kept_by(values, categories)
    return np.asarray(wrong | (~here & np.isnan(values)) if limit.rule.exactly else wrong)


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
