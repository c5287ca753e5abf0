"""Survey weights of a table: read as public design, checked, and brought to the scale of a pseudo likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.outcome import SMALLEST, check_exact
from synth_core.data.spellings import ANY_NUMBER, written_as
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.system.number_text import is_or_are, number_of

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]
CLASSES = 5  # of weights, in measured synthesis
LARGEST = 1e12  # more than any population has

NO_PROOF = {
    "raked": "Weights that were raked (calibrated) on totals of a sensitive variable depend on the answers of others: "
    "a record moves the weights of all, and no proof covers that. Take the design weights from before the calibration.",
    "confidential": "Confidential weights can be neither kept in a released file nor used as known. Make them a "
    "sensitive variable, as a block of its own after the others (--block), and name no weight.",
}


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of how records were sampled: estimates of the population and their standard errors read it.

    Attributes
    ----------
    weights : array of shape (n_records,)
        Of how many records of the population each stands for one.
    units : array of int of shape (n_records,), optional
        Which records were drawn together, as codes; None: each by itself.
    strata : array of int of shape (n_records,), optional
        The stratum that each was drawn from, as codes; None: all from one.
    drawn : array of int of shape (n_strata,), optional
        How many records, or units, were drawn from each stratum, by its code; None: those that are here.
    """

    weights: Array
    units: NDArray[np.int64] | None = None
    strata: NDArray[np.int64] | None = None
    drawn: NDArray[np.int64] | None = None

    def of(self, rows: Rows | NDArray[np.int64]) -> Survey:
        """That of some records."""
        units, strata = (None if each is None else each[rows] for each in (self.units, self.strata))
        return Survey(self.weights[rows], units, strata, self.drawn)

    def again(self, rows: NDArray[np.int64]) -> Survey:
        """That of records which have the design of some of these, one as often as it is named: a sample of its own."""
        return replace(self.of(rows), drawn=None)

    def within(self, rows: Rows | NDArray[np.int64]) -> Survey:
        """That of records that happened to be drawn, such as those with a value: their number is by chance too.

        Those of a stratum were drawn among all that were drawn of it, see `linearised_error`.
        """
        if self.strata is None or self.drawn is not None:
            return self.of(rows)
        strata = self.strata
        if self.units is not None:
            strata = np.unique(np.column_stack([strata, self.units]), axis=0)[:, 0]
        return replace(self, drawn=np.bincount(strata)).of(rows)


def read_survey(table: Table, weight: str, units: str | None, strata: str | None, rows: Rows) -> Survey:
    """The survey weights of some rows, with the units and strata they are in; raises InputError as `read_weights`."""
    of_units, of_strata = (
        None if name is None else pd.factorize(table.frame[name])[0].astype(np.int64)
        for name in (units, strata)
    )
    weights = np.full(len(rows), np.nan)  # those of rows that are not used are not looked at
    weights[rows] = read_weights(table, weight, rows)
    return Survey(weights, of_units, of_strata).within(rows)


def check_strata(table: Table, name: str) -> None:
    """Refuse a column that names no stratum of some record; raises InputError with the row."""
    table.column(name)
    table.check_use(name, kept=True)
    table.check_codes(name)
    missing = np.flatnonzero(table.frame[name].isna().to_numpy())
    if missing.size:
        lacking = "1 record has" if missing.size == 1 else f"{missing.size:,} records have"
        raise InputError(
            f"{lacking} no stratum in column '{name}' (first in row {missing[0] + 1:,}). Each was drawn from one: "
            "correct the column, or name no strata."
        )


def read_weights(table: Table, name: str, rows: Rows) -> Array:
    """The survey weights of some rows, of shape (n_rows_of_these,).

    Parameters
    ----------
    rows : array of bool of shape (n_rows,)

    Raises
    ------
    InputError
        If one is missing, no number, 0 or below: the row is named, the value is not.
    """
    column = table.column(name)
    table.check_use(name, kept=True)
    table.checked_number(name)
    series = table.frame[name]
    if column.kind not in ("number", "code"):
        other = series.notna().to_numpy() & ~written_as(series, ANY_NUMBER)
        where = f" (first in row {int(np.argmax(other)) + 1:,})" if other.any() else ""
        zeros = column.kind == "text" and not other.any()
        what = "what may be codes: declare it a number in the codebook" if zeros else f"something else{where}"
        raise InputError(f"Survey weights are numbers, and column '{name}' holds {what}.")
    check_exact(series, name)
    values = series.to_numpy(dtype=float, na_value=np.nan)
    for wrong, said in (
        (np.isnan(values), "missing"),
        (np.isinf(values), "infinite"),
        (values <= 0, "0 or below"),
        (values < SMALLEST, "nearer to 0 than any weight"),
        (values > LARGEST, "larger than any population"),
    ):
        at = np.flatnonzero(wrong & rows)
        if at.size:
            raise InputError(
                f"{number_of(at.size, 'survey weight')} in column '{name}' {is_or_are(at.size)} {said} "
                f"(first in row {at[0] + 1:,}). A record of the sample stands for itself at least: correct the "
                "weights, or leave these rows out of the file."
            )
    return np.asarray(values[rows])


def scaled_weights(weights: Array, total: float, n_rows: int, cap: float) -> Array:
    """w_i / W cut at a cap, with W = N / n: what multiplies a log-likelihood.

    N is declared and n is public. With the table's own mean in its place, one record's weight would move the terms of
    all others.

    Parameters
    ----------
    total : float
        N, records of the population.
    n_rows : int
        n, rows of the table.

    Raises
    ------
    InputError
        If there are more rows than the population has records.

    Examples
    --------
    >>> scaled_weights(np.array([50.0, 100.0, 900.0]), total=300.0, n_rows=3, cap=4.0)
    array([0.5, 1. , 4. ])
    """
    check_total(total, n_rows)
    return np.asarray(np.minimum(weights * (n_rows / total), cap))


def check_total(total: float | None, n_rows: int) -> None:
    """Refuse a declared total of the weights that is below the rows of the table; raises InputError."""
    if total is not None and total < n_rows:
        raise InputError(
            f"The declared total of the weights (--weight-total) is {total:g}, and the table alone has {n_rows:,} "
            "rows: it is the number of records of the population."
        )


def weight_classes(weights: Array) -> NDArray[np.int64]:
    """The class of each weight, by quantiles of the weights, which are public."""
    cuts = np.unique(np.quantile(weights, np.arange(1, CLASSES) / CLASSES))
    return np.asarray(np.searchsorted(cuts, weights, side="right"), dtype=np.int64)


def effective_records(weights: Array) -> float:
    """As how many records of equal weight they tell: (sum w)^2 / sum w^2 (Kish 1965).

    Examples
    --------
    >>> effective_records(np.ones(4)), effective_records(np.array([3.0, 1.0]))
    (4.0, 1.6)
    """
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.size else 0.0
