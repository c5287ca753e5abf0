"""`--write`: the synthetic tables of a comparison as files, marked as not released."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from synth_core.cli.output import check_directory
from synth_core.data.outcome import outcome_column

if TYPE_CHECKING:
    from synth_core.analysis.any_analysis import AnyAnalysis, R
    from synth_core.analysis.records.records import RecordsAnalysis
    from synth_core.experiments.rivals.problem import RivalSynthetic
    from synth_core.experiments.rivals.registry import RivalSpec
    from synth_core.experiments.rivals.study import RivalStudy

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


def write_tables(directory: Path, analysis: AnyAnalysis[R], result: R) -> None:
    """The synthetic tables of a mechanism."""
    drawn, outcomes = analysis.synthetic(result), analysis.outcomes
    for j in range(len(next(iter(drawn.values())))):
        columns = {name: outcome_column(drawn[name][j], s.outcome_categories) for name, s in outcomes.items()}
        _write(directory, f"{result.mechanism}-{j + 1}", analysis, pd.DataFrame(columns))


def write_cell(
    directory: Path, study: RivalStudy, asked: RivalSpec, judge: RecordsAnalysis, made: RivalSynthetic
) -> None:
    """The synthetic table of one synthesizer, budget and seed of a study."""
    at = "" if asked.epsilon is None else f"-{study.counted}-{asked.epsilon:g}"
    kept = " - confidential records as they are" if asked.who == "sample" else ""
    _write(directory, f"{asked.who}{at}-seed-{asked.seed}{kept}", judge, made.frame, made.rows)


def _write(directory: Path, name: str, of: AnyAnalysis[Any], made: pd.DataFrame, rows: Any = None) -> None:
    from synth_core.release.output.not_released import synthetic_table, write_not_released

    about = f"{name}, {WARNING}"
    content = synthetic_table(of.loaded, of.used_rows.complete, of.outcomes, made, about, rows)
    print(f"written to {write_not_released(directory, name, content)}, {WARNING}", file=sys.stderr)
