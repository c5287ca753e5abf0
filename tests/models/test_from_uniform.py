"""Synthetic values turned from uniform numbers: their distribution is the model's own, which SciPy has checked."""

import numpy as np
import pytest

from synth_core.models import build_model
from synth_core.models.base import parted
from tests.conftest import records_of

N = 4000
SHARES = (np.arange(N) + 0.5) / N
EDGES = (-10.0, 0.0, 0.0, 2.0, 5.0, 20.0)


def model_and_draw(kind, rng):
    """A model whose records all have one design row, and one draw of its parameters."""
    z = np.tile([1.0, 0.7], (N, 1))
    amounts = rng.lognormal(size=N)
    slopes = np.array([0.3, 0.4])
    mixed = {
        "pi_k": np.array([0.2, 0.5, 0.3]),
        "beta": rng.normal(0.5, 0.5, (2, 3)),
        "sigma": np.array([0.3, 1.0, 2.0]),
    }
    some = np.where(np.arange(N) % 3 == 0, 0.0, amounts)
    gamma = {"gamma": np.array([-0.4, 0.5])}
    own = np.resize([0.0, 1.0, 2.0], N)
    found = {
        "beta": (rng.uniform(-4, 4, N), {"bounds": (-5.0, 5.0)}, {"a": np.array(0.4), "b": np.array(2.0)}),
        "beta_regression": (
            rng.uniform(-4, 4, N),
            {"bounds": (-5.0, 5.0)},
            {"beta": slopes, "lambda": np.array(3.0)},
        ),
        "lognormal": (amounts, {}, {"beta": slopes, "sigma": np.array(0.8)}),
        "two_part": (some, {}, {"beta": slopes, "sigma": np.array(0.8)} | gamma),
        "mixture": (amounts, {"components": 3}, mixed),
        "poisson": (rng.poisson(3.0, N).astype(float), {}, {"beta": slopes}),
        "negative_binomial": (rng.poisson(3.0, N).astype(float), {}, {"beta": slopes, "phi": np.array(0.7)}),
        "categorical": (own, {"categories": ("a", "b", "c")}, {"beta": rng.normal(size=6)}),
        "bracketed": (np.clip(some, -10, 20), {"bracket_edges": EDGES}, None),
    }[kind]
    model = build_model(kind, records_of(found[0], None if kind == "beta" else z), **found[1])
    if found[2] is None:
        return model, {name: values[0] for name, values in model.guess(3.0, 1.0, 0.1).items()}
    return model, found[2]


KINDS = [
    "beta",
    "beta_regression",
    "lognormal",
    "two_part",
    "mixture",
    "poisson",
    "negative_binomial",
    "categorical",
    "bracketed",
]


@pytest.mark.parametrize("kind", KINDS)
def test_evenly_spaced_numbers_give_the_models_distribution(kind, rng):
    """Of N equidistant numbers the share of values up to any x is its probability, but for 1 / N a part."""
    model, draw = model_and_draw(kind, rng)
    found = model.from_uniform(draw, SHARES)
    assert np.isfinite(found).all()
    one = {name: np.asarray(values)[None] for name, values in draw.items()}
    at = np.quantile(found, np.linspace(0.02, 0.98, 25), method="inverted_cdf")
    expected = [model.cdf(one, np.full(1, x), np.zeros(1, dtype=int))[0, 0] for x in at]
    seen = (found[:, None] <= at).mean(axis=0)
    n_parts = 3 if kind == "mixture" else 2
    np.testing.assert_allclose(seen, expected, atol=(n_parts + 0.5) / N)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_the_unit_interval_give_finite_values(kind, rng):
    model, draw = model_and_draw(kind, rng)
    for end in (np.finfo(float).tiny, 1 - 2.0**-53):
        assert np.isfinite(model.from_uniform(draw, np.full(N, end))).all()


def test_parts_have_their_shares_and_uniform_places():
    part, within = parted(SHARES, np.array([[0.25], [0.0], [0.75]]))
    assert np.bincount(part, minlength=3).tolist() == [1000, 0, 3000]
    np.testing.assert_allclose(within[part == 2], (np.arange(3000) + 0.5) / 3000, atol=1e-12)
