"""Rows of a design in parts: columns of few values once a combination of them, the others by row.

A linear predictor at a row of 30 columns of categories is then a sum of two or three numbers that were computed once
for each combination (`DesignParts` in stan/functions/categories.hpp).
"""

from __future__ import annotations

import numpy as np

from synth_core.engine.stan_data import StanData
from synth_core.models.base import Array
from synth_core.models.records import distinct_columns
from synth_core.system.plain_paths import plain

FEW_VALUES = 64  # of a column, for it to be kept by combination
MOST_CELLS = 1024  # of a group of columns: what is computed of them stays in a core's nearest cache


def design_parts(rows: Array) -> StanData:
    """Distinct rows as `design_parts_data.stan` has them.

    Columns of few values join the group before them as long as it has few combinations, so that the columns of one
    category stay together.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)

    Examples
    --------
    >>> found = design_parts(np.array([[1.0, 0.0, 0.31], [1.0, 1.0, 0.52], [1.0, 0.0, 0.17]]))
    >>> found["n_groups"], found["n_cells"], found["cell"].tolist(), found["n_others"]
    (1, 3, [2, 3, 1], 0)
    """
    few = [len(np.unique(column)) <= FEW_VALUES and not plain() for column in rows.T]
    groups: list[list[int]] = []
    for j in np.flatnonzero(few):
        joined = [*(groups[-1] if groups else []), int(j)]
        if groups and len(distinct_columns(rows[:, joined].T)[0]) <= MOST_CELLS:
            groups[-1] = joined
        else:
            groups.append([int(j)])
    cells, places, parts, begin = [np.empty((0, rows.shape[1]))], [], [], 1
    for group in groups:
        mine = np.zeros_like(rows)
        mine[:, group] = rows[:, group]
        first, place = distinct_columns(mine.T)
        cells.append(mine[first])
        places.append(begin + place)
        parts.append([begin, len(first), group[0] + 1, group[-1] - group[0] + 1])
        begin += len(first)
    other = np.flatnonzero(~np.array(few, dtype=bool))
    return {
        "n_rows": len(rows),
        "n_cells": begin - 1,
        "cells": np.concatenate(cells),
        "n_groups": len(groups),
        "part": np.array(parts, dtype=int).reshape(-1, 4),
        "cell": np.column_stack(places).ravel() if places else np.empty(0, dtype=int),
        "n_others": len(other),
        "other": other + 1,
        "others": rows[:, other] if len(other) else np.empty((0, 0)),
    }
