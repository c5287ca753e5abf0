"""What the synthetic table looks like: its first rows, its columns as declared, and where it differs. Confidential."""

from __future__ import annotations

from typing import Any

import numpy as np

from synth_core.analysis.check.table_check import TableCheck
from synth_core.analysis.check.unlikely import UnlikelyCombination
from synth_core.analysis.check.words import combination_words
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.summary import pairs_of
from synth_core.release.output.bundle import dictionary_rows
from synth_core.release.output.dataset import Synthetic
from synth_core.release.plan.plan import Plan

ROWS = 20
COMBINATIONS = 20
MAPS = 3
CELLS = 300  # of a map


def look_at(plan: Plan, synthetic: Synthetic, tables: DiscretisedTables, check: TableCheck) -> dict[str, Any]:
    """Plain values for a page and the internal report.

    Parameters
    ----------
    tables : DiscretisedTables
        Both tables, all data sets.
    check : TableCheck
        Of these tables.

    Returns
    -------
    dict
        "columns" and "rows" of data set 1 as they leave, and "declared", what the plan says of each column: these three
        hold nothing confidential. "combinations" that are unlikely, and "pairs" of columns with the shares of their
        cells in both tables, the most off first.
    """
    written = synthetic.written[0].head(ROWS)
    pairs = [pair for pair in pairs_of(tables, set(plan.outcomes), CELLS) if pair["confidential"] is not None]
    worst = {
        frozenset((each.given, each.column)): each.of_all for each in reversed(check.unlikely.combinations)
    }
    pairs.sort(key=lambda pair: (-worst.get(frozenset(pair["names"]), 0.0), -_difference(pair)))
    return {
        "columns": [str(name) for name in written.columns],
        "rows": [
            ["" if cell is None or cell != cell else str(cell) for cell in row] for row in written.to_numpy()
        ],
        "declared": dictionary_rows(plan),
        "combinations": [_combination(each) for each in check.unlikely.combinations[:COMBINATIONS]],
        "pairs": pairs[:MAPS],
    }


def _combination(each: UnlikelyCombination) -> dict[str, Any]:
    return {
        "words": combination_words(each),
        "of_all": each.of_all,
        "expected": each.expected,
        "count": each.count,
    }


def _difference(pair: dict[str, Any]) -> float:
    """Total variation of the shares of a pair's cells."""
    return float(np.abs(np.subtract(pair["confidential"], pair["synthetic"])).sum()) / 2
