"""Studies of our own: anchored at an earlier table."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.experiments.studies.replicate import EARLIER_SAMPLER
from synth_core.experiments.studies.run_study import run_study
from synth_core.experiments.studies.study import simulate, simulate_earlier, task_key, task_of
from synth_core.replication import anchored
from synth_core.system.backend import SerialBackend
from synth_core.system.cache import Cache, MemoryCache


def test_the_earlier_table_is_another_one_of_the_same_law():
    for case in anchored.study().cases:
        here, before = simulate(case, 1, 0)["x"], simulate_earlier(case, 1, 0)["x"]
        assert len(here) == len(before) == 2000
        assert not np.array_equal(here, before)
        assert stats.ks_2samp(here, before).pvalue > 1e-4
        again = task_of(case, 1, 0)
        np.testing.assert_array_equal(again.earlier["x"], before)
        assert again.settings["anchor"] == "reference" and again.settings["risk_reference"] == "earlier"
        alone = dataclasses.replace(case, earlier=None)
        assert simulate_earlier(alone, 1, 0) is None
        assert task_key(alone, 1, 0) != task_key(case, 1, 0)


@pytest.mark.stan
@pytest.mark.slow
def test_two_databases_anchored_at_the_ones_before(tmp_path):
    """The expectations that two databases decide; and the anchor is not the table itself, nor a pilot."""
    outcome = run_study(anchored.study(), 2, 1, SerialBackend(), Cache(tmp_path))
    rows = {row.quantity: row for row in anchored.compare(outcome)}
    for epsilon in anchored.EPSILONS:
        ours, printed = (anchored.label(name, epsilon) for name in ("Anchored", "Censor_uw"))
        assert rows[f"ECDF max of {printed} above {ours}"].verdict == "agrees"
        assert rows[f"Poisson(100): records clamped by {printed}"].verdict == "agrees"
        sd = outcome.values(anchored.POISSON, ours, "count_mean_sd")
        c = outcome.values(anchored.POISSON, ours, "c")
        np.testing.assert_allclose(sd, 10 / np.sqrt(2000 * c + 50), rtol=0.15)
        assert (outcome.values(anchored.BETA, ours, "n_censored") <= 20).all()
    exact = outcome.values(anchored.POISSON, anchored.UNWEIGHTED, "count_mean_sd")
    np.testing.assert_allclose(exact, 10 / np.sqrt(2000), rtol=0.15)


@pytest.mark.stan
@pytest.mark.slow
def test_the_studys_anchored_fit_is_an_ordinary_one(tmp_path):
    """The engine adds nothing: the same table, anchored at the same earlier one, by the ordinary path."""
    case = anchored.study().cases[1]
    point = next(p for p in case.points if p.label == anchored.label("Anchored", 1))
    study = dataclasses.replace(anchored.study(), cases=(dataclasses.replace(case, points=(point,)),))
    outcome = run_study(study, 1, 3, SerialBackend(), Cache(tmp_path))
    task = task_of(case, 3, 0)
    plain = {name: value for name, value in task.settings.items() if name != "risk_reference"}
    settings = make_settings(**(plain | EARLIER_SAMPLER | point.changes | {"anchor": "earlier"}))
    earlier = Table("earlier", task.earlier)
    result = Analysis(Table("now", task.frame), settings, MemoryCache(), anchor=earlier).run("anchored")
    # The ordinary path makes both fits with one sampler: near, and not the same.
    assert result.tuned["c"] == pytest.approx(outcome.values(case.key, point.label, "c")[0], rel=0.2)
    assert result.ecdf_max == pytest.approx(outcome.values(case.key, point.label, "ecdf_max")[0], abs=0.03)
