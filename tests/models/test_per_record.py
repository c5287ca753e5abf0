"""The base of families with one term a record, by a family of the tests: with predictors, and of any sign."""

import numpy as np
import pytest
from scipy import stats

from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Options
from synth_core.models.per_record import PerRecordModel
from tests.conftest import records_of

UNIT = 4.0


class Laplace(PerRecordModel):
    """x ~ Laplace(z' beta, scale)."""

    name, label, program = "laplace", "Laplace", "laplace.stan"
    parameters, uses_predictors, prior_data = ("beta", "scale"), True, {"slope_scale": 2.0}

    def log_density(self, x, design, beta, scale):
        return -np.log(2 * scale) - np.abs(x - beta @ design.T) / scale

    def distribution(self, x, design, beta, scale):
        return stats.laplace.cdf(x, beta @ design.T, scale)

    def quantile(self, share, design, beta, scale):
        return stats.laplace.ppf(share, beta @ design.T, scale)


class Positive(Laplace):
    label, values, uses_predictors = "Positive", "positive", False


@pytest.fixture
def model(rng):
    design = np.column_stack([np.ones(30), rng.normal(size=30)])
    return Laplace(records_of(rng.normal(size=30) * 8, design), Options(unit=UNIT, prior_scale=0.5))


def draws(rng, n=5):
    return {"beta": rng.normal(size=(n, 2)), "scale": rng.uniform(0.5, 2, n)}


def test_density_distribution_and_draws_are_those_of_each_record(model, rng):
    drawn, rows = draws(rng), np.array([3, 0, 17])
    found = model.log_lik(drawn, rows)
    for s in range(5):
        for place, i in enumerate(rows):
            known = stats.laplace(drawn["beta"][s] @ model.records.design[i], drawn["scale"][s])
            x = model.records.outcome[i] / UNIT
            assert found[s, place] == pytest.approx(known.logpdf(x))
            assert model.cdf(drawn, model.records.outcome[rows], rows)[s, place] == pytest.approx(
                known.cdf(x)
            )
    one = {name: values[0] for name, values in drawn.items()}
    uniform = rng.random(30)
    values = model.from_uniform(one, uniform)
    np.testing.assert_allclose(model.cdf(drawn, values, slice(None))[0], uniform)


def test_stan_gets_each_term_with_its_weight_and_its_anchor(model, rng):
    weights, anchor = rng.random(30), rng.normal(size=30)
    plain = model.stan_data(weights)
    np.testing.assert_array_equal(plain["x"], model.records.outcome / UNIT)
    np.testing.assert_array_equal(plain["design"], model.records.design)
    np.testing.assert_array_equal(plain["weights"], weights)
    assert plain["n_clamped"] == 0 and not plain["anchor"].any() and plain["slope_scale"] == 1.0
    prior = rng.normal(size=30)
    clamped = model.stan_data(weights, Censoring(0.5, anchor, prior, 0.25))
    assert (clamped["n"], clamped["n_clamped"], clamped["censor_bound"]) == (60, 30, 0.5)
    np.testing.assert_array_equal(clamped["x"], np.concatenate([model.records.outcome, prior]) / UNIT)
    np.testing.assert_array_equal(clamped["anchor"], np.append(anchor, np.zeros(30)))
    np.testing.assert_array_equal(clamped["weights"], np.append(weights, np.full(30, 0.25)))


def test_positive_values_are_asked_for(rng):
    with pytest.raises(InputError, match="Positive needs positive values; 2 are not"):
        Positive(records_of(np.array([1.0, 0.0, -3.0])), Options())
