"""A point of the map for several sensitive variables: every measure is the largest error over the variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX
from synth_core.analysis.settings import Settings
from synth_core.analysis.utility import distance_of
from synth_core.data.outcome import outcome_values
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Ruler

Array = NDArray[np.float64]


class RecordsRuler:
    """Measures synthetic records against the confidential ones: "every variable is within" is the largest error.

    A measure that a variable does not have, such as a percentile of categories, leaves it out. Where a value may be
    missing, the share of missing values counts as a variable too, and the values that are there are compared.

    Attributes
    ----------
    names : tuple of str
        The measures of all variables together, then the largest difference of each by itself.
    """

    def __init__(
        self,
        table: Table,
        fits: Sequence[Settings],
        percentiles: tuple[float, ...],
        weights: Array | None = None,
    ):
        self._parts = [(s.outcome, s.outcome_categories) for s in fits]
        self._values, self._weights = {}, {}
        for name, categories in self._parts:
            values = outcome_values(table, name, categories)
            there = ~np.isnan(values)
            self._values[name] = values[there]
            self._weights[name] = None if weights is None else weights[there]
        self._rulers = {
            name: Ruler(self._values[name], percentiles, self._weights[name])
            for name, categories in self._parts
            if not categories
        }
        numbers = next(iter(self._rulers.values()), None)
        self._common = (ECDF_MAX, ECDF_AVG) if numbers is None else numbers.names
        self.names = (*self._common, *(difference_of(name) for name, _ in self._parts))

    def measure(self, columns: dict[str, Array], weights: Array | None = None) -> Array:
        """The errors of one synthetic table, of shape (len(names),); NaN where one of a variable is not defined.

        Parameters
        ----------
        columns : dict of arrays of shape (n_synthetic,)
            Numbers or codes of every part, missing as NaN.
        weights : array of shape (n_synthetic,), optional
            Survey weights, where those of the confidential records are known.
        """
        errors = np.full((len(self._parts), len(self._common)), -np.inf)
        for row, (name, categories) in zip(errors, self._parts, strict=True):
            there = ~np.isnan(columns[name])
            synthetic, own = columns[name][there], None if weights is None else weights[there]
            if not synthetic.size:  # nothing was drawn of it: as far off as can be
                row[:] = np.nan
                row[:2] = 1.0
            elif categories:
                mine = self._weights[name]
                both = None if mine is None or own is None else (mine, own)
                distance = distance_of(self._values[name], synthetic, categories, both)
                row[:2] = distance.ecdf_max, distance.ecdf_avg
            else:
                row[:] = self._rulers[name].measure(synthetic, own)
        return np.concatenate([errors.max(axis=0), errors[:, 0]])


def difference_of(name: str) -> str:
    """The measure that is the largest difference of one variable."""
    return f"{ECDF_MAX} of {name}"


def ruler_of(
    analysis: AnyAnalysis[Any], percentiles: tuple[float, ...], rows: NDArray[np.int64] | None = None
) -> tuple[tuple[str, ...], Callable[[dict[str, Array]], Array]]:
    """The names of the measures of a point, and what measures one synthetic table.

    Parameters
    ----------
    rows : array of int of shape (n_synthetic,), optional
        Whose predictors, and so whose survey weight, each synthetic record has; by default the records in their order.
    """
    survey = analysis.survey if analysis.settings.accuracy_by else None
    mine = None if survey is None else survey.weights
    theirs = mine if mine is None or rows is None else mine[rows]
    if analysis.blocks:
        several = RecordsRuler(
            analysis.table, [each.settings for each in analysis.analyses(False)], percentiles, mine
        )
        return several.names, lambda columns: several.measure(columns, theirs)
    [(outcome, values)] = analysis.confidential.items()
    ruler = Ruler(values, percentiles, mine)
    return ruler.names, lambda columns: ruler.measure(columns[outcome], theirs)


def check_measure(fits: Sequence[Settings], measure: str) -> None:
    """Refuse a measure that no variable has; raises InputError."""
    if measure not in (ECDF_MAX, ECDF_AVG) and all(s.outcome_categories for s in fits):
        raise InputError(
            f"No sensitive variable is a number, so there is no '{measure}'. Take {ECDF_MAX} or {ECDF_AVG}."
        )


def measured_words(fits: Sequence[Settings], measure: str) -> str:
    """Of which variables a measure is, a sentence where it is not of all; else empty."""
    have = [s.outcome for s in fits if not s.outcome_categories]
    if measure in (ECDF_MAX, ECDF_AVG) or len(have) == len(fits):
        return ""
    of = f"Of {have[0]} alone" if len(have) == 1 else f"The largest over {', '.join(have)}"
    return f"{of}: categories have none."
