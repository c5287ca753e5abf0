"""Whether rules of sensitive columns agree: whether each record that may be drawn is left a value by all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from synth_core.data.clauses import Array, Rows
from synth_core.data.decided import (
    Declared,
    Limit,
    decided,
    limits_of,
    multiples_within,
    must_be_missing,
    must_be_present,
    possible,
)
from synth_core.data.rules import Rule, Sensitive
from synth_core.errors import InputError

States = Mapping[str, Declared]
MOST_STATES = 1_000_000  # of the sensitive columns that the rules of one column read


def check_agreement(
    frame: pd.DataFrame, rules: Sequence[Rule], name: str, states: States, public: Collection[str]
) -> None:
    """Refuse rules of one column that contradict each other for some record that may be drawn; raises InputError.

    Columns that are read are tried at all their categories, and missing; amounts that others are compared with at the
    ends of all ranges. What differences and ranges leave of amounts has its corners there, so a record that is left no
    value is found.

    Parameters
    ----------
    rules : sequence of Rule
        Of all columns.
    states : mapping
        What is declared of each sensitive column.
    """
    categories = states[name].categories
    mine = decided(frame, [rule for rule in rules if rule.column == name], categories, public)
    if not mine.limits:
        return
    compared = _compared(rules, name, states)
    read = list(dict.fromkeys([*(e.column for limit in mine.limits for e in limit.reads), *compared]))
    amounts = {column for column, declared in states.items() if declared.categories is None}
    others = [r for r in rules if r.column in read and _is_of(r, read, public, states[r.column].categories)]
    before = limits_of(frame, others, public, amounts)
    tell_apart = [mine.rows, np.where(mine.rows, mine.values, 0.0)]
    tell_apart += [each.rows for each in (*mine.limits, *before)]
    tell_apart += [each.beside for each in (*mine.limits, *before) if each.beside is not None]
    _, first = np.unique(np.column_stack(tell_apart), axis=0, return_index=True)
    at, before = mine.of(first), tuple(each.of(first) for each in before)
    values = {column: _values(states[column], len(first)) for column in read}
    values |= _corners(compared, (*at.limits, *before), states, len(first))
    n_states = math.prod(each.shape[1] for each in values.values())
    if n_states * len(first) > MOST_STATES:
        raise InputError(f"The rules of '{name}' read too many sensitive columns together: write fewer.")
    places = itertools.product(*(range(each.shape[1]) for each in values.values()))
    combined = np.array(list(places), dtype=np.int64).reshape(n_states, len(read))
    rows = np.repeat(np.arange(len(first)), n_states)
    drawn = {
        column: (each[:, combined[:, j]].ravel(), states[column].categories)
        for j, (column, each) in enumerate(values.items())
    }
    kept = np.ones(len(rows), dtype=bool)  # what the rules of the columns that are read leave of them
    for column in compared:
        there, declared = drawn[column][0], states[column]
        kept &= ~((there < declared.lower) | (there > declared.upper))
    for limit in before:
        own, known = drawn[limit.rule.column]
        wrong = _broken(limit.of(rows), drawn, own, known)
        # What stands for any amount may be as the rule says.
        exact = known is not None or limit.rule.then.of_missing or limit.rule.column in compared
        kept &= ~(wrong if exact else wrong & np.isnan(own))
    at = at.of(rows)
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
    possible(at.limits, drawn, np.flatnonzero(free & ~absent), categories, states[name])


def _compared(rules: Sequence[Rule], name: str, states: States) -> list[str]:
    """The sensitive amounts that a column is compared with, and those that these are compared with in turn."""
    found: list[str] = []
    left = [name]
    while left:
        column = left.pop()
        named = (rule.beside(states[rule.column].categories) for rule in rules if rule.column == column)
        new = list(
            dict.fromkeys(each for each in named if each is not None and each in states and each not in found)
        )
        found += new
        left += new
    return found


def _corners(compared: Sequence[str], limits: Sequence[Limit], states: States, n: int) -> dict[str, Array]:
    """Numbers that compared amounts are tried at: the ends of all their ranges, of shape (n_rows, n_values) each."""
    if not compared:
        return {}
    ends = [np.full(n, end) for each in compared for end in (states[each].lower, states[each].upper)]
    for limit in limits:
        clause, amount = limit.rule.then, states[limit.rule.column].categories is None
        if amount and not clause.of_missing and (clause.word is None or limit.beside is not None):
            ends += [np.broadcast_to(end, (n,)) for end in clause.ends(limit.beside)]
    strict = sum(
        each.rule.then.comparison in ("<", ">") and each.rule.then.word in compared for each in limits
    )
    found = {}
    for column in compared:
        mine, decimals = ends, states[column].decimals
        if decimals is not None:
            mine = [part for end in ends for part in multiples_within(end, end, decimals)]
        for _ in range(strict):  # what is above another column begins a step above its end
            mine = [*mine, *(_next(end, decimals, sign) for end in mine for sign in (-1.0, 1.0))]
            mine = list({tuple(end): end for end in mine}.values())
        own = list({tuple(end): end for end in mine}.values())
        own += [np.full(n, np.nan)] if states[column].may_miss else []
        found[column] = np.column_stack(own)
    return found


def _next(values: Array, decimals: int | None, sign: float) -> Array:
    """The next number, or the next multiple of what amounts are rounded to."""
    if decimals is None:
        with np.errstate(over="ignore"):
            return np.nextafter(values, sign * np.inf)
    return np.round(values + sign * 10.0**-decimals, decimals)


def _is_of(
    rule: Rule, read: Collection[str], public: Collection[str], categories: tuple[str, ...] | None
) -> bool:
    """Whether a rule of a column with these categories reads these columns and public ones alone."""
    known = {*read, *public}
    other = rule.then.word  # a category, or a column
    return all(each.column in known for each in rule.conditions) and (
        other is None or categories is not None or other in known
    )


def _values(declared: Declared, n: int) -> Array:
    """What a column may be to a rule that reads it: of an amount it reads only whether it is missing."""
    codes = range(len(declared.categories or ("any",)))
    found = [*map(float, codes), *([np.nan] if declared.may_miss else [])]
    return np.broadcast_to(np.array(found), (n, len(found)))


def _broken(limit: Limit, sensitive: Sensitive, values: Array, categories: tuple[str, ...] | None) -> Rows:
    here = limit.holds(sensitive)
    wrong = here & ~limit.rule.kept_by(values, categories, limit.other(sensitive, categories))
    return np.asarray(wrong | (~here & np.isnan(values)) if limit.rule.exactly else wrong)
