"""Even synthetic values: each number is uniform, together they leave no gaps, and nothing but the drawing moves."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.drawing import even_uniforms, synthetic_values
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.randomness import stream_of
from synth_core.models import build_model
from synth_core.models.base import Model, Options
from tests.conftest import records_of


@pytest.mark.slow
def test_each_number_is_uniform():
    kinds = np.array([2, 0, 1, 1, 2, 0, 0])
    found = np.array([even_uniforms(kinds, np.random.default_rng(seed)) for seed in range(3000)])
    assert min(stats.kstest(column, "uniform").pvalue for column in found.T) > 1e-4
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("n", [1, 2, 37, 1000, 4097])
def test_runs_of_neighbouring_kinds_are_even(n):
    """A run of m has its share of any interval from 0, but for 2 log2(m) + 2 numbers (van der Corput)."""
    found = even_uniforms(np.arange(n), np.random.default_rng(n))
    grid = np.linspace(0, 1, 60)
    for start, m in ((0, n), (n // 3, n - n // 3), (n // 2, max(1, n // 7))):
        run = found[start : start + m]
        off = np.abs((run[:, None] <= grid).sum(axis=0) - m * grid).max()
        assert off <= 2 * np.log2(max(m, 2)) + 2


def test_shares_have_less_noise_than_of_independent_values():
    z = np.column_stack([np.ones(2000), np.repeat([-1.0, 0.0, 1.0, 2.0], 500)])
    model = build_model("categorical", records_of(np.resize([0.0, 1.0], 2000), z), categories=("a", "b"))
    draw = {"beta": np.array([0.2, -0.3, -0.2, 0.3])}

    def spread(drawing):
        sets = [synthetic_values(model, draw, np.random.default_rng(s), drawing) for s in range(200)]
        return np.std([[each.mean(), each[:500].mean(), each[500:1000].mean()] for each in sets], axis=0)

    independent, even = spread("independent"), spread("even")
    exact = np.sqrt(0.25 / 500)  # at most
    assert (independent[1:] > 0.7 * exact).all()
    assert (even < 0.1 * independent).all()


def test_values_of_one_record_have_the_models_distribution():
    model = build_model(
        "lognormal", records_of(np.arange(1.0, 6.0), np.column_stack([np.ones(5), np.arange(5.0)]))
    )
    draw = {"beta": np.array([0.5, 0.1]), "sigma": np.array(0.7)}
    found = [synthetic_values(model, draw, np.random.default_rng(s), "even")[3] for s in range(3000)]
    assert stats.kstest(np.log(found), "norm", (0.8, 0.7)).pvalue > 1e-4


@pytest.mark.stan
def test_even_values_change_the_synthetic_table_alone(cache):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"z": rng.normal(size=800).round(1)})
    frame["x"] = np.exp(1 + 0.5 * frame["z"] + 0.6 * rng.normal(size=800))
    common = {"outcome": "x", "predictors": ("z",), "model": "lognormal", "epsilon": 2.0, "guess": (3.0, 0.8)}
    one, even = (
        Analysis(Table("t", frame), make_settings(**common, drawing=drawing), cache).run("anchored")
        for drawing in ("independent", "even")
    )
    assert even.guarantee == one.guarantee and even.epsilon_promised == one.epsilon_promised
    np.testing.assert_array_equal(even.lipschitz_bounds, one.lipschitz_bounds)
    np.testing.assert_array_equal(even.weights, one.weights)
    assert (even.synthetic != one.synthetic).all()


@pytest.mark.slow
@pytest.mark.stan
def test_whole_records_are_spread_block_by_block(cache):
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], 600)
    frame = pd.DataFrame(
        {"sex": sex, "status": np.where(rng.random(600) < 0.3 + 0.4 * (sex == "f"), "a", "b")}
    )
    frame["pay"] = rng.lognormal(1 + 0.5 * (frame["status"] == "a"), 0.5)
    blocks = (
        Block("status", "categorical", {"categories": ("a", "b")}),
        Block("pay", "lognormal", {}),
    )
    common = {"predictors": ("sex",), "chains": 1, "draws": 200, "warmup": 200, "datasets": 20, "seed": 2}
    found = {}
    for drawing in ("independent", "even"):
        analysis = RecordsAnalysis(Table("t", frame), blocks, common | {"drawing": drawing}, cache)
        result = analysis.run("unweighted")
        women = [frame_of["status"][sex == "f"].eq("a").mean() for frame_of in result.synthetic]
        found[drawing] = np.std(women)
    # The noise of drawing is as large as that of the parameters; without it a factor of about 0.7 is left.
    assert found["even"] < 0.9 * found["independent"]


def test_a_model_that_draws_by_itself_cannot_be_spread():
    class Own(Model):
        label = "Own program"

    Own.__abstractmethods__ = frozenset()
    model = Own(records_of(np.arange(1.0, 4.0)), Options())
    with pytest.raises(InputError, match="Own program draws its synthetic values by itself"):
        synthetic_values(model, {}, np.random.default_rng(1), "even")


def test_the_same_secret_gives_the_same_even_numbers():
    """What a library makes of a generator by spawning must follow from the secret too."""
    once, again, other = (even_uniforms(np.arange(50), stream_of(0, secret, 4, 1)) for secret in (7, 7, 8))
    assert np.array_equal(once, again) and not np.isclose(once, other).any()
