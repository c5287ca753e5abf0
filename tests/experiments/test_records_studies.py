"""Databases of whole records like the analyst's: their law, and what a study of them says."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.studies.databases_like_mine import local_bounds, records_design, study_like
from synth_core.experiments.studies.replicate import run_task
from synth_core.experiments.studies.study import fits_of, simulate, task_key, task_of
from synth_core.experiments.studies.study_sentences import like_in_words
from synth_core.jobs.study_task import StudyRequest, run_in_app
from synth_core.jobs.tasks import StudyTask
from synth_core.system.cache import Cache

pytestmark = pytest.mark.stan
BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}),
    Block("pay", "lognormal", {"unit": 10.0}, missing=()),
)
COMMON = {"predictors": ("z",), "draws": 400, "warmup": 300, "chains": 1, "epsilon": 8.0}


def people(n=400, shift=0.0):
    """Pay follows sex strongly, sex follows z; a tenth of pay is missing."""
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, n)
    male = rng.random(n) < 0.3 + 0.4 * z
    pay = rng.lognormal(2.5 + shift + 0.8 * male, 0.4)
    pay[rng.random(n) < 0.1] = np.nan
    return Table("people", pd.DataFrame({"z": z, "sex": np.where(male, "m", "f"), "pay": pay}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return RecordsAnalysis(people(), BLOCKS, COMMON, Cache(tmp_path_factory.mktemp("cache")))


def moments(frame):
    """Shares and means that the generating model ties together."""
    logs = np.log(frame["pay"].astype(float))
    return np.array(
        [
            (frame["sex"] == "m")[frame["z"] == 1].mean() - (frame["sex"] == "m")[frame["z"] == 0].mean(),
            logs[frame["sex"] == "m"].mean() - logs[frame["sex"] == "f"].mean(),
            frame["pay"].isna().mean(),
        ]
    )


def test_databases_follow_the_table_s_own_relations(whole):
    """Over 40 databases of 400: differences of shares and of logarithms, and missing values, within 4 standard errors.

    Each database has its own draw of the parameters, so that one varies by about root 2 times a table's sampling error
    (0.05, 0.045, 0.015); their mean is off the table's by that of the posterior mean, which is a little shrunk.
    """
    design = records_design(whole)
    drawn = [design.simulate(np.random.default_rng([1, i]), 400) for i in range(40)]
    assert list(drawn[0].columns) == ["z", "sex", "pay"]
    np.testing.assert_array_equal(drawn[0]["z"], whole.table.frame["z"])
    found, errors = np.mean([moments(each) for each in drawn], axis=0), np.array([0.05, 0.045, 0.015])
    assert np.all(np.abs(found - moments(whole.table.frame)) < 4 * errors * np.sqrt(2 / 40) + 0.3 * errors)
    large = design.simulate(np.random.default_rng(3), 1000)
    assert len(large) == 1000 and large["z"].isin([0, 1]).all()
    again = records_design(whole).simulate(np.random.default_rng([1, 0]), 400)
    pd.testing.assert_frame_equal(again, drawn[0])
    shifted = replace(whole, loaded=people(shift=0.1))
    assert records_design(shifted).identity != design.identity


@pytest.mark.slow
def test_a_replicate_is_the_records_analysis_of_its_database(whole, cache):
    study = study_like(whole, ["weighted", "censored"], [6.0], [0.7], [200], 2)
    [case] = study.cases
    assert (case.blocks, fits_of(study, 2)) == (BLOCKS, 8)
    assert task_key(case, 1, 0) != task_key(replace(case, blocks=BLOCKS[:1]), 1, 0)
    task = task_of(case, 1, 0)
    points = run_task(task)["points"]
    settings = {
        k: v for k, v in task.settings.items() if k in ("chains", "draws", "warmup", "seed", "predictors")
    }
    alone = RecordsAnalysis(
        Table("simulated", simulate(case, 1, 0)), BLOCKS, settings | {"epsilon": 6.0, "scale": 0.7}, cache
    )
    for found, key in zip(points, ("weighted", "censored"), strict=True):
        result = alone.run(key)
        assert (found["lipschitz_bound"], found["epsilon"]) == (result.lipschitz_bound, result.epsilon)
        assert found["ecdf_max"] == max(part.distance for part in result.parts)
        assert found["ecdf_max of pay"] == result.parts[2].distance
        assert found["association"] == result.measures.association


@pytest.mark.slow
def test_risk_maps_of_replicates_are_frozen_on_the_reference_in_use(whole, cache):
    """A study said "with the settings of Compare", and took each database's weights from itself all the same."""
    earlier = people(n=300, shift=0.1)
    frozen = replace(whole, reference=earlier, common=whole.common | {"risk_reference": "last year"})
    [case] = study_like(frozen, ["weighted"], [6.0], [0.7], [200], 2).cases
    task = task_of(case, 1, 0)
    [found] = run_task(task)["points"]
    s = {k: v for k, v in task.settings.items() if k in ("chains", "draws", "warmup", "seed", "predictors")}
    s |= {"epsilon": 6.0, "scale": 0.7, "risk_reference": "last year"}
    alone = RecordsAnalysis(Table("simulated", simulate(case, 1, 0)), BLOCKS, s, cache, reference=earlier)
    assert found["epsilon"] == alone.run("weighted").epsilon
    assert found["epsilon"] != alone.from_current().run("weighted").epsilon
    given = StudyTask.of(whole.loaded, frozen.settings, StudyRequest("like", 2, 1), BLOCKS, earlier).given
    assert given.reference == earlier.identity and given.settings.risk_reference == "last year"


