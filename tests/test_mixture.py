"""The mixture from the first fit to warm refits, with and without a part for zeros."""

import numpy as np
import pandas as pd
import pytest

from synth_core.comparison import Comparison
from synth_core.settings import make_settings
from synth_core.table import Table


@pytest.mark.stan
@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("zero_part", [False, True])
def test_mechanisms_of_a_mixture(zero_part, components, cache, rng):
    n = 150
    z = rng.normal(size=n)
    x = np.exp(np.where(rng.random(n) < 0.4, 1.0 + 0.4 * z, 3.0) + 0.4 * rng.normal(size=n))
    if zero_part:
        x[:20] = 0.0
    settings = make_settings(outcome="x", predictors=("z",), model="mixture", zero_part=zero_part, epsilon=4.0,
                             components=components, chains=2, draws=250, warmup=300)  # fmt: skip
    shown = []
    table = Table("t", pd.DataFrame({"x": x, "z": z}), False)
    comparison = Comparison(table, settings, cache, show_preview=shown.append)
    unweighted = comparison.run("unweighted")
    weighted = comparison.run("weighted")
    censored = comparison.run("censored")
    assert weighted.epsilon < unweighted.epsilon
    assert censored.lipschitz_bound <= 2.0
    for result in (unweighted, weighted, censored):
        assert result.diagnostics.rhat < 1.1  # short chains: gross errors only
        assert (result.synthetic == 0).any() == zero_part
    again = Comparison(table, settings, type(cache)(cache.directory / "other")).run("weighted")
    np.testing.assert_array_equal(again.synthetic, weighted.synthetic)  # whatever the cache held


@pytest.mark.stan
def test_one_component_is_a_lognormal_regression(cache, rng):
    """Up to the priors, which say little beside 400 records."""
    z = rng.normal(size=400)
    table = Table("t", pd.DataFrame({"x": np.exp(1.0 + 0.5 * z + 0.6 * rng.normal(size=400)), "z": z}), False)
    draws = {}
    for model in ("lognormal", "mixture"):
        settings = make_settings(outcome="x", predictors=("z",), model=model, components=1, chains=2, draws=500,
                                 warmup=500)  # fmt: skip
        posterior, _ = Comparison(table, settings, cache).fits.unweighted()
        draws[model] = np.column_stack(
            [posterior.draws["beta"].reshape(1000, 2), posterior.draws["sigma"].ravel()]
        )
    a, b = draws.values()
    error = a.std(0) * np.sqrt(2 / 200)
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * error + 0.002).all()
    np.testing.assert_allclose(a.std(0), b.std(0), rtol=0.25)
