"""Tasks of whole records: what a worker answers is what the analysis of these records gives."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.by_record import ByRecord
from synth_core.analysis.records.blocks import Block, common_of
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.experiments.explore.division import divided_for, shares_by_name
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import run_point
from synth_core.experiments.explore.tuning import tune
from synth_core.jobs import worker
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import CheckTask, MechanismTask, PointTask, TuneTask
from synth_core.system.cache import Cache, results_cache
from synth_core.system.entries import read

pytestmark = pytest.mark.stan
BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}, share=0.4),
    Block("pay", "lognormal", {"unit": 10.0}, missing=()),
)
SETTINGS = make_settings(
    outcome="sex", model="categorical", categories=("f", "m"), draws=200, warmup=200, chains=1, epsilon=8.0
)
EITHER = make_settings(
    outcome="pay", model="lognormal", unit=10.0, draws=200, warmup=200, chains=1, epsilon=8.0
)


def people():
    rng = np.random.default_rng(8)
    pay = rng.lognormal(3, 0.4, 150)
    pay[:15] = np.nan
    return Table("people", pd.DataFrame({"sex": rng.choice(["f", "m"], 150), "pay": pay}))


def given(settings):
    return TaskInput.of(people(), settings, blocks=BLOCKS)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A function that has a worker answer a task, and the same records outside of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_RESULTS_DIR", str(tmp_path_factory.mktemp("results")))
        worker._prepared.clear()

        def answer(task):
            place = tmp_path_factory.mktemp("job")
            done = worker.run_job(pickle.loads(pickle.dumps(task.sent)), str(place), list(task.given.tables))
            return done.answer

        yield (
            answer,
            RecordsAnalysis(people(), BLOCKS, common_of(SETTINGS), Cache(tmp_path_factory.mktemp("alone"))),
        )


def test_what_one_mechanism_is_told_stops_no_fit_of_another():
    """A guess, or ε, for noisy counts began every other fit on the page again."""

    def key(mechanism, epsilon=8.0, share=0.4, **options):
        sex, pay = BLOCKS
        blocks = (replace(sex, share=share), replace(pay, options=pay.options | options))
        settings = SETTINGS.model_copy(update={"epsilon": epsilon})
        return MechanismTask(TaskInput.of(people(), settings, blocks=blocks), mechanism).key

    for changed in ({"guess": (20.0, 0.5)}, {"epsilon": 2.0}):
        assert key("weighted", **changed) == key("weighted")
        assert key("anchored", **changed) != key("anchored")
        assert key("measured", **changed) != key("measured")
    for changed in ({"share": 0.5}, {"unit": 1.0}):
        assert key("weighted", **changed) != key("weighted")


def test_a_mechanism_and_what_is_known_of_each_record(asked):
    answer, whole = asked
    task = MechanismTask(given(EITHER), "weighted")
    assert task.key == MechanismTask(given(SETTINGS), "weighted").key
    assert task.given.blocks == BLOCKS
    found, result = answer(task).numbers, whole.run("weighted")
    assert found.epsilon == result.epsilon and found.joint == result.measures
    assert [each.ecdf_max for each in found.variables] == [part.distance for part in result.parts]
    kept = read(results_cache(), ByRecord, task.key)
    assert kept.names == ("sex", "pay is missing", "pay")
    np.testing.assert_array_equal(kept.joint, result.lipschitz_bounds)
    assert np.isnan(kept.bounds[2, :15]).all() and not np.isnan(kept.bounds[2, 15:]).any()
    for place, part in enumerate(result.parts):
        there = ~np.isnan(kept.bounds[place])
        np.testing.assert_array_equal(kept.weights[place, there], part.result.weights)
    assert np.all(kept.joint <= np.nansum(kept.bounds, axis=0) + 1e-9)


def test_a_point_of_the_map(asked):
    answer, whole = asked
    at = SETTINGS.model_copy(update={"scale": 0.5})
    task = PointTask(given(at), "weighted")
    found, alone = answer(task), run_point(whole.with_settings(scale=0.5), "weighted").summary()
    assert replace(found, seconds=0.0) == replace(alone, seconds=0.0)
    assert "ecdf_max of pay" in found.bands


@pytest.mark.slow
def test_inverse_tuning_divides_first_where_that_is_asked(asked):
    answer, whole = asked
    target = Target("ecdf_max", 0.3, 0.6)
    task = TuneTask(given(EITHER), "censored", target=target, divided=True)
    divided = divided_for(whole, "censored", target)
    found = answer(task)
    assert found.shares == shares_by_name(divided) != shares_by_name(whole)
    alone = tune(divided, "censored", target, ({},))
    for name in ("share", "n", "why", "refits"):
        assert getattr(found, name) == getattr(alone, name)
    assert (found.point is None) == (alone.point is None)
    plain = TuneTask(given(EITHER), "censored", target=target)
    assert plain.key != task.key and divided_for(whole, "weighted", target) is whole


def test_the_fit_of_each_variable_of_whole_records(asked):
    """Checked is the variable that is named, on the rows of whole records, whichever the settings describe."""
    answer, _ = asked
    checks = {
        name: CheckTask.of(people(), settings, None, None, BLOCKS, name)
        for name, settings in (("sex", EITHER), ("pay", SETTINGS))
    }
    assert checks["sex"].key != checks["pay"].key
    sex, pay = (answer(checks[name]) for name in ("sex", "pay"))
    assert (sex.check.n_records, pay.check.n_records) == (150, 135)  # of pay those that are not missing
    assert sex.density_scale == "probability of a category"
    assert pay.density_scale == "density per 10 of the table’s unit"
    share = float((people().frame["sex"] == "f").mean())
    assert sex.check.distribution.observed[0] == pytest.approx(share)
    assert sex.check.distribution.predicted[0] == pytest.approx(
        share, abs=0.03
    )  # of 150 records and a weak prior
