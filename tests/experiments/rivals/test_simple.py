"""Budgets against closed forms, noise against its law, and what simple rivals keep and lose."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.records.blocks import Block
from synth_core.errors import InputError
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.problem import problem_of
from synth_core.experiments.rivals.simple import (
    joint_histogram,
    noisy,
    one_way_histograms,
    sample,
)

BLOCKS = (
    Block("a", "categorical", {"categories": ("x", "y")}),
    Block("b", "categorical", {"categories": ("x", "y", "z")}),
)


def pairs(rng, n=2000):
    """b is a where a is x, else z."""
    a = rng.choice(["x", "y"], n, p=[0.7, 0.3])
    frame = pd.DataFrame({"a": a, "b": np.where(a == "x", "x", "z"), "area": rng.choice(["n", "s"], n)})
    return problem_of(frame.astype(object), BLOCKS, ("area",), {})


def test_blocks_of_a_budget_have_its_rho_or_its_epsilon():
    shares = [0.5, 0.3, 0.16, 0.04]
    found = Budget(2.0).of_blocks(shares)
    assert sum((share * found) ** 2 / 8 for share in shares) == pytest.approx(2.0**2 / 8)
    assert Budget(2.0).rho == pytest.approx(0.5)
    assert sum(share * Budget(2.0, "epsilon").of_blocks(shares) for share in shares) == pytest.approx(2.0)
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="above 0"):
            Budget(wrong)
    with pytest.raises(InputError, match="rho or epsilon"):
        Budget(1.0, "delta")


@pytest.mark.parametrize("counted", ["rho", "epsilon"])
def test_the_noise_has_the_law_of_its_budget(counted, rng):
    """20,000 integers; 5 standard errors of a variance, whose kurtosis is 3 or 6."""
    n, share, budget = 20_000, 0.5, Budget(1.2, counted)
    found = noisy(np.full(n, 10), budget, share, rng) - 10
    if counted == "rho":
        variance, kurtosis = 1 / (2 * share * 1.2**2 / 8), 3.0
    else:
        t = math.exp(-share * 1.2)  # discrete Laplace
        variance, kurtosis = 2 * t / (1 - t) ** 2, 6.0
    assert found.var() == pytest.approx(variance, rel=5 * math.sqrt((kurtosis - 1) / n))
    assert abs(found.mean()) < 5 * math.sqrt(variance / n)


def test_the_joint_histogram_keeps_pairs_and_the_one_way_ones_do_not(rng):
    problem, budget = pairs(rng), Budget(50.0)
    for make, share in ((joint_histogram, 1.0), (one_way_histograms, 0.7**2 + 0.3**2)):
        found = make(problem, budget, rng)
        assert found.rows is None
        assert len(found.frame) == problem.n
        kept = ((found.frame["a"] == "x") == (found.frame["b"] == "x")).mean()
        assert kept == pytest.approx(share, abs=5 * math.sqrt(0.25 / problem.n))
        shares = found.frame["b"].value_counts(normalize=True)
        assert shares["x"] == pytest.approx(0.7, abs=5 * math.sqrt(2 * 0.21 / problem.n))
        # Independent of the public column.
        table = pd.crosstab(found.frame["a"], problem.public[:, 0])
        assert stats.chi2_contingency(table).pvalue > 1e-4


def test_a_histogram_of_too_many_cells_is_refused(rng):
    codes = tuple(f"c{i}" for i in range(150))
    frame = pd.DataFrame({name: ["c0"] * 30 for name in "abcd"})
    problem = problem_of(
        frame, [Block(name, "categorical", {"categories": codes}) for name in "abcd"], (), {}
    )
    with pytest.raises(InputError, match="506,250,000 cells"):
        joint_histogram(problem, Budget(1.0), rng)


def test_a_sample_is_of_records_with_their_predictors(rng):
    problem = pairs(rng)
    found = sample(problem, Budget(1.0), rng)
    assert len(set(found.rows)) == len(found.frame) == 200
    pd.testing.assert_frame_equal(found.frame, problem.frame.iloc[found.rows].reset_index(drop=True))
