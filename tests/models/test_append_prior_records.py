"""A prior with a design of its own: nothing of it may depend on the records, not even on how many there are."""

import numpy as np
import pytest

from synth_core.mechanisms.censoring import Censoring
from synth_core.models import MODELS, Options, Records

N_PRIOR, COLUMNS = 60, 4
SCALES = {"level", "beta_scale", "coefficient_scale", "zero_coefficient_scale", "slope_scale", "sigma_scale"}


def values(name, rng, n):
    if name in ("poisson", "negative_binomial"):
        return rng.poisson(20, n).astype(float)
    if name in ("beta", "beta_regression"):
        return rng.beta(2, 3, n)
    if name in ("categorical", "ordered"):
        return rng.integers(0, 3, n).astype(float)
    found = rng.lognormal(3, 1, n)
    return np.where(rng.random(n) < 0.2, 0.0, found) if name == "two_part" else found


def fitted(name, n):
    """Stan data of the prior's part beside n records."""
    rng = np.random.default_rng(3)
    prior = values(name, rng, N_PRIOR)
    prior_design = np.column_stack([np.ones(N_PRIOR), rng.normal(size=(N_PRIOR, COLUMNS))])
    rng = np.random.default_rng(n)
    design = np.column_stack([np.ones(n), rng.normal(size=(n, COLUMNS))])
    records = Records(values(name, rng, n), design, ("1", "a", "b", "c", "d"))
    options = (
        Options(bounds=(0.0, 1.0), categories=("p", "q", "r"), bracket_edges=(0.0, 1.0, 10.0, 30.0, 1e9))
        if name != "mixture"
        else Options(zero_part=False)
    )
    model = MODELS[name](records, options)
    censoring = Censoring(0.5, np.zeros(n), prior, 0.1, prior_design)
    joined, weights, together = model.append_prior_records(np.full(n, 0.3), censoring)
    return joined.stan_data(weights, together)


@pytest.mark.parametrize(
    "name", [name for name in MODELS if MODELS[name].takes_anchor_prior and not MODELS[name].slow]
)
def test_the_prior_is_the_same_whatever_the_number_of_records(name):
    first, second = (fitted(name, n) for n in (45, 44))
    scales = SCALES & first.keys()
    for key in scales:
        assert np.array_equal(first[key], second[key]), key
    assert scales or name not in ("lognormal", "two_part", "categorical")
