"""Sensitive variables that a later one is conditional on, as columns of its design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.outcome import category_codes
from synth_core.data.table import Table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EarlierVariable:
    """How a sensitive variable enters the design of a later one: by declared constants, never by the table's own.

    A mean, a deviation or a list of levels taken from the table would let one record move the columns of all others.

    Attributes
    ----------
    name : str
    categories : tuple of str
        Declared categories: a column of 0 and 1 for each but the first. Empty for a number.
    scale : float
        Of a number x, which enters as asinh(x / scale): about linear within it, a signed logarithm beyond.
    zeros : bool
        Whether zeros of a number have a column of 0 and 1.
    missing : bool
        Whether missing values have a column of 0 and 1; they are 0 in the other columns.
    """

    name: str
    categories: tuple[str, ...] = ()
    scale: float = 1.0
    zeros: bool = False
    missing: bool = False

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of the design."""
        own = [f"{self.name}: {category}" for category in self.categories[1:]] or [self.name]
        own += [f"{self.name}: zero"] if self.zeros else []
        return (*own, *([f"{self.name}: missing"] if self.missing else []))

    def columns(self, values: Array) -> Array:
        """The design's columns, of shape (n_records, n_columns).

        Parameters
        ----------
        values : array of shape (n_records,)
            Numbers, or codes of the categories; missing as NaN.
        """
        absent = np.isnan(values)
        if self.categories:
            own = [values == code for code in range(1, len(self.categories))]
        else:
            own = [np.where(absent, 0.0, np.arcsinh(values / self.scale))]
            own += [values == 0] if self.zeros else []
        return np.column_stack([*own, *([absent] if self.missing else [])]).astype(float)

    def values(self, table: Table) -> Array:
        """The variable's numbers or codes in a table of whole records, missing as NaN, of shape (n_rows,)."""
        if self.categories:
            return category_codes(table, self.name, self.categories)
        return pd.to_numeric(table.frame[self.name]).to_numpy(dtype=float)
