"""Structural missing values that noisy tables show: a public column that alone decides whether a value is missing.

A child has no income: in a questionnaire most values are missing for all records of a group and for none of another.
Noise hides a few records of either kind, and a model without a structural zero there gives some children an income. So
where the noisy counts are as near to such zeros as noise would put them, they are taken for zeros. It reads noisy
counts and public columns alone, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from synth_core.analysis.measured.cells import FREE, PRESENT, PublicSide
from synth_core.analysis.measured.log_linear import Array, Codes, NoisyTable

LEVEL = 0.01  # that zeros which are true are not taken for such
CLEAR = 6.0  # deviations of the noise that a group without any value has records, one group at least
TOLD = 3.0  # and every group of which anything is taken for decided


@dataclass(frozen=True, eq=False)
class StructuralMissing:
    """A public column that decides whether the values of a variable are missing.

    Attributes
    ----------
    column, variable : int
        Of the public columns, and of the sensitive ones.
    decided : array of int of shape (n_cells,)
        What each cell of the column decides, as `PublicSide.decided` has it of a record: the cell of missing values,
        `PRESENT`, or `FREE` where there are too few records to tell.
    """

    column: int
    variable: int
    decided: Codes


def structural_missing(public: PublicSide, tables: Sequence[NoisyTable]) -> list[StructuralMissing]:
    """The public columns that decide by themselves, as far as noise lets one see, whether values are missing."""
    found = []
    for k, variable in enumerate(public.variables):
        for column in range(len(public.shape)) if variable.missing else ():
            decided = _decided(public, tables, column, k)
            if decided is not None:
                found.append(decided)
    return found


def _decided(
    public: PublicSide, tables: Sequence[NoisyTable], column: int, variable: int
) -> StructuralMissing | None:
    """What a public column decides of a variable, if all values of each of its cells are missing or none."""
    missing, variance = _missing(public, tables, (column,), variable)
    if not np.isfinite(variance):
        return None
    records = np.bincount(public.codes[:, column], public.shares, public.shape[column])
    lacking, having = missing / np.sqrt(variance), (records - missing) / np.sqrt(variance)
    all_of = lacking > having
    away = np.minimum(lacking, having)  # of those of whom there should be none
    in_all, of_all = _missing(public, tables, (), variable)
    if np.isfinite(of_all):
        away = np.append(away, (in_all[0] - records[all_of].sum()) / np.sqrt(of_all))
    clear = (all_of & (lacking > CLEAR)).any() and not all_of.all()
    if not clear or float(away @ away) > scipy.stats.chi2(len(away)).isf(LEVEL):
        return None
    decided = np.where(all_of, public.variables[variable].n_values, PRESENT)
    return StructuralMissing(column, variable, np.where(np.maximum(lacking, having) > TOLD, decided, FREE))


def _missing(
    public: PublicSide, tables: Sequence[NoisyTable], columns: tuple[int, ...], variable: int
) -> tuple[Array, float]:
    """Noisy counts of missing values by the cells of public columns, and their variance; inf where there are none."""
    n_public, shape = len(public.shape), (*public.shape, *(each.n for each in public.variables))
    wanted = (*columns, n_public + variable)
    counts, told = np.zeros([public.shape[column] for column in columns] or 1), 0.0
    for table in tables:
        if not set(wanted) <= set(table.columns) or (not columns and len(table.columns) > 1):
            continue
        cells = table.counts.reshape([shape[column] for column in table.columns])
        others = tuple(axis for axis, column in enumerate(table.columns) if column not in wanted)
        here = cells.sum(axis=others)[..., -1]
        precision = 1 / (table.deviation**2 * np.prod([cells.shape[axis] for axis in others]))
        counts += precision * here
        told += precision
    return (counts / told, 1 / told) if told else (counts, np.inf)


def structural_words(public: PublicSide, found: Sequence[StructuralMissing]) -> str:
    """Which public columns decide whether values are missing, in a sentence; empty where none does."""
    of_column = {
        column: ", ".join(public.variables[each.variable].name for each in found if each.column == column)
        for column in dict.fromkeys(each.column for each in found)
    }
    told = "; ".join(f"of {names} by {public.names[column]}" for column, names in of_column.items())
    return f" As far as these counts tell, it is decided whether a value is missing {told}." if told else ""
