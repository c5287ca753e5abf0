"""What the synthetic table looks like: its first rows, its columns as declared, and where it differs. Confidential."""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.analysis.check.table_check import TableCheck
from synth_core.analysis.check.unlikely import UnlikelyCombination
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.summary import ROWS_SHOWN, PairSummary, pairs_of
from synth_core.release.output.bundle import dictionary_rows
from synth_core.release.output.dataset import Synthetic
from synth_core.release.plan.plan import Plan

COMBINATIONS = 20
MAPS = 3
CELLS = 300  # of a map


@dataclass(frozen=True)
class Look:
    """The look of a synthetic table, for a page and the internal report.

    Attributes
    ----------
    columns, rows : of str
        The first rows of data set 1 as they leave. Nothing confidential, as what was declared.
    declared : list of dict of str
        What the plan says of each column.
    combinations : list of UnlikelyCombination
        Those that are unlikely, the most frequent first. Confidential.
    pairs : list of PairSummary
        Columns with the shares of their cells in both tables, the most off first. Confidential.
    """

    columns: list[str]
    rows: list[list[str]]
    declared: list[dict[str, str]]
    combinations: list[UnlikelyCombination]
    pairs: list[PairSummary]


def look_at(plan: Plan, synthetic: Synthetic, tables: DiscretisedTables, check: TableCheck) -> Look:
    """What a synthetic table looks like.

    Parameters
    ----------
    tables : DiscretisedTables
        Both tables, all data sets.
    check : TableCheck
        Of these tables.
    """
    written = synthetic.written[0].head(ROWS_SHOWN)
    pairs = [pair for pair in pairs_of(tables, set(plan.outcomes), CELLS) if pair.confidential]
    worst = {
        frozenset((each.given, each.column)): each.of_all for each in reversed(check.unlikely.combinations)
    }
    pairs.sort(key=lambda pair: (-worst.get(frozenset(pair.names), 0.0), -pair.difference))
    return Look(
        [str(name) for name in written.columns],
        [["" if cell is None or cell != cell else str(cell) for cell in row] for row in written.to_numpy()],
        dictionary_rows(plan),
        list(check.unlikely.combinations[:COMBINATIONS]),
        [pair.only(*pair.used) for pair in pairs[:MAPS]],
    )
