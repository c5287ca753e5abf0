import numpy as np
import pytest
from scipy import stats

from synth_core.errors import InputError
from synth_core.histogram import bin_count, noisy_counts, synthesize


def test_bin_rules():
    assert bin_count("log", 2000) == 8
    assert bin_count("sqrt", 2000) == 45
    assert bin_count("17", 2000) == 17
    for bad in ("0", "-3", "many", "1e3", "1000001"):
        with pytest.raises(InputError, match="Bins"):
            bin_count(bad, 2000)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_noise_is_discrete_laplace_of_scale_two_over_epsilon(epsilon):
    """Goodness of fit at level 1e-6; the noise has no seed, so the level is the flake rate."""
    noise = noisy_counts(np.full(20_000, 10_000), epsilon) - 10_000
    law = stats.dlaplace(epsilon / 2)
    edge = int(np.ceil(16 / epsilon))
    cells = np.arange(-edge, edge + 1)
    observed = np.array([(noise == k).sum() for k in cells] + [(np.abs(noise) > edge).sum()])
    expected = np.array([law.pmf(k) for k in cells] + [2 * law.sf(edge)]) * len(noise)
    keep = expected > 5
    rest = [observed[~keep].sum()], [expected[~keep].sum()]
    observed, expected = np.append(observed[keep], rest[0]), np.append(expected[keep], rest[1])
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6


def test_values_stay_within_the_bounds_and_follow_the_bins(rng):
    x = rng.beta(0.5, 3, 5000)
    found = synthesize(x, (0.0, 1.0), 50.0, "sqrt", 2, rng)
    assert found.shape == (2, 5000)
    assert ((found >= 0) & (found <= 1)).all()
    assert not np.array_equal(np.sort(found[0]), np.sort(found[1]))
    # little noise: at the bins' edges the distribution function is kept up to the multinomial draw
    edges = np.linspace(0, 1, bin_count("sqrt", 5000) + 1)
    gap = [abs(np.mean(x <= e) - np.mean(found[0] <= e)) for e in edges]
    assert max(gap) < 1.95 / np.sqrt(5000) + 0.005  # Kolmogorov's bound at level 0.001, and the noise


def test_a_tiny_budget_still_answers(rng):
    found = synthesize(rng.random(50), (0.0, 1.0), 0.01, "log", 1, rng)
    assert np.isfinite(found).all()


def test_bounds_must_be_declared_and_cover(rng):
    with pytest.raises(InputError, match="declared bounds"):
        synthesize(rng.random(50), None, 1.0, "log", 1, rng)
    with pytest.raises(InputError, match="cut off"):
        synthesize(rng.random(50), (0.0, 0.5), 1.0, "log", 1, rng)
