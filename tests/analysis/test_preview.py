"""The approximate preview against the exact posterior it stands for."""

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fits import Fits
from synth_core.analysis.preview import preview, remember, resample, smooth
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.models.lognormal import Lognormal

SETTINGS = {"outcome": "x", "model": "lognormal", "chains": 2, "draws": 1000, "warmup": 500}


@pytest.fixture
def table(rng):
    import pandas as pd

    return Table("t", pd.DataFrame({"x": rng.lognormal(1.0, 0.8, 400)}), False)


def test_nearby_weights_are_previewed_within_monte_carlo_error(table, cache, rng):
    fits = Fits(table, make_settings(**SETTINGS), cache, lambda text, share: None)
    source = rng.uniform(0.5, 1.0, 400)
    _, key = fits.posterior(source)
    remember(fits, key, source, None)
    target = np.clip(source - 0.06, 0, 1)
    found = preview(fits, target, None)
    assert found is not None and found.khat < 0.7
    exact, _ = fits.posterior(target)
    for name in ("beta", "sigma"):
        a, b = found.posterior.draws[name].ravel(), exact.draws[name].ravel()
        assert len(a) == len(b)
        assert abs(a.mean() - b.mean()) < 5 * b.std() * np.sqrt(2 / 400)
        assert a.std() == pytest.approx(b.std(), rel=0.2)


def test_far_weights_are_not_previewed(table, cache):
    fits = Fits(table, make_settings(**SETTINGS), cache, lambda text, share: None)
    assert preview(fits, np.ones(400), None) is None  # nothing finished yet
    fits.unweighted()
    assert preview(fits, np.full(400, 0.01), None) is None


def test_a_slow_model_shows_a_preview_and_stores_the_exact_result(table, cache, monkeypatch):
    monkeypatch.setattr(Lognormal, "slow", True)
    shown = []

    def run(scale):
        settings = make_settings(**SETTINGS, scale=scale)
        return Analysis(table, settings, cache, show_preview=shown.append).run("weighted")

    run(1.0)
    assert all(each.preview_khat <= 0.7 for each in shown)
    shown.clear()
    exact = run(0.97)
    assert [each.preview_khat <= 0.7 for each in shown] == [True]
    assert exact.preview_khat is None
    assert shown[0].epsilon == pytest.approx(exact.epsilon, rel=0.25)
    shown.clear()
    assert run(0.97).cached and not shown


def test_systematic_resampling(rng):
    weights = rng.dirichlet(np.ones(50))
    counts = np.bincount(resample(weights), minlength=50)
    assert counts.sum() == 50
    assert np.all(np.abs(counts - 50 * weights) <= 1 + 1e-9)


def test_khat_is_the_tail_index_of_the_ratios(rng):
    """log of a Pareto variable of shape 1/k is exponential of mean k; its mirror image has no tail."""
    for k in (0.3, 1.2):
        assert smooth(rng.exponential(k, 20_000))[1] == pytest.approx(k, abs=0.15)
    assert smooth(-rng.exponential(1.2, 20_000))[1] < 0
    assert smooth(np.zeros(100))[1] == 0.0
