import numpy as np
import pytest
from scipy import stats

from synth_core.errors import InputError
from synth_core.mechanisms.histogram import bin_count, noisy_bins, synthesize
from synth_core.mechanisms.noise import OpendpNoise, SeededNoise


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
    noise = noisy_bins(np.full(20_000, 10_000), epsilon) - 10_000
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


def test_counts_are_whole_numbers_each_of_a_bin_as_likely(rng):
    """Of 30,000 in five bins of 0 to 20, by a chi-square test at level 0.001; a bin ends where the next begins."""
    x = np.repeat(np.arange(21.0), 1500)
    (found,) = synthesize(x, (0.0, 20.0), 1e6, "5", 1, rng, discrete=True)
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == list(range(21))  # the last bin has its upper end: 16 to 20
    assert stats.chisquare(counts).pvalue > 1e-3
    (few,) = synthesize(np.array([0.0, 1.0, 2.0] * 30), (0.0, 2.0), 1e6, "8", 1, rng, discrete=True)
    assert set(few) == {0.0, 1.0, 2.0}  # most bins hold no whole number


def test_a_tiny_budget_still_answers(rng):
    found = synthesize(rng.random(50), (0.0, 1.0), 0.01, "log", 1, rng)
    assert np.isfinite(found).all()


def test_bounds_must_be_declared_and_cover(rng):
    with pytest.raises(InputError, match="declared bounds"):
        synthesize(rng.random(50), None, 1.0, "log", 1, rng)
    with pytest.raises(InputError, match="cut off"):
        synthesize(rng.random(50), (0.0, 0.5), 1.0, "log", 1, rng)


def goodness_of_fit(noise, epsilon):
    """Chi-square p-value of integer noise against the discrete Laplace law of scale 2/epsilon, tails in one cell."""
    law, n = stats.dlaplace(epsilon / 2), len(noise)
    edge = 0
    while n * law.sf(edge + 1) > 10:
        edge += 1
    cells = np.arange(-edge, edge + 1)
    observed = [*((noise == k).sum() for k in cells), (noise < -edge).sum(), (noise > edge).sum()]
    expected = n * np.array([*law.pmf(cells), law.cdf(-edge - 1), law.sf(edge)])
    return stats.chisquare(observed, expected * n / expected.sum()).pvalue


DRAWS, LEVEL = 20_000, 1e-6  # opendp's noise cannot be seeded: the level is how often an honest run fails


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_noise_of_every_bin_is_right_and_bins_are_independent(epsilon):
    """Over the budgets in use, with bins of very different counts; no bin's noise tells another's."""
    counts = np.tile([0, 1, 50, 10_000], DRAWS // 4)
    noise = noisy_bins(counts, epsilon) - counts
    assert goodness_of_fit(noise, epsilon) > LEVEL
    for each in (0, 1, 50, 10_000):
        assert goodness_of_fit(noise[counts == each], epsilon) > LEVEL
    assert stats.pearsonr(noise[:-1], noise[1:]).pvalue > LEVEL
    signs = (noise > 0).sum(), (noise < 0).sum()
    assert stats.binomtest(int(signs[0]), int(sum(signs))).pvalue > LEVEL


@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_the_seeded_noise_of_studies_has_the_same_law(epsilon):
    noise = noisy_bins(np.zeros(DRAWS, dtype=np.int64), epsilon, SeededNoise(7, 51))
    assert goodness_of_fit(noise, epsilon) > LEVEL
    two = noisy_bins(np.zeros(DRAWS, dtype=np.int64), epsilon)
    assert stats.ks_2samp(noise, two).pvalue > LEVEL


def test_the_same_test_sees_noise_of_half_the_scale_and_rounded_normal_noise(rng):
    half = noisy_bins(np.zeros(DRAWS, dtype=np.int64), 2.0)
    assert goodness_of_fit(half, 1.0) < LEVEL
    normal = np.rint(rng.normal(0, stats.dlaplace(0.5).std(), DRAWS)).astype(int)
    assert goodness_of_fit(normal, 1.0) < LEVEL


def test_every_data_set_gets_noise_of_its_own(rng):
    """With the multinomial draw taken out (its counts follow the noise), two sets share nothing but the data."""
    seen = []

    class Spy(OpendpNoise):
        def laplace(self, counts, scale):
            noisy = super().laplace(counts, scale)
            seen.append(noisy - counts)
            return noisy

    synthesize(rng.random(2000), (0.0, 1.0), 0.5, "1000", 3, rng, Spy())
    assert len(seen) == 3
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert not np.array_equal(seen[i], seen[j])
        assert stats.pearsonr(seen[i], seen[j]).pvalue > LEVEL
    assert goodness_of_fit(np.concatenate(seen), 0.5) > LEVEL
