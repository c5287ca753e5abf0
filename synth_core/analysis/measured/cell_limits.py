"""Which cells rules leave of a record, and where in its bracket a number then lies (`data.decided`).

Rules and public columns are public, so which cells are possible is too: nothing here reads a confidential value.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.data.clauses import PRESENT, Clause, Rows
from synth_core.data.decided import Limit, Possible
from synth_core.mechanisms.whole_numbers import whole_between

Categories = Mapping[str, tuple[str, ...] | None]


@dataclass(frozen=True)
class CellLimit:
    """A rule as cells of one variable, given those of the variables that it reads.

    Attributes
    ----------
    variable : int
    rows : array of bool of shape (n_records,)
        Where its public conditions hold.
    reads : tuple of (variable, array of bool of shape (n_cells,))
        Earlier variables, and the cells of each of which its condition is true.
    allowed, otherwise : arrays of bool of shape (n_cells,)
        Which cells are left where its conditions hold, and where they do not.
    inside : array of bool of shape (n_cells,)
        Those of `allowed` but for a bracket of which its range has the beginning alone: its records would all be drawn
        onto one number, so it is left where other rules leave nothing else.
    limit : Limit
        The rule: one that compares with another column is a `CellLimit` for each cell of that one.
    """

    variable: int
    rows: Rows
    reads: tuple[tuple[int, Rows], ...]
    allowed: Rows
    otherwise: Rows
    inside: Rows
    limit: Limit

    def holds(self, codes: Codes) -> Rows:
        """Where its conditions hold of records with these cells, of shape (n_records, n_variables)."""
        here = self.rows.copy()
        for place, mask in self.reads:
            here &= mask[codes[:, place]]
        return here


def cell_limits(limit: Limit, variables: Sequence[Variable], categories: Categories) -> list[CellLimit]:
    """A rule as cells."""
    places = {each.name: place for place, each in enumerate(variables)}
    rule, place = limit.rule, places[limit.rule.column]
    variable, then = variables[place], rule.then
    reads = tuple(
        (places[each.column], _cells(each, variables[places[each.column]], categories))
        for each in limit.reads
    )

    def one(allowed: Rows, inside: Rows, rows: Rows, more: tuple[tuple[int, Rows], ...] = ()) -> CellLimit:
        otherwise = np.ones(variable.n, dtype=bool)
        if variable.missing and not rule.one_value and not then.of_missing:
            allowed[-1] = inside[-1] = True  # a missing value breaks no range
        if rule.exactly:
            otherwise[-1] = False
        return CellLimit(place, rows, (*reads, *more), allowed, otherwise, inside, limit)

    other = rule.beside(categories[rule.column])
    if other is None:
        if then.of_missing or categories[rule.column] is not None:
            cells = _cells(then, variable, categories)
            return [one(cells, cells.copy(), limit.rows)]
        return [one(*_brackets(variable, *_ends(variable, *then.ends())), limit.rows)]
    if limit.beside is not None:
        within = np.stack(_ends(variable, *then.ends(limit.beside)))
        kinds, kind_of = np.unique(within, axis=1, return_inverse=True)
        return [
            one(*_brackets(variable, *kind), limit.rows & (kind_of.ravel() == k))
            for k, kind in enumerate(kinds.T)
        ]
    theirs = variables[places[other]]
    found = []
    for cell, ends in enumerate(_ends_of_cells(theirs)):  # whatever number of its cell the other has
        low, high = then.ends(np.array(ends))
        here = np.arange(theirs.n) == cell
        both = _brackets(variable, *_ends(variable, low[0], high[1]))
        found.append(one(*both, limit.rows, ((places[other], here),)))
    return found


def _ends_of_cells(variable: Variable) -> list[tuple[float, float]]:
    """The smallest and the largest number of each bracket."""
    if variable.discrete:
        return [(float(least), float(most)) for least, most in zip(*variable.whole_ends, strict=True)]
    edges, found = variable.edges, []
    for k, (begin, end) in enumerate(itertools.pairwise(edges)):
        if begin < end and k < variable.n_values - 1:
            end = np.nextafter(end, -np.inf)
        found.append((float(begin), float(end)))
    return found


def _cells(clause: Clause, variable: Variable, categories: Categories) -> Rows:
    """Of which cells a clause of categories or of missing values is true, of shape (n_cells,)."""
    found = np.zeros(variable.n, dtype=bool)
    names = categories[variable.name]
    if clause.of_missing:
        found[: variable.n_values] = clause.comparison == PRESENT
        found[variable.n_values :] = clause.comparison != PRESENT
    elif names is not None:
        found[: variable.n_values] = clause.of_categories(names)
    return found


def _ends(variable: Variable, low: Array, high: Array) -> tuple[Codes, Codes, Codes]:
    """The first and the last bracket in which numbers of a range lie, and the last of which it has more than an end."""
    first, last = variable.codes(np.asarray(low)), variable.codes(np.asarray(high))
    return first, last, np.asarray(last - (at_beginning(variable, last, high) & (first < last)))


def _brackets(variable: Variable, first: Codes, last: Codes, inner: Codes) -> tuple[Rows, Rows]:
    """Those of `_ends` as cells: all of them, and those of which a range has more than the beginning."""
    cells = np.arange(variable.n)
    begun = (cells >= first) & (cells < variable.n_values)
    return np.asarray(begun & (cells <= last)), np.asarray(begun & (cells <= inner))


def at_beginning(variable: Variable, codes: Codes, values: Array) -> Rows:
    """Where a number is the beginning of its bracket, which holds others too."""
    edges, cells = np.array(variable.edges), np.minimum(codes, variable.n_values - 1)
    if variable.discrete:
        return np.zeros(np.shape(codes), dtype=bool)
    return np.asarray((edges[cells] == values) & (edges[cells + 1] > values))


def left_by_limits(
    limits: Sequence[CellLimit],
    flags: Codes,
    earlier: Codes,
    begin: int,
    variables: Sequence[Variable],
    decided: Codes | None = None,
) -> NDArray[np.bool_]:
    """Which cells limits leave of each combination, of shape (n_combinations, *shape).

    Parameters
    ----------
    limits : sequence of CellLimit
        Of the variables that are modelled together, the first of them `begin`.
    variables : sequence of Variable
        These.
    decided : array of int of shape (n_combinations, n_variables), optional
        The cell of a variable that rules have put it in, below 0 where there is none: limits agree with it.
    flags : array of shape (n_combinations, n_limits)
        Whether the public conditions of each hold.
    earlier : array of int of shape (n_combinations, begin)
        Cells of the variables before them.
    """
    shape = tuple(each.n for each in variables)
    # Of each variable what all of its limits allow, and what lies inside of all of their ranges.
    found: dict[int, tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def along(mask: Rows, place: int) -> Rows:
        return mask.reshape(1, *(len(mask) if j == place else 1 for j in range(len(shape))))

    for limit, flag in zip(limits, flags.T, strict=True):
        holds = flag = flag.astype(bool).reshape(-1, *(1 for _ in shape))
        for place, mask in limit.reads:
            drawn = place < begin
            holds = holds & (
                mask[earlier[:, place]].reshape(flag.shape) if drawn else along(mask, place - begin)
            )
        own = limit.variable - begin
        allowed, inside = found.get(own, (np.True_, np.True_))
        otherwise = along(limit.otherwise, own)
        found[own] = (
            allowed & np.where(holds, along(limit.allowed, own), otherwise),
            inside & np.where(holds, along(limit.inside, own), otherwise),
        )
    possible = np.ones((len(flags), *shape), dtype=bool)
    for own, (allowed, inside) in found.items():
        present = np.arange(variables[own].n_values)
        some = inside.take(present, own + 1).any(axis=own + 1, keepdims=True)
        left = np.where(some, inside, allowed)
        if decided is not None:
            left |= (decided[:, own] >= 0).reshape(-1, *(1 for _ in shape))
        possible &= left
    return possible


def dealt_within(left: Possible, codes: Codes, values: Array, rng: np.random.Generator) -> Array:
    """The numbers of each bracket, dealt anew to its records so that as many as can be are as rules leave them.

    A number lies in its bracket independently of all else that is drawn, so this moves none, and their distribution
    stays: smallest ends first, each record takes one at random of those that it may have. Of brackets where both ends
    bind nothing is dealt.
    """
    dealt = values.copy()
    outside = ~left.holds(values)
    for code in np.unique(codes[outside]):
        rows = rng.permutation(np.flatnonzero(codes == code))
        numbers, sign, ends = values[rows], 1.0, left.upper[rows]
        if (left.lower[rows] > numbers.min()).any():
            if (ends < numbers.max()).any():
                continue
            sign, ends = -1.0, -left.lower[rows]
        numbers, order = np.sort(sign * numbers), np.argsort(ends, kind="stable")
        waiting, without, taken = [], [], 0
        for row, end in zip(rows[order], ends[order], strict=True):
            while taken < len(numbers) and numbers[taken] <= end:
                waiting.append(numbers[taken])
                taken += 1
            if not waiting:
                without.append(row)
                continue
            which = int(rng.integers(len(waiting)))
            waiting[which], waiting[-1] = waiting[-1], waiting[which]
            dealt[row] = sign * waiting.pop()
        dealt[without] = sign * np.array([*waiting, *numbers[taken:]])
    return dealt


def within_limits(left: Possible, variable: Variable, codes: Codes, values: Array) -> Array:
    """Numbers that rules exclude moved into what is left of their brackets, others as they are.

    Parameters
    ----------
    codes : array of int of shape (n_records,)
        Synthetic cells.
    values : array of shape (n_records,)
    """
    lower, upper = left.lower, left.upper
    bracket = np.minimum(codes, variable.n_values - 1)
    edges = np.array(variable.edges)
    begin, end = edges[bracket], edges[bracket + 1]
    part = (values - begin) / np.where(end > begin, end - begin, 1.0)
    least, most = np.maximum(lower, begin), np.minimum(upper, end)
    if variable.discrete:
        moved = whole_between(least, np.nextafter(most, np.inf), np.clip(part, 0.0, 1.0))
        lower, upper = np.ceil(lower), np.floor(upper)
    else:
        moved = least + part * (most - least)
    outside = (values < lower) | (values > upper)
    # Beside another amount a bracket may lie beyond what is left: cells tell of that one its own bracket alone.
    return np.where(outside, np.clip(moved, lower, upper), values)