@pytest.mark.slow
def test_noise_of_a_replicate_has_its_seed(whole):
    """A study of whole records gives the same numbers again, of measured synthesis too."""
    pay = replace(BLOCKS[1], options={"unit": 10.0, "bracket_edges": (0.0, 10.0, 20.0, 40.0, 1000.0)})
    study = study_like(replace(whole, blocks=(BLOCKS[0], pay)), ["measured"], [6.0], [1.0], [200], 2)
    [case] = study.cases
    first, again, other = (run_task(task_of(case, 1, r))["points"][0] for r in (0, 0, 1))
    assert first["ecdf_max"] == again["ecdf_max"] != other["ecdf_max"]


def test_that_todays_epsilon_is_of_the_studys_own_draws_is_said(whole):
    """Compare said 46.72, and the study of the same table 45.21, without a word."""
    study = study_like(whole, ["weighted", "censored"], [6.0], [1.0], [150], 3)
    outcome = SimpleNamespace(study=study, values=lambda *_: np.array([1.0, 2.0, 3.0]))
    *_, last = like_in_words(outcome, {"Weighted": 2.5})
    assert last.startswith("Today's ε is computed as that of the databases is, by 1 chain of 1,000 draws")
    assert len(like_in_words(outcome, {})) == 1  # of what is promised nothing is compared


@pytest.mark.slow
def test_a_study_of_whole_records_in_the_app(whole):
    found = run_in_app(whole, StudyRequest("like", 3, 1, ("weighted", "censored"), (6.0,), (150,)))
    assert "its fitted models of sex, pay" in found.heading[0]
    assert "would be exceeded in" in found.words[0] and "promised for every table" in found.words[1]
    assert {"lipschitz_bound", "ecdf_max", "association", "ecdf_max of pay"} <= set(found.violins)
    assert any(row.quantity.startswith("Associations off by: Weighted") for row in found.rows)
    study = study_like(whole, ["weighted"], [6.0], [1.0], [150], 3)
    assert local_bounds(whole, study).keys() == {"Weighted"}


def test_what_is_of_one_variable_is_refused(whole):
    with pytest.raises(InputError, match="sensitive range is about one sensitive variable"):
        study_like(whole, ["range_averaged"], [6.0], [1.0], [150], 2)
