"""What a fit is refused for must not read as if it were allowed; its numbers are those of arviz."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from synth_core.engine import convergence
from synth_core.engine.sampling import Diagnostics


def test_a_number_beyond_its_limit_is_shown_beyond_it():
    words = "; ".join(Diagnostics(1.0103, 199.8, 900.0, 0, 2, 2000).problems)
    assert "R-hat is 1.011 (at most 1.01 is asked)" in words
    assert "effective sample size is 199 (at least 200 is asked)" in words
    assert Diagnostics(1.01, 200.0, 200.0, 0, 2, 2000).problems == ()
    assert "R-hat is nan" in Diagnostics(float("nan"), 900.0, 900.0, 0, 2, 2000).problems[0]


@pytest.mark.parametrize(("chains", "draws"), [(1, 500), (2, 501), (4, 200), (3, 5), (2, 4)])
def test_many_quantities_at_once_are_what_arviz_says_of_each(chains, draws, rng):
    noise = rng.standard_normal((6, chains, draws))
    values = noise.copy()
    for draw in range(1, draws):  # correlated one way and the other, and hardly moving
        values[:, :, draw] += np.array([0.0, 0.5, 0.97, -0.6, 0.999, 0.3])[:, None] * values[:, :, draw - 1]
    values[1] += np.arange(chains)[:, None]  # chains apart
    values[3] = values[3].round()  # ties
    values[5] = np.where(values[5] > 1.5, 1.0, 0.0)  # a tail without a quantile of its own
    values[5, 0, 0] = 1.0
    axes = {"chain_axis": -2, "draw_axis": -1}
    expected = array_stats.ess(values, method="bulk", **axes)
    np.testing.assert_allclose(convergence.bulk_size(values), expected, rtol=1e-9)
    expected = array_stats.ess(values, method="tail", prob=(0.05, 0.95), **axes)
    np.testing.assert_allclose(convergence.tail_size(values), expected, rtol=1e-9)
    if chains > 1:
        expected = array_stats.rhat(values, **axes)
        np.testing.assert_allclose(convergence.rhat(values), expected, rtol=1e-9)
