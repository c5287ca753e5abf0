"""Intervals, factors of safety, verdicts and simulated noise against independent computations."""

import numpy as np
import pytest

from synth_core.experiments.studies import verdicts
from synth_core.experiments.studies.probability import contraction, exceedance, safety
from synth_core.mechanisms.histogram import noisy_bins
from synth_core.mechanisms.noise import SeededNoise
from synth_core.replication import censor
from synth_core.replication.named_studies import NAMED_STUDIES, OURS
from synth_core.replication.papers import PAPERS


def test_exceedance_counts_above_and_forgives_rounding():
    found = exceedance(np.array([2.5, 2.5 * (1 + 1e-12), 2.6, 1.0]), 2.5)
    assert (found.count, found.replicates, found.probability) == (1, 4, 0.25)


def test_safety_against_a_double_loop(rng):
    values = rng.normal(3.5, 0.15, 60)
    for rows, factor in ((400, 1.10), (1000, 1.10), (1001, 1.05)):
        found = safety(values, rows)
        pairs = [(a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j]
        assert found.factor == factor
        assert found.covered == pytest.approx(np.mean([factor * a >= b for a, b in pairs]))
        assert found.epsilon == pytest.approx(2 * factor * np.median(values))
    assert contraction(values) == (values.max(), values.max() - values.min())


@pytest.mark.slow
def test_verdicts_hold_for_two_samples_of_one_law():
    """Both the published row and ours drawn from one law: few disagree, of every summary."""
    wrong = {name: 0 for name in verdicts.SUMMARIES}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        theirs = rng.gamma(20, 12, 100)
        ours = rng.gamma(20, 12, 40 if seed % 2 else 100)
        published = {name: summary(theirs) for name, summary in verdicts.SUMMARIES.items()}
        for row in verdicts.summaries("", ours, published, 100, rounding=0.0):
            wrong[row.quantity[2:]] += row.verdict == verdicts.DIFFERS
    assert max(wrong.values()) <= 2, wrong  # three errors, and errors that are themselves estimated


def test_verdicts_see_another_law():
    rng = np.random.default_rng(1)
    ours = rng.gamma(20, 12, 100)
    published = {name: summary(rng.gamma(20, 15, 100)) for name, summary in verdicts.SUMMARIES.items()}
    rows = verdicts.summaries("count", ours, published, 100, "why")
    assert [r.verdict for r in rows if r.quantity in ("count, mean", "count, median")] == ["differs"] * 2
    assert rows[3].reason == "why"


def test_orderings_have_three_verdicts(rng):
    base = rng.normal(size=100)
    higher = base + 1 + 0.1 * rng.normal(size=100)
    noise = rng.normal(size=100)
    assert verdicts.ordering("", "", higher, base).verdict == verdicts.AGREES
    assert verdicts.ordering("", "", base, higher).verdict == verdicts.DIFFERS
    assert verdicts.ordering("", "", noise - np.median(noise), np.zeros(100)).verdict == verdicts.UNDECIDED


def test_published_values_within_the_spread():
    values = np.array([1.0, 2.0, 4.0])
    assert verdicts.value("", values, 3.5).verdict == verdicts.AGREES
    assert verdicts.value("", values, 4.5).verdict == verdicts.DIFFERS
    assert verdicts.interval("", values, 1.05, 3.8).verdict == verdicts.AGREES


def test_simulated_noise_is_the_discrete_laplace():
    """The law that opendp draws from: P(k) proportional to exp(-|k| epsilon / 2)."""
    epsilon, n = 1.3, 200_000
    noise = noisy_bins(np.zeros(n, dtype=np.int64), epsilon, SeededNoise(1, 2))
    k = np.arange(-6, 7)
    expected = np.exp(-np.abs(k) * epsilon / 2) * np.tanh(epsilon / 4)
    observed = np.array([(noise == each).mean() for each in k])
    assert np.abs(observed - expected).max() < 4.5 * np.sqrt(0.25 / n)
    again = noisy_bins(np.zeros(n, dtype=np.int64), epsilon, SeededNoise(1, 2))
    np.testing.assert_array_equal(noise, again)


def test_every_study_of_the_issue_is_there():
    assert {named.name for named in PAPERS} == {
        "censor-4", "censor-5", "ppm-4.4", "ppm-5.3", "range-4.1", "range-4.2", "range-4.3", "range-5",
        "reweight-3", "reweight-4", "reweight-supp-5",
    }  # fmt: skip
    assert (
        NAMED_STUDIES.keys() - {named.name for named in PAPERS}
        == OURS
        == {"anchored", "survey", "confidential-weights"}
    )


def test_censor_4_runs_every_point_that_its_tables_name():
    (case,) = censor.censor_4().cases
    labels = case.labels()
    assert len(labels) == len(set(labels)) == 1 + 2 * (1 + 2 * 3) + 1 + 2 * 3
    for epsilon, name in censor.TABLE_1:
        assert censor.label(name, epsilon) in labels
    for name in censor.TABLE_3:
        assert censor.label(name, 4, 0.8) in labels
