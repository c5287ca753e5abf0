"""Data sets from the exact posterior: where it acts, what it is refused for, and what is told of its chains."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.engines import measured as engine
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.mechanisms.noise import SeededNoise
from tests.analysis.measured.test_measured_synthesis import analysis, people

FEW = {"count_together": ("area * sex", "sex * work", "income * work"), "measured_posterior": "exact"}


class Untouched(SeededNoise):
    def gaussian(self, counts, deviation):
        raise AssertionError("something was counted")


def test_a_model_that_is_too_large_is_refused_before_anything_is_counted(tmp_path):
    with pytest.raises(
        InputError, match=r"up to 1,000 parameters .* may have 2,\d\d\d .*--measured-posterior refits"
    ):
        analysis(tmp_path, noise=Untouched(1), measured_posterior="exact").run("measured")


@pytest.fixture
def chains(monkeypatch):
    """A sampler whose chains have not met, and how often it ran."""
    ran = []

    def sampled(model, tables, scales, mode, laplace, sampler, progress):
        ran.append((laplace, sampler.seed))
        theta = mode + np.random.default_rng(len(ran)).normal(0, 0.5, (20, len(mode)))
        return Posterior({"theta": theta}, Diagnostics(1.2, 500.0, 500.0, 0, 2, 2000), 1.0)

    monkeypatch.setattr(engine, "sampled", sampled)
    return ran


@pytest.mark.slow
def test_several_data_sets_are_of_draws_whose_diagnostics_are_told_once(tmp_path, chains):
    result = analysis(tmp_path, datasets=3, **FEW).run("measured")
    first, second, third = result.synthetic
    assert not first.equals(second) and not second.equals(third)
    assert result.problems == ("R-hat is 1.200 (at most 1.01 is asked)",)
    assert {each.diagnostics.rhat for each in result.summary_numbers.variables} == {1.2}
    whole = analysis(tmp_path, **FEW | {"datasets": 3})
    later = engine.MeasuredEngine(True).later(whole.inputs, "Measured", range(3, 5))
    assert not np.array_equal(later[0][0], later[0][1])
    assert len(chains) == 1  # the draws are kept
    with pytest.raises(InputError, match="has 2,000 draws, and each data set is of another one"):
        engine.MeasuredEngine(True).later(whole.inputs, "Measured", range(1999, 2001))


@pytest.mark.slow
def test_one_data_set_is_of_the_most_likely_parameters(tmp_path, chains):
    analysis(tmp_path, **FEW).run("measured_laplace")
    assert not chains
    analysis(tmp_path, datasets=2, **FEW).run("measured_laplace")
    assert [laplace for laplace, _ in chains] == [True]


@pytest.mark.stan
@pytest.mark.long
def test_stan_draws_whole_records(tmp_path):
    """At ε = 30 the shares of a pair are those of the records, to 2 points."""
    result = analysis(tmp_path, noise=SeededNoise(1), datasets=2, epsilon=30.0, **FEW).run("measured")
    assert not result.problems and result.parts[0].result.diagnostics.draws == 2000
    own, mine = (
        pd.crosstab(frame.work.replace({"?": None}).fillna("-"), frame.sex, normalize=True)
        for frame in (people(1), result.synthetic[1])
    )
    assert np.abs(own - mine).max().max() < 0.02
