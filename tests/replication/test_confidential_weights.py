"""Confidential survey weights: what the model expects of a record, and the law that both published models share."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import norm

from synth_core.analysis.any_analysis import analysis_of
from synth_core.analysis.records.synthetic_records import draw_records
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.experiments.studies.extra_measures import ConfidentialWeights, expected_values
from synth_core.experiments.studies.study import task_of
from synth_core.experiments.studies.verdicts import AGREES, DIFFERS, UNDECIDED
from synth_core.replication import confidential_weights as module
from synth_core.system.cache import MemoryCache


@pytest.mark.slow
def test_both_models_have_one_law_of_the_sample():
    """León-Novelo and Savitsky's (2019) likelihood of outcome and inclusion probability is one of two normals.

    By quadrature: pi p(pi | y) p(y) / E(pi), with log pi | y ~ N(kappa y + t, s) and y ~ N(mu, sigma).
    """
    mu, sigma, kappa, t, s = 0.4, 0.7, 0.5, -1.0, 0.8

    def population(log_pi, y):
        return norm.pdf(log_pi, kappa * y + t, s) * norm.pdf(y, mu, sigma)

    mean, _ = dblquad(lambda p, y: np.exp(p) * population(p, y), -6, 7, -9, 9, epsabs=1e-10)
    for y, log_pi in ((0.0, -1.0), (1.3, 0.4), (-0.8, -2.0)):
        sample = norm.pdf(y, mu + kappa * sigma**2, sigma) * norm.pdf(log_pi, kappa * y + t + s**2, s)
        assert np.exp(log_pi) * population(log_pi, y) / mean == pytest.approx(sample, rel=1e-6)


def test_expected_weights_are_those_of_the_lognormal_and_leave_with_the_draw():
    """Closed form, by the very parameters that the values were drawn by: so do the drawn weights."""
    case = module.study().cases[0]
    task = task_of(case, 1, 0)
    table = Table("t", module.simulate(np.random.default_rng(3), 1000))
    settings = make_settings(**(task.settings | {"datasets": 2}))
    analysis = analysis_of(table, settings, case.blocks, MemoryCache())
    result = analysis.run("unweighted")
    expected = expected_values(analysis, result, "w")
    assert expected.shape == (2, 1000)
    for j, parameters in enumerate(analysis.parameters(result)):
        _, _, draw, *_ = parameters[1]
        drawn = result.drawn[j]
        again = draw_records(parameters, analysis.public_design, "independent")
        assert all((again[name] == drawn[name]).all() for name in drawn)
        design = np.column_stack([analysis.public_design, np.arcsinh(drawn["pay"] / 0.1)])
        exact = np.exp(design @ draw["beta"] + draw["sigma"] ** 2 / 2)
        assert expected[j] == pytest.approx(exact, rel=0.01)  # 500 quantiles of a long tail
        off = np.log(drawn["w"]) - design @ draw["beta"]  # noise of 1,000 records: 3 errors
        assert abs(off.mean()) < 3 * float(draw["sigma"]) / np.sqrt(1000)
        assert off.std() == pytest.approx(float(draw["sigma"]), rel=3 / np.sqrt(2000))
    numbers = ConfidentialWeights("pay", "w")(analysis, result)
    by_hand = np.mean([np.average(d["pay"], weights=e) for d, e in zip(result.drawn, expected, strict=True)])
    assert numbers["mean_smoothed"] == pytest.approx(by_hand)
    assert numbers["mean_unweighted"] == pytest.approx(np.mean([d["pay"].mean() for d in result.drawn]))
    confidential = np.average(table.frame["pay"], weights=table.frame["w"])
    assert numbers["mean_confidential"] == pytest.approx(confidential)


def test_smoothing_agrees_where_it_takes_error_away_beyond_chance(rng):
    base = rng.normal(0, 0.05, 100)
    for drawn, smoothed, verdict in (
        (base * 1.5, base, AGREES),
        (base, base * 1.5, DIFFERS),
        (base, rng.permutation(base), UNDECIDED),
    ):
        assert module._nearer("", drawn, smoothed).verdict == verdict
