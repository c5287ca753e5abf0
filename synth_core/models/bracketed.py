"""Bracketed synthesizer: an ordered logit regression of declared brackets of a number, and a fixed density within."""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.models.base import Array, Draws, Options
from synth_core.models.ordered import OrderedLogit
from synth_core.models.records import Records
from synth_core.system.number_text import declared


class Bracketed(OrderedLogit):
    """A number lies in one of the declared brackets by `OrderedLogit`, and within it by a density without parameters.

    Brackets go from each declared edge to the next. An edge that is declared twice is a bracket of its own: that value
    alone, such as 0; the first of them stands apart from the order. Within a bracket above 0 the density is that of a
    uniform logarithm, else uniform.
    """

    name = "bracketed"
    label = "Ordered logit regression of brackets"
    uses = frozenset({"bracket_edges", "unit"})
    discrete = False
    ordered = True
    remedy = "brackets with declared edges, which take any shape"

    @classmethod
    def has_zeros(cls, options: Options) -> bool:
        """Whether 0 is a bracket of its own."""
        return options.bracket_edges.count(0.0) == 2

    def __init__(self, records: Records, options: Options):
        self.edges = np.asarray(options.bracket_edges, dtype=float)
        super().__init__(records, options)

    def _declared(self) -> int:
        check_edges(self.label, self.options.bracket_edges)
        return len(self.edges) - 1

    def _point_mass_category(self) -> int | None:
        alone = np.flatnonzero(np.diff(self.edges) == 0)
        return int(alone[0]) if len(alone) and self.n_categories > 2 else None

    def _codes(self, outcome: Array) -> NDArray[np.int64]:
        outside = (outcome < self.edges[0]) | (outcome > self.edges[-1])
        if outside.any():
            lie = "1 value lies" if outside.sum() == 1 else f"{outside.sum():,} values lie"
            raise InputError(
                f"{lie} outside the declared edges, {declared(self.edges[0])} to {declared(self.edges[-1])} "
                f"({self.records.first_row(outside)}). Declare wider edges, of what may occur and not of the table."
            )
        return codes_of(self.edges, outcome)

    @property
    def density_scale(self) -> str:
        return f"density per {declared(self.options.unit)}; of a value that is a bracket of its own, its probability"

    @cached_property
    def log_within(self) -> Array:
        """Log density of each record's value within its bracket, of shape (n_records,)."""
        low, high, x = self.edges[self.code], self.edges[self.code + 1], self.records.outcome
        log_density = np.zeros(len(x))
        wide = high > low
        log = wide & (low > 0)
        plain = wide & ~log
        log_density[plain] = -np.log(high[plain] - low[plain])
        log_density[log] = -np.log(x[log]) - np.log(np.log(high[log] / low[log]))
        return np.where(wide, log_density + np.log(self.options.unit), 0.0)

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return self._upto(draws, values, rows, True)

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        below = self._upto(draws, lower, rows, False)
        return np.maximum(self._upto(draws, upper, rows, True) - below, 0.0)

    def _upto(self, draws: Draws, values: Array, rows: Rows, included: bool) -> Array:
        """Probability up to the values, themselves included or not, of shape (n_draws, n_rows)."""
        low, high = self.edges[:-1, None], self.edges[1:, None]
        inside = np.clip(values, low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(low > 0, np.log(inside / low) / np.log(high / low), (inside - low) / (high - low))
        alone = values >= low if included else values > low
        part = np.where(high > low, part, alone)
        log_shares, index = self.log_shares(draws, rows)
        return np.einsum("skr,kr->sr", np.exp(log_shares)[:, :, index], part)

    def outcomes(self, codes: NDArray[np.int64], within: Array) -> Array:
        return values_within(self.edges, codes, within)


def check_edges(what: str, edges: tuple[float, ...]) -> None:
    """Raises InputError for fewer than two brackets, or edges that do not ascend."""
    steps = list(itertools.pairwise(edges))
    twice = any(a == b == c for (a, b), (_, c) in itertools.pairwise(steps))
    if len(edges) < 3 or any(a > b for a, b in steps) or twice or not np.isfinite(edges).all():
        raise InputError(
            f"{what}: declare its edges, three or more finite numbers that ascend (bracket_edges=…); a number that "
            f"stands twice is a bracket of its own. Take them from knowledge of the variable and not from the table."
        )


def with_zero_alone(edges: tuple[float, ...]) -> tuple[float, ...]:
    """Edges of brackets with 0 as a bracket of its own.

    Examples
    --------
    >>> with_zero_alone((-5.0, 0.0, 10.0))
    (-5.0, 0.0, 0.0, 10.0)
    """
    return tuple(sorted([0.0, 0.0, *(edge for edge in edges if edge != 0)]))


def codes_of(edges: Array, values: Array) -> NDArray[np.int64]:
    """Places of values among the brackets: from its edge on, without the next; of all values the last is in the last.

    Examples
    --------
    >>> codes_of(np.array([-5.0, 0.0, 0.0, 10.0, 20.0]), np.array([-5.0, 0.0, 1.0, 10.0, 20.0]))
    array([0, 1, 2, 3, 3])
    """
    first, last = (np.searchsorted(edges, values, side=side) for side in ("left", "right"))
    return np.minimum(np.where(last - first == 2, first, last - 1), len(edges) - 2)


def values_within(edges: Array, codes: NDArray[np.int64], share: Array) -> Array:
    """The value of each bracket below which a share of it lies: above 0 by a uniform logarithm, else uniform."""
    low, high = edges[codes], edges[codes + 1]
    values = low + share * (high - low)
    log = low > 0
    values[log] = low[log] * (high[log] / low[log]) ** share[log]
    return np.clip(values, low, high)
