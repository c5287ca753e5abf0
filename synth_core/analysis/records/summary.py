"""A result of whole records thinned to what a screen can show. Confidential."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.measures import cramers_v
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.result_numbers import to_summary
from synth_core.analysis.summary import bounds_of

MAX_CELLS = 144  # of a pair's table: more are not read on a screen


def summarise_records(analysis: RecordsAnalysis, result: RecordsResult) -> dict[str, Any]:
    """Plain numbers of one mechanism on whole records, for a table and figures.

    Returns
    -------
    dict
        "variables" are the fits in order; "pairs" the columns of which at least one is sensitive, with their
        associations and their shares by cell in both tables.
    """
    tables = analysis.judge.discretised(result.synthetic[0])
    return to_summary(result.plain_numbers) | {
        "privacy": {"bounds": bounds_of(result.lipschitz_bounds)} if result.lipschitz_bounds.size else None,
        "pairs": pairs_of(tables, {block.name for block in analysis.blocks}),
    }


def pairs_of(
    tables: DiscretisedTables, sensitive: set[str], most_cells: int = MAX_CELLS
) -> list[dict[str, Any]]:
    """The association and the shares by cell of each pair of columns that synthesis touches; of more cells none."""
    pairs = []
    for i, j in itertools.combinations(range(len(tables.names)), 2):
        if not sensitive & {tables.names[i], tables.names[j]}:
            continue
        sides = tables.confidential[:, [i, j]], tables.synthetic[:, [i, j]]
        tied = [
            cramers_v(side[:, 0], side[:, 1], own) for side, own in zip(sides, tables.counted, strict=True)
        ]
        n_codes = tables.n_codes[i], tables.n_codes[j]
        few = n_codes[0] * n_codes[1] <= most_cells
        mine, theirs = (
            _shares(side, n_codes, own) if few else None
            for side, own in zip(sides, tables.counted, strict=True)
        )
        pairs.append(
            {
                "names": [tables.names[i], tables.names[j]],
                "association": abs(tied[0] - tied[1]),
                "labels": [list(tables.labels[i]), list(tables.labels[j])],
                "confidential": mine,
                "synthetic": theirs,
            }
        )
    return pairs


def _shares(
    codes: NDArray[np.int64], n_codes: tuple[int, int], weights: NDArray[np.float64]
) -> list[list[float]]:
    """Shares of the records by cell."""
    cells = np.bincount(codes[:, 0] * n_codes[1] + codes[:, 1], weights, n_codes[0] * n_codes[1])
    shares: list[list[float]] = (cells.reshape(n_codes) / weights.sum()).tolist()
    return shares
