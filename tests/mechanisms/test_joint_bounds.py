"""The bound of whole records is the supremum over all combinations of the blocks' draws."""

import itertools

import numpy as np
import pytest

from synth_core.mechanisms.bounds import joint_lipschitz_bounds, lipschitz_bounds


@pytest.mark.parametrize("seed", range(8))
def test_against_every_combination_of_draws(seed):
    rng = np.random.default_rng(seed)
    n, draws = 5, (4, 3, 6)
    terms = [rng.normal(rng.normal(), 1.5, (s, n)) for s in draws]
    weights = [rng.choice([0.0, 0.5, 1.0], n) for _ in draws]
    bounds = [
        lipschitz_bounds(lambda rows, t=t: t[:, rows].copy(), n, s, w)
        for t, s, w in zip(terms, draws, weights, strict=True)
    ]
    found = joint_lipschitz_bounds(bounds)
    weighted = [t * w for t, w in zip(terms, weights, strict=True)]
    for i in range(n):
        largest = max(
            abs(sum(t[s, i] for t, s in zip(weighted, chosen, strict=True)))
            for chosen in itertools.product(*map(range, draws))
        )
        assert found[i] == pytest.approx(largest)
    assert (found <= sum(b.lipschitz_bounds for b in bounds) + 1e-12).all()


def test_draws_paired_by_number_understate_it(rng):
    terms = rng.normal(0, 1, (2, 50, 30))
    bounds = [lipschitz_bounds(lambda rows, t=t: t[:, rows].copy(), 30, 50) for t in terms]
    paired = np.abs(terms.sum(axis=0)).max(axis=0)
    assert (joint_lipschitz_bounds(bounds) >= paired - 1e-12).all()
    assert joint_lipschitz_bounds(bounds).max() > paired.max() + 0.1


def test_clamped_blocks_keep_the_sum_of_their_bounds(rng):
    terms = rng.normal(0, 9, (2, 20, 10))
    bounds = [lipschitz_bounds(lambda rows, t=t: t[:, rows].copy(), 10, 20) for t in terms]
    assert joint_lipschitz_bounds([bounds[0].clamped(0.6), bounds[1].clamped(0.4)]).max() == pytest.approx(
        1.0
    )
