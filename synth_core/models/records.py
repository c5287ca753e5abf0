"""The records that a model is fitted to: a sensitive outcome, and what is public about each record."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth_core.mechanisms.bounds import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Records:
    """The sensitive outcome and the non-sensitive design, complete and finite.

    Attributes
    ----------
    outcome : array of shape (n_records,)
        x, in the analyst's unit.
    design : array of shape (n_records, n_columns)
        z: a column of ones, then predictor columns centred and scaled by their own mean and
        standard deviation (predictors are not sensitive and are kept as they are).
    design_names : tuple of str
    steps : array of shape (n_columns,), optional
        What a column but the first differs by in a comparison that a prior can speak of: a category and another one, or
        two standard deviations of a number (Gelman 2008). None: all are numbers.
    rows : array of int of shape (n_records,), optional
        Their rows in the file, from 1, for errors.
    """

    outcome: Array
    design: Array
    design_names: tuple[str, ...]
    steps: Array | None = None
    rows: NDArray[np.int64] | None = None

    def row(self, place: int) -> str:
        """Where a record stands, for an error: "row 11" of the file, or its place among the complete rows."""
        return f"row {place + 1} of the complete rows" if self.rows is None else f"row {self.rows[place]:,}"

    def first_row(self, refused: NDArray[np.bool_]) -> str:
        """Where the first refused value stands, for an error: "first in row 11"."""
        return f"first in {self.row(int(np.argmax(refused)))}"

    @property
    def n(self) -> int:
        return self.outcome.shape[0]

    @cached_property
    def digest(self) -> str:
        """A digest of every value in the order of the records: what a fit's key knows of the table."""
        digest = hashlib.sha256(repr(self.design.shape).encode())
        for array in (self.outcome, self.design):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        if self.steps is not None:
            digest.update(self.steps.tobytes())
        return digest.hexdigest()

    @cached_property
    def distinct_design(self) -> tuple[Array, NDArray[np.int64]]:
        """Distinct rows of the design, and for each record the index of its row."""
        if self.design.shape[1] == 1:
            return self.design[:1], np.zeros(self.n, dtype=np.int64)
        first, index = distinct_columns(self.design.T)
        return self.design[first], index

    def with_outcome(self, outcome: Array) -> Records:
        """Another outcome of the same predictors."""
        other = replace(self, outcome=outcome)
        other.__dict__["distinct_design"] = self.distinct_design
        return other

    def linear_predictor(self, coefficients: Array, rows: Rows) -> tuple[Array, NDArray[np.int64]]:
        """z' beta at the distinct design rows that `rows` use, and for each of `rows` its place among them.

        Parameters
        ----------
        coefficients : array of shape (n_draws, n_columns)

        Returns
        -------
        arrays of shapes (n_draws, n_used) and (n_rows,)
        """
        distinct, row_of = self.distinct_design
        used, index = np.unique(row_of[rows], return_inverse=True)
        return coefficients @ distinct[used].T, index


def distinct_columns(columns: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One record of each distinct combination, in lexicographic order, and for each record its combination.

    Parameters
    ----------
    columns : array of shape (n_columns, n_records)
    """
    columns = _two_values_packed(columns)
    order = np.lexsort(columns[::-1]) if len(columns) else np.arange(columns.shape[1])
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return order[new], index


PACKED = 52  # columns of two values that a float holds


def _two_values_packed(columns: Array) -> Array:
    """Columns in the same lexicographic order, with neighbours of two values each, such as indicators, made one number.

    Sorting by many keys was half the time of drawing a table of categories. One value alone puts nothing in order.
    """
    packed: list[Array] = []
    held = 0  # columns in the last number; 0 where it takes no more
    for column in columns:
        low, high = column.min(initial=np.inf), column.max(initial=-np.inf)
        if low >= high:
            continue
        larger = column == high
        if not (larger | (column == low)).all():
            packed.append(column)
            held = 0
        elif 0 < held < PACKED:
            packed[-1] = 2 * packed[-1] + larger
            held += 1
        else:
            packed.append(larger.astype(float))
            held = 1
    return np.array(packed).reshape(len(packed), columns.shape[1])
