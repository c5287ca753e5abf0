"""Groups of a predictor against pandas; accuracy within them against the whole-table functions."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.subgroups import (
    FEW_VALUES,
    MAX_GROUPS,
    MIN_RECORDS,
    OTHERS,
    by_group,
    groups_of,
    in_no_group,
)
from synth_core.analysis.utility import ecdf_distance, statistics
from synth_core.data.design import select
from synth_core.data.table import Table
from synth_core.errors import InputError

N = 2_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "pay": rng.lognormal(3, 1, N),
            "age": rng.integers(18, 80, N),
            "size": rng.integers(1, 6, N),
            "region": rng.choice(["north", "south", "<b>east</b>", "rare"], N, p=[0.5, 0.3, 0.196, 0.004]),
            "town": [f"t{i % 60}" if i % 3 else "capital" for i in range(N)],
        }
    )
    frame.loc[:9, "pay"] = np.nan
    return Table("t", frame)


def groups(table, name, categorical=()):
    return groups_of(
        table, select(table, "pay", ("age", "size", "region", "town"), categorical), name, categorical
    )


def of(table, name):
    return table.frame[name][table.frame["pay"].notna()].reset_index(drop=True)


def test_categories_and_few_numbers_are_groups_of_their_own(table):
    region = of(table, "region")
    found = {g.name: g.rows for g in groups(table, "region")}
    assert set(found) == {"north", "south", "<b>east</b>"}  # "rare" has fewer than what others must have
    assert (region == "rare").sum() < MIN_RECORDS
    for name, rows in found.items():
        assert set(rows) == set(np.flatnonzero(region == name))
    assert [g.name for g in groups(table, "size")] == ["1", "2", "3", "4", "5"]
    assert len(of(table, "size").unique()) <= FEW_VALUES


def test_records_in_no_group_are_counted(table):
    """A remainder of fewer than 20 was left out without a word."""
    left_out = N - 10 - sum(len(g.rows) for g in groups(table, "region"))
    said = in_no_group((len(g.rows) for g in groups(table, "region")), N - 10)
    assert left_out and said.startswith(f"{left_out} records are in no group: fewer than 20 are alike")
    assert in_no_group((len(g.rows) for g in groups(table, "age")), N - 10) == ""


def test_many_categories_are_put_together(table):
    found = groups(table, "town")
    assert len(found) == MAX_GROUPS
    assert found[-1].name == OTHERS
    assert sum(len(g.rows) for g in found) == N - 10
    assert "capital" in {g.name for g in found}


def test_a_number_is_cut_into_quarters(table):
    age, found = of(table, "age"), groups(table, "age")
    assert len(found) == 4
    assert sorted(np.concatenate([g.rows for g in found])) == list(range(N - 10))
    for low, high in pairwise(found):
        assert age[low.rows].max() < age[high.rows].min()
    assert all(abs(len(g.rows) - (N - 10) / 4) < 50 for g in found)
    assert found[0].name == f"age up to {age[found[0].rows].max():g}"


@pytest.mark.parametrize("measure", ["mean", "median", "q90"])
def test_accuracy_is_that_of_the_group_s_own_records(table, measure):
    selection = select(table, "pay", ("region",))
    pay = selection.records.outcome
    synthetic = np.stack([pay[::-1], pay * 1.1])
    for group, accuracy in zip(
        groups(table, "region"), by_group(pay, synthetic, groups(table, "region"), measure, 3), strict=True
    ):
        rows = group.rows
        whole = statistics(pay[rows], synthetic[:, rows], (90.0,) if measure == "q90" else (50.0,), 3)
        alone = whole[0] if measure == "mean" else whole[1]
        assert (accuracy.statistic.name, accuracy.n_records) == (group.name, len(rows))
        assert accuracy.statistic.synthetic == alone.synthetic
        assert accuracy.statistic.confidential == alone.confidential
        each = [ecdf_distance(pay[rows], made[rows]).ecdf_max for made in synthetic]
        assert accuracy.ecdf_max == pytest.approx(np.mean(each)) and len(set(each)) > 1


def test_without_groups_it_says_so():
    with pytest.raises(InputError, match="No group"):
        by_group(np.ones(3), np.ones((1, 3)), [], "mean", 1)
