"""Which cells rules leave of a record, and where in its bracket a number then lies (`data.decided`).

Rules and public columns are public, so which cells are possible is too: nothing here reads a confidential value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.data.clauses import PRESENT, Clause, Rows
from synth_core.data.decided import Limit
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
    ends : tuple of float, or None
        The range that it leaves of a number.
    """

    variable: int
    rows: Rows
    reads: tuple[tuple[int, Rows], ...]
    allowed: Rows
    otherwise: Rows
    ends: tuple[float, float] | None

    def holds(self, codes: Codes) -> Rows:
        """Where its conditions hold of records with these cells, of shape (n_records, n_variables)."""
        here = self.rows.copy()
        for place, mask in self.reads:
            here &= mask[codes[:, place]]
        return here


def cell_limit(limit: Limit, variables: Sequence[Variable], categories: Categories) -> CellLimit:
    """A rule as cells."""
    places = {each.name: place for place, each in enumerate(variables)}
    rule, place = limit.rule, places[limit.rule.column]
    variable = variables[place]
    allowed, otherwise = _cells(rule.then, variable, categories), np.ones(variable.n, dtype=bool)
    ranged = not rule.then.of_missing
    if variable.missing and not rule.one_value and ranged:
        allowed[-1] = True  # a missing value breaks no range
    if rule.exactly:
        otherwise[-1] = False
    reads = tuple(
        (places[each.column], _cells(each, variables[places[each.column]], categories))
        for each in limit.reads
    )
    ends = rule.then.ends() if ranged and variable.edges else None
    return CellLimit(place, limit.rows, reads, allowed, otherwise, ends)


def _cells(clause: Clause, variable: Variable, categories: Categories) -> Rows:
    """Of which cells a clause is or may be true, of shape (n_cells,)."""
    found = np.zeros(variable.n, dtype=bool)
    names = categories[variable.name]
    if clause.of_missing:
        found[: variable.n_values] = clause.comparison == PRESENT
        found[variable.n_values :] = clause.comparison != PRESENT
    elif names is not None:
        found[: variable.n_values] = clause.of_categories(names)
    else:
        first, last = variable.codes(np.array(clause.ends()))
        found[first : last + 1] = True
    return found


def left_by_limits(
    limits: Sequence[CellLimit], flags: Codes, earlier: Codes, begin: int, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Which cells limits leave of each combination, of shape (n_combinations, *shape).

    Parameters
    ----------
    limits : sequence of CellLimit
        Of the variables that are modelled together, the first of them `begin`.
    flags : array of shape (n_combinations, n_limits)
        Whether the public conditions of each hold.
    earlier : array of int of shape (n_combinations, begin)
        Cells of the variables before them.
    """
    possible = np.ones((len(flags), *shape), dtype=bool)

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
        possible &= np.where(holds, along(limit.allowed, own), along(limit.otherwise, own))
    return possible


def within_limits(
    limits: Sequence[CellLimit], variable: Variable, place: int, codes: Codes, values: Array
) -> Array:
    """Numbers that rules exclude moved into what is left of their brackets, others as they are.

    Parameters
    ----------
    place : int
        Of the variable.
    codes : array of int of shape (n_records, n_variables)
        Synthetic cells of all variables.
    values : array of shape (n_records,)
    """
    lower, upper = np.full(len(values), -np.inf), np.full(len(values), np.inf)
    for limit in limits:
        if limit.variable == place and limit.ends is not None:
            here = limit.holds(codes)
            lower[here] = np.maximum(lower[here], limit.ends[0])
            upper[here] = np.minimum(upper[here], limit.ends[1])
    bracket = np.minimum(codes[:, place], variable.n_values - 1)
    edges = np.array(variable.edges)
    begin, end = edges[bracket], edges[bracket + 1]
    part = (values - begin) / np.where(end > begin, end - begin, 1.0)
    least, most = np.maximum(lower, begin), np.minimum(upper, end)
    if variable.discrete:
        moved = whole_between(least, np.nextafter(most, np.inf), np.clip(part, 0.0, 1.0))
    else:
        moved = np.clip(least + part * (most - least), lower, upper)
    outside = (values < lower) | (values > upper)
    return np.where(outside, moved, values)
