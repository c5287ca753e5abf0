"""One mechanism from the table to the result; numbers beside the papers'."""

import json

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.analysis.summary import Density, density, ecdf_points, summary_of
from synth_core.data.examples import EXAMPLES, load_example
from synth_core.errors import InputError
from synth_core.mechanisms.weights import likelihood_weights
from synth_core.system.entries import to_entry

pytestmark = pytest.mark.stan


def beta_comparison(cache, seed=1, **more):
    settings = make_settings(outcome="x", model="beta", draws=500, warmup=500, **more)
    return Analysis(load_example("beta", 2000, seed), settings, cache)


@pytest.mark.slow
def test_beta_bounds_are_in_the_range_of_the_paper(kept):
    """Censor 4.2: Unweighted about 7.5 to 15 and Weighted about 2 to 3.5 over 100 samples."""
    found = []
    for seed in range(1, 9):
        analysis = beta_comparison(kept, seed)
        found.append([analysis.run(m).lipschitz_bound for m in ("unweighted", "weighted")])
    unweighted, weighted = np.array(found).T
    # The paper's figures are read off violins of 100 samples; a median of 8 must lie inside.
    assert 7.5 < np.median(unweighted) < 15
    assert 2.0 < np.median(weighted) < 3.5
    assert ((unweighted > 6.5) & (unweighted < 17)).all()


def test_weights_and_bounds_are_those_of_the_definition(kept):
    analysis = beta_comparison(kept, scale=0.8, shift=0.05)
    result = analysis.run("weighted")
    model = analysis.model
    ones = np.ones(model.records.n)
    unweighted, _ = analysis.fits.posterior(ones)
    everything = slice(0, model.records.n)
    f = np.abs(model.log_lik(unweighted.draws, everything)).max(axis=0)
    weights = likelihood_weights(f, 0.8, 0.05)
    np.testing.assert_allclose(result.weights, weights)
    refit, _ = analysis.fits.posterior(weights)
    terms = weights * model.log_lik(refit.draws, everything)
    np.testing.assert_allclose(result.lipschitz_bounds, np.abs(terms).max(axis=0))
    assert result.oscillation == pytest.approx(np.ptp(terms, axis=0).max())
    assert result.growth[-1] == result.lipschitz_bound


def test_same_seed_same_numbers_and_other_settings_share_fits(cache, tmp_path):
    first = beta_comparison(cache).run("weighted")
    again = beta_comparison(cache).run("weighted")
    assert not first.cached
    assert again.cached
    from synth_core.system.cache import Cache

    elsewhere = beta_comparison(Cache(tmp_path / "other")).run("weighted")
    for name in ("synthetic", "weights", "lipschitz_bounds"):
        np.testing.assert_array_equal(getattr(first, name), getattr(elsewhere, name))
    assert beta_comparison(cache, scale=0.5).run("unweighted").cached is False
    assert beta_comparison(cache, scale=0.6).run("unweighted").cached is True  # c is not its own


@pytest.mark.slow
def test_every_example_runs_with_its_defaults(kept):
    for example in EXAMPLES.values():
        rows = None if example.simulate is None else 300
        settings = make_settings(outcome=example.outcome, predictors=example.predictors, model=example.model)
        result = Analysis(load_example(example.key, rows), settings, kept).run("weighted")
        assert 0 < result.lipschitz_bound < 30
        assert not result.problems, example.key


def test_several_data_sets(kept):
    result = beta_comparison(kept, datasets=3).run("unweighted")
    assert result.synthetic.shape == (3, 2000)
    assert len({each.tobytes() for each in result.synthetic}) == 3
    single = beta_comparison(kept, datasets=1).run("unweighted")
    np.testing.assert_array_equal(single.synthetic[0], result.synthetic[0])


def test_a_short_run_is_marked(kept):
    settings = make_settings(outcome="x", model="beta", draws=100, warmup=100, chains=1)
    result = Analysis(load_example("beta", 500), settings, kept).run("unweighted")
    assert (len(result.diagnostics.problems) > 0) == (
        result.diagnostics.rhat > 1.01
        or result.diagnostics.ess_bulk < 100
        or result.diagnostics.ess_tail < 100
        or result.diagnostics.divergences > 0
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scale": 5}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"epsilon": 0}, "epsilon"),
        ({"draws": 1}, "draws"),
        ({"percentiles": (0,)}, "percentiles"),
        ({"bounds": (2, 1)}, "lower bound"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_settings_are_checked_in_words(values, message):
    with pytest.raises(InputError, match=message):
        make_settings(outcome="x", model="beta", **values)


def test_summaries_keep_extremes_and_exact_shares(rng):
    values = np.sort(rng.lognormal(size=50_000))
    points = ecdf_points(values)
    assert len(points.at) <= 256
    assert points.at[-1] == values[-1]
    for at, share in zip(points.at, points.share, strict=True):
        assert share == np.mean(values <= at)
    outline = density(values)
    assert (outline.at[0], outline.at[-1]) == (values[0], values[-1])
    assert max(outline.height) == 1
    assert density(np.ones(5)) == Density([1.0], [1.0])


def test_violin_outline_is_a_kernel_density(rng):
    from scipy import stats

    values = rng.normal(size=5000)
    outline = density(values)
    at, height = np.array(outline.at), np.array(outline.height)
    truth = stats.norm.pdf(at) / stats.norm.pdf(0)
    assert np.abs(height - truth).max() < 0.12


def test_a_summary_holds_no_more_than_a_screen_shows(kept):
    analysis = beta_comparison(kept)
    summary = summary_of(analysis, analysis.run("weighted"))
    assert len(json.dumps(to_entry(summary))) < 80_000
