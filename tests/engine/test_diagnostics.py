"""What a fit is refused for must not read as if it were allowed."""

import numpy as np
import pytest

from synth_core.engine.sampling import Diagnostics, diagnose, rhat_text


def test_a_number_beyond_its_limit_is_shown_beyond_it():
    words = "; ".join(Diagnostics(1.0103, 199.8, 900.0, 0, 2, 2000).problems)
    assert "R-hat is 1.011 (at most 1.01 is asked)" in words
    assert "effective sample size is 199 (at least 200 is asked)" in words
    assert Diagnostics(1.01, 200.0, 200.0, 0, 2, 2000).problems == ()
    assert (
        rhat_text(1.6331) == "1.634" and rhat_text(1.0) == "1.000"
    )  # where nothing is refused it reads the same
    assert "R-hat is nan" in Diagnostics(float("nan"), 900.0, 900.0, 0, 2, 2000).problems[0]


@pytest.mark.parametrize(
    ("quantities", "most"), [(1, 1.01), (20, 1.01), (60, 1.012), (115, 1.013), (250, 1.014)]
)
def test_of_many_quantities_the_largest_may_be_larger(quantities, most):
    assert Diagnostics(1.0, 900.0, 900.0, 0, 2, 2000, quantities).max_rhat == most


def test_more_chains_are_allowed_less_and_fewer_not_more():
    """Simulated, of 60 quantities of four agreeing chains the largest R-hat is below 1.008."""
    limits = [Diagnostics(1.0, 900.0, 900.0, 0, c, 1000 * c, 250).max_rhat for c in (1, 2, 3, 4)]
    assert limits[0] == limits[1] == 1.014 > limits[2] >= limits[3] == 1.01
    assert Diagnostics(1.0, 900.0, 900.0, 0, 2, 400, 250).max_rhat == 1.014
    assert Diagnostics(1.0, 900.0, 900.0, 0, 2, 8000, 250).max_rhat == 1.01


def chains_of(n_quantities, seed, apart=0.0, n_chains=2):
    """Chains worth half their 1,000 draws each (autoregressive, 1/3), the last shifted in one quantity."""
    noise = np.random.default_rng(seed).normal(size=(1100, n_chains, n_quantities))
    for draw in range(1, 1100):
        noise[draw] += noise[draw - 1] / 3
    found = noise[100:] / np.std(noise[100:])
    found[:, -1, 0] += apart
    columns = ("divergent__", *(f"x[{i}]" for i in range(n_quantities)))
    return diagnose(np.concatenate([np.zeros((1000, n_chains, 1)), found], axis=2), columns, ("x",))


@pytest.mark.long
def test_chains_that_agree_are_seldom_marked_and_those_that_do_not_are():
    """Of 150 quantities: at 1.01 some 3 of 20 such fits would be; one in a hundred is meant to be, or fewer."""
    agreeing = [chains_of(150, seed) for seed in range(20)]
    assert {each.quantities for each in agreeing} == {150}
    assert sum(each.rhat > 1.01 for each in agreeing) >= 1
    assert sum(bool(each.problems) for each in agreeing) <= 1
    assert all("R-hat" in chains_of(150, seed, apart=0.4).problems[0] for seed in range(2))


@pytest.mark.parametrize(
    ("n_chains", "apart", "least", "most"), [(2, 0.3, 0.6, 0.95), (4, 0.3, 0.25, 0.75), (4, 0.4, 0.85, 1.0)]
)
def test_the_power_against_one_chain_that_is_shifted(n_chains, apart, least, most):
    """Of one quantity, two chains of 1,000 draws worth half: 80 % of 100 fits at 0.3 deviations; of four, 45 %.

    Over 40 fits a share has a standard error of 0.08 at most: the limits are two of them away.
    """
    marked = [bool(chains_of(1, 100 + seed, apart, n_chains).problems) for seed in range(40)]
    assert least <= np.mean(marked) <= most


def test_more_than_one_divergence_in_a_thousand_draws_is_a_problem():
    assert Diagnostics(1.0, 900.0, 900.0, 2, 2, 2000).problems == ()
    assert Diagnostics(1.2, 90.0, 90.0, 2, 2, 2000).longer_helps  # too few draws
    assert not Diagnostics(1.2, 90.0, 90.0, 3, 2, 2000).longer_helps
    assert not Diagnostics(1.0, 900.0, 900.0, 0, 2, 2000, unseen=0.5).longer_helps
    [words] = Diagnostics(1.0, 900.0, 900.0, 3, 2, 2000).problems
    assert "diverge" in words
