"""Fine bins of a number: where it lies within its brackets, with values where answers heap in bins of their own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.models.bracketed import codes_of

WITHIN = 8  # bins of what lies between the edges of a bracket


@dataclass(frozen=True, eq=False)
class FineBins:
    """The fine bins of a number, those of one bracket after those of another.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
        Ascending; as with brackets, one that stands twice is a bin of its own.
    bracket : array of int of shape (n_bins,)
        The bracket that each lies in, ascending.
    """

    edges: Array
    bracket: Codes

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Whether each is of one value."""
        return np.diff(self.edges) == 0

    @property
    def first(self) -> Codes:
        """The first bin of each bracket."""
        return np.flatnonzero(np.diff(self.bracket, prepend=-1))

    @property
    def last(self) -> Codes:
        """The last bin of each bracket."""
        return np.append(self.first[1:], len(self.bracket)) - 1

    def sums(self, values: Array) -> Array:
        """Sums of values of bins over each bracket, of shape (n_brackets,)."""
        return np.asarray(np.add.reduceat(values, self.first))


def fine_bins(variable: Variable) -> FineBins:
    """Equal bins between the edges of each bracket, above 0 on the logarithm, and bins of the edges themselves.

    Answers heap at round numbers, where brackets are declared to begin, and at a top code, where the last one ends. Of
    a count an edge has no bin of its own, for few whole numbers are in the one that it begins.
    """
    edges, bracket = [variable.edges[0]], []
    last = variable.n_values - 1
    for k, (low, high) in enumerate(itertools.pairwise(variable.edges)):
        if low == high:
            inner = [high]
        else:
            inner = list((np.geomspace if low > 0 else np.linspace)(low, high, WITHIN + 1)[1:])
            begun = k > 0 and variable.edges[k - 1] == low  # the bracket before is of this value
            if not variable.discrete:
                inner = [low] * (not begun) + inner + [high] * (k == last)
        edges += inner
        bracket += [k] * len(inner)
    return FineBins(np.array(edges), np.array(bracket))


def fine_table(variable: Variable, values: Array, codes: Codes, parts: Codes) -> Codes:
    """Counts of the fine bins of a number, in parts of a record. Confidential.

    Of shape (1, n_bins), a row as in other tables: of no public column.

    Parameters
    ----------
    codes : array of int of shape (n_records,)
        The bracket that each is counted in, as in all other tables: at the end of what rules leave that below.
    """
    present = ~np.isnan(values)
    there, codes, parts = values[present], codes[present], parts[present]
    bins = fine_bins(variable)
    mine = codes_of(bins.edges, np.clip(there, variable.edges[0], variable.edges[-1]))
    counts = np.zeros((1, len(bins.bracket)), dtype=np.int64)
    np.add.at(counts[0], np.clip(mine, bins.first[codes], bins.last[codes]), parts)
    return counts
