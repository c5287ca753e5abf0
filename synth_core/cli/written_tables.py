"""`--write`: the synthetic tables of a comparison as files, marked as not released."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.settings import Settings
from synth_core.cli.output import check_directory
from synth_core.data.table import Table, outcome_column

if TYPE_CHECKING:
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.records.records import RecordsAnalysis
    from synth_core.analysis.records.result import RecordsResult
    from synth_core.analysis.result import Result
    from synth_core.experiments.rivals.problem import RivalSynthetic
    from synth_core.experiments.rivals.registry import RivalSpec
    from synth_core.experiments.rivals.study import RivalStudy

Of = tuple[
    Table, NDArray[np.bool_], Mapping[str, Settings]
]  # a table, its used rows, each variable's settings
WARNING = "not released: neither the gate nor the ledger has seen it"


def add_write(command: Any) -> None:
    """The option that names where they go."""
    command.add_argument(
        "--write",
        metavar="DIR",
        help="write the synthetic tables there, each marked as not released: for other tools, not for others' eyes",
    )


def writable(path: str | None) -> Path | None:
    """The directory of `--write`, asked for before the work is done; raises InputError or FitError."""
    if path is None:
        return None
    check_directory(Path(path))
    return Path(path)


def write_one(directory: Path, analysis: Analysis, result: Result) -> None:
    """The synthetic tables of a mechanism on one sensitive variable."""
    s = analysis.settings
    for j, values in enumerate(result.synthetic, 1):
        made = pd.DataFrame({s.outcome: outcome_column(values, s.outcome_categories)})
        of = analysis.table, analysis.selection.complete, {s.outcome: s}
        _write(directory, f"{result.mechanism}-{j}", of, made)


def write_whole_records(directory: Path, analysis: RecordsAnalysis, result: RecordsResult) -> None:
    """The synthetic tables of a mechanism on whole records."""
    for j, made in enumerate(result.synthetic, 1):
        _write(directory, f"{result.mechanism}-{j}", _records(analysis), made)


def write_cell(
    directory: Path, study: RivalStudy, asked: RivalSpec, judge: RecordsAnalysis, made: RivalSynthetic
) -> None:
    """The synthetic table of one synthesizer, budget and seed of a study."""
    at = "" if asked.epsilon is None else f"-{study.counted}-{asked.epsilon:g}"
    kept = " - confidential records as they are" if asked.who == "sample" else ""
    _write(directory, f"{asked.who}{at}-seed-{asked.seed}{kept}", _records(judge), made.frame, made.rows)


def _records(analysis: RecordsAnalysis) -> Of:
    settings = {part.name: part.settings for part in analysis.parts if not part.of_missing}
    return analysis.loaded, analysis.records.complete, settings


def _write(directory: Path, name: str, of: Of, made: pd.DataFrame, rows: Any = None) -> None:
    from synth_core.release.output.not_released import synthetic_table, write_not_released

    table, complete, settings = of
    content = synthetic_table(table, complete, settings, made, f"{name}, {WARNING}", rows)
    print(f"written to {write_not_released(directory, name, content)}, {WARNING}", file=sys.stderr)
