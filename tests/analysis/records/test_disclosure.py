"""Attribute disclosure against loops, and against cases that are known by hand."""

import numpy as np
import pytest

from synth_core.analysis.records.disclosure import attribute_disclosure, average_disclosure
from synth_core.analysis.records.discretise import DiscretisedTables


def tables(mine, theirs):
    mine, theirs = np.array(mine), np.array(theirs)
    n_codes = tuple(int(k) + 1 for k in np.maximum(mine.max(axis=0), theirs.max(axis=0)))
    return DiscretisedTables(tuple("abcd"[: mine.shape[1]]), mine, theirs, n_codes)


def test_against_a_loop(rng):
    mine, theirs = (np.column_stack([rng.integers(0, k, n) for k in (4, 3, 3, 2)]) for n in (120, 90))
    theirs[:20, 2] = 0
    found = attribute_disclosure(tables(mine, theirs), 2)
    assert [each.target for each in found] == ["c", "d"]
    for each, column in zip(found, (2, 3), strict=True):
        own, disco, disclosive, marginal = [], 0, 0, []
        for record in mine:
            same = theirs[(theirs[:, :2] == record[:2]).all(axis=1), column]
            own.append((same == record[column]).mean() if len(same) else 0.0)
            disco += len(same) > 0 and set(same) == {record[column]}
            disclosive += len(set(mine[(mine[:, :2] == record[:2]).all(axis=1), column])) == 1
            marginal.append((mine[:, column] == record[column]).mean())
        assert each.cap == pytest.approx(np.mean(own))
        assert each.disco == pytest.approx(disco / 120)
        assert each.disclosive == pytest.approx(disclosive / 120)
        assert each.baseline == pytest.approx(np.mean(marginal))


def test_cases_by_hand():
    """Key 0 tells x in both tables, key 1 tells another in the synthetic one, and key 2 is missing there."""
    mine = [[0, 1], [0, 1], [1, 0], [2, 0]]
    [found] = attribute_disclosure(tables(mine, [[0, 1], [1, 1], [1, 1], [0, 1]]), 1)
    assert (found.cap, found.disco, found.disclosive, found.baseline) == (0.5, 0.5, 1.0, 0.5)
    [itself] = attribute_disclosure(tables(mine, mine), 1)
    assert itself.disco == itself.disclosive == itself.cap == 1.0
    assert attribute_disclosure(tables(mine, mine), 0) == ()


def test_of_several_data_sets_it_is_the_mean():
    mine = [[0, 1], [0, 1], [1, 0], [2, 0]]
    sets = [
        attribute_disclosure(tables(mine, theirs), 1) for theirs in (mine, [[0, 1], [1, 1], [1, 1], [0, 1]])
    ]
    [found] = average_disclosure(sets)
    assert (found.cap, found.disco, found.disclosive) == (0.75, 0.75, 1.0)
