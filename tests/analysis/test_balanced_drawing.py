"""Balanced drawing: every kept record is one of its draws; tables come nearer to what the model expects."""

import itertools

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.balanced_drawing import DRAWS, balanced_choice, binned, drawn_codes
from synth_core.analysis.drawing import synthetic_values
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.mechanisms.randomness import stream_of


def law_of(rng):
    """A law of two columns given two public ones, far from independent."""
    logs = rng.normal(size=(3, 2, 4, 3))
    return np.exp(logs) / np.exp(logs).sum(axis=(2, 3), keepdims=True)


def drawn(rng, shares, public, times):
    """Independent draws by a loop over records."""
    flat = shares[public[:, 0], public[:, 1]].reshape(len(public), -1)
    found = np.array([[rng.choice(12, p=law) for law in flat] for _ in range(times)])
    return np.stack(np.unravel_index(found, (4, 3)), axis=-1)


def distance(kept, shares, public):
    """Sum of squares of all tables of pairs and triples about their exact expectation, by loops."""
    joint = np.zeros((4, 3, 3, 2))  # two synthetic columns, two public ones
    for a, b in public:
        joint[:, :, a, b] += shares[a, b]
    both, total = np.column_stack([kept, public]), 0.0
    for size in (2, 3):
        for columns in itertools.combinations(range(4), size):
            if columns[0] < 2:
                counts = np.zeros([joint.shape[k] for k in columns])
                for row in both:
                    counts[tuple(row[list(columns)])] += 1
                others = tuple(k for k in range(4) if k not in columns)
                total += ((counts - joint.sum(axis=others)) ** 2).sum()
    return total


def test_tables_are_nearer_to_their_expectation_than_independent_ones(rng):
    shares = law_of(rng)
    public = np.column_stack([rng.integers(0, 3, 400), rng.integers(0, 2, 400)])
    draws = drawn(rng, shares, public, DRAWS)
    kept = balanced_choice(draws, public, np.random.default_rng(1))
    chosen = draws[kept, np.arange(400)]
    independent = np.mean([distance(each, shares, public) for each in draws[:5]])
    # The mean of 16 draws that it aims at errs by a sixteenth itself.
    assert distance(chosen, shares, public) < 0.2 * independent


@pytest.mark.slow
def test_shares_of_a_record_stay_those_of_the_model(rng):
    """Over 300 files the first record has each cell as often as its law says: chi square of 11, beyond 1e-4 at 35.6."""
    shares = law_of(rng)
    public = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 2, 60)])
    counts = np.zeros(12)
    for _ in range(300):
        draws = drawn(rng, shares, public, 4)
        kept = balanced_choice(draws, public, rng)
        counts[np.ravel_multi_index(tuple(draws[kept[0], 0]), (4, 3))] += 1
    expected = 300 * shares[tuple(public[0])].ravel()
    assert ((counts - expected) ** 2 / expected).sum() < 35.6


def test_bins_of_numbers_and_missing_values():
    values = np.concatenate([np.zeros(50), np.arange(1.0, 51.0), [np.nan] * 5])
    codes = binned(values)
    assert (codes[:50] == 0).all() and (codes[100:] == codes.max()).all() and np.ptp(codes[50:100]) == 4
    assert (np.diff(codes[50:100]) >= 0).all()


@pytest.mark.stan
def test_values_of_one_variable_and_the_same_for_the_same_seed(cache):
    """The mean of each half of the table errs less than of independent values; over 40 draws of the values."""
    settings = make_settings(outcome="x", model="beta", chains=1, draws=200, warmup=200)
    analysis = Analysis(load_example("beta", 200), settings, cache)
    posterior, _ = analysis.fits.unweighted("")
    draw = posterior.at(3)
    spread = {}
    for drawing in ("independent", "balanced"):
        made = [synthetic_values(analysis.model, draw, np.random.default_rng(s), drawing) for s in range(40)]
        spread[drawing] = np.std([each.mean() for each in made])
        again = synthetic_values(analysis.model, draw, np.random.default_rng(3), drawing)
        np.testing.assert_array_equal(again, made[3])
    assert spread["balanced"] < 0.6 * spread["independent"]
    whole = analysis.with_settings(drawing="balanced").run("unweighted")
    assert whole.synthetic.shape == (1, 200)
    assert np.isfinite(synthetic_values(analysis.model, draw, stream_of(1, 2**200, 5), "balanced")).all()


def test_zeros_and_single_categories_are_balanced_too(rng):
    """Of 600 records an independent share of zeros errs by 9, and one of 20 categories by 5; balanced by one or so."""
    public = rng.integers(0, 3, (600, 1))
    pay = np.where(rng.random((DRAWS, 600)) < 0.15, 0.0, rng.lognormal(10, 1, (DRAWS, 600)))
    kind = rng.integers(0, 20, (DRAWS, 600)).astype(float)
    kind[rng.random(kind.shape) < 0.1] = np.nan
    codes = np.stack([drawn_codes(pay, False), drawn_codes(kind, True)], axis=-1)
    kept = balanced_choice(codes, public, np.random.default_rng(1)), np.arange(600)
    assert (pay[kept] == 0).sum() == pytest.approx((pay == 0).sum() / DRAWS, abs=3)
    for code in range(20):
        assert (kind[kept] == code).sum() == pytest.approx((kind == code).sum() / DRAWS, abs=4)
    assert np.isnan(kind[kept]).sum() == pytest.approx(np.isnan(kind).sum() / DRAWS, abs=3)
    told = drawn_codes(np.array([np.nan, 0.0, 3.0, *range(1, 40)]), False)
    assert len({*told[:3]}) == 3 and not {*told[:2]} & {*told[2:]}
