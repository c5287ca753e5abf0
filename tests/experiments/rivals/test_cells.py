"""Cells are declared, and a value comes back as its cell."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.records.blocks import Block
from synth_core.errors import InputError
from synth_core.experiments.rivals.cells import Cells, cells_of, public_codes
from synth_core.experiments.rivals.problem import problem_of

PAY = Block("pay", "two_part", {"guess": (40.0, 0.5)}, missing=())
WORK = Block("work", "categorical", {"categories": ("no", "part", "full")}, missing=("?",))


@pytest.mark.parametrize("block", [PAY, WORK], ids=lambda block: block.name)
def test_a_value_drawn_in_a_cell_is_of_that_cell(block, rng):
    cells = cells_of(block, {})
    codes = rng.integers(0, cells.n, 3000)
    np.testing.assert_array_equal(cells.codes(cells.values(codes, rng)), codes)


def test_codes_against_pandas(rng):
    """0 and the top code have bins of their own."""
    edges = (-10.0, 0.0, 0.0, 10.0, 25.0, 100.0, 100.0)
    values = pd.Series(np.round(rng.normal(20, 40, 500), 1))
    values[:20], values[20:30], values[30:32] = 0.0, np.nan, (10.0, 25.0)
    cells = Cells("x", edges=edges, missing=True)
    assert cells.n == 7
    inner = pd.cut(values, [-np.inf, 0, 10, 25, 100, np.inf], right=False, labels=False)
    code = inner.fillna(0) + (values > 0)
    np.testing.assert_array_equal(
        cells.codes(values), np.where(values.isna(), 6, np.where(values == 0, 1, code))
    )
    drawn = cells.values(np.repeat(np.arange(7), 2000), rng).to_numpy().reshape(7, 2000)
    assert (drawn[1] == 0).all()
    assert (drawn[5] == 100).all()
    assert np.isnan(drawn[6]).all()
    for bin_, (low, high) in enumerate(itertools.pairwise(edges)):
        if high > low:
            assert stats.kstest((drawn[bin_] - low) / (high - low), "uniform").pvalue > 1e-4


def test_zeros_with_a_probability_of_their_own_have_a_bin():
    block = Block("pay", "two_part", {"guess": (40.0, 0.5)})
    assert cells_of(block, {"pay": (-5.0, 10.0, 99.0)}).edges == (-5.0, 0.0, 0.0, 10.0, 99.0)
    own = Block("pay", "bracketed", {"bracket_edges": (0.0, 10.0, 501.0, 501.0)})
    assert cells_of(own, {}).edges == (0.0, 10.0, 501.0, 501.0)


def test_edges_by_the_rule_hold_equal_shares_of_the_guess():
    edges = np.array(cells_of(PAY, {}).edges)[1:]  # 0 stands twice
    law = stats.lognorm(0.5, scale=40.0)
    np.testing.assert_allclose(np.diff(law.cdf(edges))[:19], 1 / 20)
    np.testing.assert_allclose(np.log(edges[-4:] / 40) / 0.5, [2, 2.5, 3, 4])
    bounded = cells_of(Block("share", "beta", {"bounds": ("0", "1")}), {})
    np.testing.assert_allclose(bounded.edges, np.linspace(0, 1, 21))


def test_public_codes_are_levels_or_bins():
    ages = pd.Series(np.arange(15, 95))
    assert len(np.unique(public_codes("age", ages, {}))) == 10
    found = public_codes("age", ages, {"age": (15.0, 30.0, 65.0, 99.0)})
    np.testing.assert_array_equal(np.bincount(found), [15, 35, 30])
    np.testing.assert_array_equal(public_codes("area", pd.Series(["b", "a", "b"]), {}), [1, 0, 1])


@pytest.mark.parametrize(
    ("block", "edges", "match"),
    [
        (Block("pay", "two_part", {"transformation": "asinh", "guess": (40.0, 1.0)}), {}, "--edges pay="),
        (Block("pay", "lognormal"), {}, "--edges pay="),
        (Block("calls", "poisson", {"guess": (80.0, 10.0)}), {}, "--edges calls="),
        (PAY, {"pay": (0.0, 5.0, 5.0)}, "must be three or more"),
        (PAY, {"pay": (0.0, np.inf, np.inf)}, "must be three or more"),
        (PAY, {"pay": (0.0, 5.0)}, "must be three or more"),
        (WORK, {"work": (0.0, 1.0, 2.0)}, "whose categories are its cells"),
    ],
)
def test_bins_that_are_not_declared_well_are_refused(block, edges, match):
    with pytest.raises(InputError, match=match):
        cells_of(block, edges)


def test_counts_are_whole_so_that_a_histogram_of_each_number_is_the_table(rng):
    """Uniform within [3, 4) a count of 3 was 3.7, and no record had a number that the table has."""
    block = Block("kids", "poisson", {"bounds": (0.0, 7.0)})
    cells = cells_of(block, {"kids": tuple(map(float, range(8)))})
    kids = pd.Series(np.minimum(rng.poisson(2.0, 2_000), 5).astype(float))
    assert cells.values(cells.codes(kids), rng).tolist() == kids.tolist()
    wide = Cells("kids", edges=(0.0, 0.0, 3.0, 7.0), missing=True, discrete=True)
    drawn = wide.values(np.repeat([0, 1, 2, 3], 3_000), rng).to_numpy().reshape(4, -1)
    assert [sorted(set(each)) for each in drawn[:3]] == [[0], [1, 2], [3, 4, 5, 6, 7]]
    assert np.isnan(drawn[3]).all()
    shares = np.bincount(drawn[2].astype(int))[3:] / 3_000
    assert np.abs(shares - 0.2).max() < 0.03


def test_a_predictor_whose_numbers_are_codes_is_not_cut(rng):
    areas = pd.Series(rng.integers(1, 31, 2_000))
    np.testing.assert_array_equal(
        np.unique(public_codes("area", areas, {}, categorical=True), return_counts=True)[1],
        areas.astype(str).value_counts().sort_index(),
    )
    frame = pd.DataFrame({"area": areas, "work": "no"})
    problem = problem_of(frame, (WORK,), ("area",), {}, ("area",))
    assert problem.public.max() == 29 and problem_of(frame, (WORK,), ("area",), {}).public.max() == 9
