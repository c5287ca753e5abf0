"""How a sensitive variable is cut into cells by what was declared of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.models.bracketed import codes_of

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Variable:
    """How a sensitive variable is cut. Codes are those of its categories or brackets, and of missing values last.

    Attributes
    ----------
    name : str
    n_values : int
        Categories, or brackets.
    edges : tuple of float
        Of the brackets of a number, ascending; one that stands twice is a bracket of its own. A value beyond them
        counts in the bracket at that end: a rule that reads a value alone. Empty for categories.
    ordered : bool or None
        Whether its cells are in an order; None where they are as declared, which may be one.
    missing : bool
        Whether missing values have a cell.
    discrete : bool
        Whether it is a count, as its family says: a number that is whole.
    """

    name: str
    n_values: int
    edges: tuple[float, ...] = ()
    ordered: bool | None = False
    missing: bool = False
    discrete: bool = False

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.n_values + self.missing

    @property
    def whole_ends(self) -> tuple[Array, Array]:
        """Those of the brackets of a count, see `whole_ends`."""
        return whole_ends(self.edges)

    def codes(self, values: Array) -> Codes:
        """Cells of numbers or codes of categories, missing as NaN; of shape (n_records,)."""
        return cell_codes(values, self.edges, self.n_values)


def whole_ends(edges: tuple[float, ...]) -> tuple[Array, Array]:
    """The smallest and the largest whole number of each bracket, of shape (n_brackets,) each.

    A number that is a bracket of its own is in no other, and the last bracket has its end, such as a top code.

    Examples
    --------
    >>> whole_ends((0.0, 0.0, 10.0, 60.0))
    (array([ 0.,  1., 10.]), array([ 0.,  9., 60.]))
    """
    begin, end = np.array(edges[:-1]), np.array(edges[1:])
    alone = np.append(False, begin[:-1] == begin[1:])  # the number that a bracket begins with
    least = np.where(alone, np.floor(begin) + 1, np.ceil(begin))
    most = np.ceil(end) - 1
    most[-1] = np.floor(end[-1])
    return least, np.maximum(most, least)


def cell_codes(values: Array, edges: tuple[float, ...], n_values: int) -> Codes:
    """Cells of numbers by the edges of brackets, the ends for what lies beyond; without edges of codes of categories.

    Examples
    --------
    >>> cell_codes(np.array([0.0, 5.0, 10.0, 99.0, np.nan]), (0.0, 0.0, 10.0, 20.0), 3)
    array([0, 1, 2, 2, 3])
    """
    absent = np.isnan(values)
    there = np.where(absent, edges[0] if edges else 0.0, values)
    codes = (
        codes_of(np.array(edges), np.clip(there, edges[0], edges[-1])) if edges else there.astype(np.int64)
    )
    return np.where(absent, n_values, codes)
