"""Synthetic tables of a comparison as files, marked as not released: no gate and no ledger has seen them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.settings import Settings
from synth_core.data.missing import by_column
from synth_core.data.table import Table
from synth_core.errors import FitError
from synth_core.models import family
from synth_core.release.output.bundle import csv_bytes
from synth_core.release.output.dataset import Variable, cells_of, ends_of, rounded
from synth_core.release.plan.schema import decimals_among
from synth_core.system import files

MARK = "NOT RELEASED"  # in the file's name, and a column of the file


def synthetic_table(
    table: Table,
    complete: NDArray[np.bool_],
    settings: Mapping[str, Settings],
    synthetic: pd.DataFrame,
    why: str,
    rows: NDArray[np.int64] | None = None,
) -> bytes:
    """A synthetic table as a CSV file, written as a release would be, with a column that says that it is none.

    Parameters
    ----------
    complete : array of bool of shape (n_rows,)
        The rows of the table that were used.
    settings : mapping
        Of each sensitive variable; the predictors are those of any.
    synthetic : DataFrame
        The sensitive columns: numbers, or categories; what is missing is empty.
    why : str
        What the file is of, in every cell of the column of the mark.
    rows : array of int, optional
        Which complete row each record has its kept columns from; None: in their order.
    """
    kept = [*next(iter(settings.values())).predictors]
    kept += [name for name in table.public_columns if name not in (*kept, *settings)]
    order = np.arange(int(complete.sum())) if rows is None else rows
    frame = table.frame.loc[complete, kept].iloc[order].reset_index(drop=True)
    written = table.as_written(kept, complete).iloc[order].reset_index(drop=True)
    marks = by_column(table.missing, list(table.frame.columns))
    for name, each in settings.items():
        column = synthetic[name].reset_index(drop=True)
        entry = table.codebook.get(name)
        missing = (*marks.get(name, ()), *(() if entry is None else entry.missing))
        variable = Variable(name, np.empty((0, 0)), each.outcome_categories, family(each.model).discrete)
        if each.outcome_categories is None:
            decimals = None if variable.whole else decimals_among(table.frame[name][complete])
            values = column.to_numpy(dtype=float, na_value=np.nan)
            column = pd.Series(values if decimals is None else rounded(values, decimals, ends_of(each)))
            variable = Variable(name, np.empty((0, 0)), None, variable.whole, None, decimals)
        frame[name], written[name] = column, cells_of(column, variable, missing, entry)
    names = [str(name) for name in table.frame.columns if name in frame.columns]
    marked = {MARK: why}
    return csv_bytes(frame[names].assign(**marked), written[names].assign(**marked))


def write_not_released(directory: Path, name: str, content: bytes) -> Path:
    """Write a table of a comparison into a directory, under a name that says that it is not released.

    Raises
    ------
    FitError
        If it cannot be written.
    """
    path = directory / f"{re.sub(r'[^A-Za-z0-9.]+', '-', name)}-{MARK.replace(' ', '-')}.csv"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_whole(path, content, durable=False)
    except OSError as error:
        raise FitError(files.explain(error, f"The directory {directory}")) from None
    return path
