"""Ordinary tables whose posteriors are hard to sample: slopes that may be 0, predictors that decide the outcome."""

import numpy as np
import pytest

from synth_core.engine.sampling import Sampler, sample
from synth_core.models import build_model
from synth_core.models.coordinates import covariance_factor, solve_penalised
from synth_core.models.records import Records


def design_of(numbers, groups):
    """Columns centred and scaled as `data.design` does, with what each differs by in a comparison."""
    columns = np.column_stack([numbers, *(groups == g for g in np.unique(groups)[1:])]).astype(float)
    spread = columns.std(axis=0)
    steps = np.r_[1.0, np.full(numbers.shape[1], 2.0), 1.0 / spread[numbers.shape[1] :]]
    return np.column_stack([np.ones(len(columns)), (columns - columns.mean(axis=0)) / spread]), steps


def problems_of(family, outcome, design, steps, **options):
    records = Records(outcome.astype(float), design, tuple(map(str, range(len(steps)))), steps)
    model = build_model(family, records, **options)
    weights = np.ones(len(outcome))
    data = model.stan_data(weights)
    sampler = model.adapt_trajectories(model.sampler_settings(Sampler(seed=3), None), weights, None, data)
    return sample(model.executable(), data, model.parameters, sampler).diagnostics.problems


@pytest.mark.stan
@pytest.mark.parametrize("n, n_numbers, dispersion", [(60, 3, 1.0), (400, 1, 1.0), (400, 4, 0.5)])
def test_overdispersed_counts_with_slopes_of_nought(rng, n, n_numbers, dispersion):
    """Dozens of divergences where the slopes themselves were the coordinates: their scale is a funnel near 0."""
    numbers, groups = rng.normal(size=(n, n_numbers)), rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    mean = np.exp(1.5 + 0.3 * numbers[:, 0] + 0.4 * (groups == "b"))
    counts = rng.poisson(rng.gamma(dispersion, mean / dispersion))
    assert problems_of("negative_binomial", counts, *design_of(numbers, groups)) == ()


@pytest.mark.stan
@pytest.mark.parametrize("decided_by", ["number", "group"])
def test_ordered_categories_that_a_predictor_decides(rng, decided_by):
    """Divergences and R-hat up to 1.2 where every column might spread the scale by itself."""
    n = 80 if decided_by == "number" else 1000
    numbers, groups = rng.normal(size=(n, 3)), rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    if decided_by == "number":
        codes = np.digitize(numbers[:, 0], [-1, 0, 1])
    else:
        codes = np.where(groups == "a", 0, np.digitize(numbers[:, 0] + rng.logistic(size=n), [-1, 0, 1.5]))
    categories = ("low", "middle", "high", "top")
    assert problems_of("ordered", codes, *design_of(numbers, groups), categories=categories) == ()


def test_a_step_and_a_factor_where_rounding_leaves_no_inverse():
    singular = np.full((2, 2), 1e8) + 1e-12 * np.eye(2)
    np.testing.assert_allclose(solve_penalised(singular, np.array([1.0, 1.0])), 0.5e-8)
    factor = covariance_factor(singular)
    assert np.triu(factor, 1).any() == 0 and (np.diag(factor) > 0).all()
    along = np.array([1.0, 1.0]) / np.sqrt(2)  # the axis that is determined: variance 1 / (2 * 1e8)
    assert along @ factor @ factor.T @ along == pytest.approx(0.5e-8, rel=0.01)
