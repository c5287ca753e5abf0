"""`calibrate`: survey weights of a file that was released, so that its weighted totals are those that are public."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import pandas as pd

from synth_core.analysis.calibration import Margin, calibrated
from synth_core.cli.data import add_reading, load_data, options_of
from synth_core.cli.output import destination, show_or_write
from synth_core.data.survey_weights import read_weights
from synth_core.data.table import Table, open_table
from synth_core.errors import InputError
from synth_core.system.number_text import ceiling, floored, measured

COLUMNS = ("column", "value", "total")
ADDED = "_calibrated"
PROMISE = (
    "Calibration reads the released file and public totals alone, so what was promised of the file is promised of it "
    "with these weights, and no ε is charged. That holds only if the totals were published by others or follow from "
    "public columns: a total that is computed from the confidential table is another release."
)


def add(commands: Any) -> None:
    """Add the sub-command."""
    command = commands.add_parser(
        "calibrate", help="move the survey weights of a released file so that its totals are public ones"
    )
    option = command.add_argument
    option("data", metavar="FILE", help="a released file")
    option("--weight", required=True, metavar="COLUMN", help="its survey weights")
    option(
        "--totals",
        required=True,
        metavar="FILE.csv",
        help="columns column, value and total: a category and its records of the population, or a number, without a "
        "value, and its sum",
    )
    option("--published", required=True, metavar="WHERE", help="where the totals are published, in words")
    option(
        "--out",
        metavar="FILE.csv",
        help=f"the file with one more column, COLUMN{ADDED}; without it, only a report",
    )
    add_reading(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Calibrate, say how far weights moved, and write the file."""
    path = destination(args.out)
    if not args.published.strip():
        raise InputError("Say where the totals are published (--published): only public totals cost no ε.")
    table = load_data(args.data, options=options_of(args), missing=args.missing)
    rows = np.ones(table.rows, dtype=bool)
    weights, added = read_weights(table, args.weight, rows), f"{args.weight}{ADDED}"
    if added in table.frame.columns:
        raise InputError(
            f"The file has a column '{added}' already, the name of the one that is added: rename it."
        )
    margins = read_margins(table, args.totals)
    found = calibrated(weights, margins)
    print(f"{len(margins)} totals, published in: {args.published}")
    for each in margins:
        before = float(weights @ each.values)
        off = "" if not each.total else f" ({100 * (before / each.total - 1):+.2f} %)"
        print(f"  {each.name}: {measured(before)}{off}, now {measured(float(found.weights @ each.values))}")
    print(
        f"Weights are multiplied by {floored(found.least, 3)} to {ceiling(found.most, 3)}; they tell "
        f"as {found.effective:,.0f} records of equal weight, before as {found.effective_before:,.0f}."
    )
    print(PROMISE)
    if path is not None:
        written = table.as_written(list(table.frame.columns), rows)
        entry = table.codebook.get(args.weight)
        sign = "." if entry is None else entry.decimal  # a file has one
        written[added] = [f"{each:.10g}".replace(".", sign) for each in found.weights]
        show_or_write(written.to_csv(index=False).rstrip("\n"), path)
    return 0


def read_margins(table: Table, path: str) -> tuple[Margin, ...]:
    """The totals that a file declares, each with what it is of; raises InputError that names the row."""
    totals = open_table(path)
    if tuple(totals.frame.columns) != COLUMNS:
        raise InputError(f"The file of totals has the columns {', '.join(COLUMNS)}, in this order.")
    frame = totals.frame.assign(value=_cells(totals, "value"))
    margins = [
        _margin(table, place, row.column, row.value, row.total)
        for place, row in enumerate(frame.itertuples(index=False), start=2)
    ]
    if not margins:
        raise InputError("The file of totals has no total.")
    if len({each.name for each in margins}) < len(margins):
        raise InputError("The file of totals has a total twice.")
    return tuple(margins)


def _margin(table: Table, line: int, column: Any, value: Any, total: Any) -> Margin:
    try:
        number = float(total)
    except (TypeError, ValueError):
        number = math.nan
    if pd.isna(column) or not math.isfinite(number):
        raise InputError(f"Line {line} of the totals needs a column and a number as its total.")
    name = str(column)
    values = table.frame[table.column(name).name]  # refuses what the table does not have
    if pd.isna(value):
        if not pd.api.types.is_numeric_dtype(values) or values.isna().any():
            raise InputError(
                f"Line {line} of the totals: '{name}' is no number in every record, so it has no sum. Give a value."
            )
        return Margin(f"the sum of {name}", values.to_numpy(dtype=float), number)
    if number < 0:
        raise InputError(f"Line {line} of the totals: a number of records is not below 0.")
    same = (_cells(table, name) == value).to_numpy()
    if not same.any():  # 10.10 and 10.1 are two codes; but the file may spell the one that is named otherwise
        same = (values.map(_text) == _text(value)).to_numpy()
    return Margin(f"{name} = {value}", same.astype(float), number)


def _cells(table: Table, name: str) -> pd.Series:
    """The cells of a column as its file writes them, without surrounding space; empty ones missing."""
    cells = table.as_written([name], np.ones(table.rows, dtype=bool))[name]
    return cells.map(lambda cell: str(cell).strip() or None, na_action="ignore")


def _text(value: Any) -> str:
    """A value as both files write it: 1.0 is 1."""
    try:
        return f"{float(value):.12g}"
    except (TypeError, ValueError):
        return str(value)
