"""The counts beside Censor, Table 1: what is measured, and what the printed moments imply."""

import dataclasses

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.experiments.studies.extra_measures import RecordsAbove
from synth_core.experiments.studies.study import SAMPLER, simulate, task_key
from synth_core.replication import censor


def test_a_replicates_key_knows_what_is_measured_beside():
    (case,) = censor.censor_4().cases
    points = tuple(dataclasses.replace(point, extras=()) for point in case.points)
    assert task_key(dataclasses.replace(case, points=points), 1, 0) != task_key(case, 1, 0)


def test_what_printed_moments_imply_of_a_count_with_zeros(rng):
    given = rng.normal(428, 25, 4000)
    count = np.where(rng.random(4000) < 0.95, given, 0.0)
    assert censor.given_the_gate(count.mean(), count.std(), 25.0) == pytest.approx(428, abs=2)


@pytest.mark.stan
def test_records_above_a_level_against_a_whole_matrix(cache):
    (case,) = censor.censor_4().cases
    settings = make_settings(**(SAMPLER | case.settings | {"draws": 200}))
    analysis = Analysis(Table("t", simulate(case, 1, 0).head(300)), settings, cache)
    result = analysis.run("weighted")
    log_lik = analysis.model.log_lik(analysis.refit(result).draws, slice(None))
    expected = (log_lik > 1.5).any(axis=0).sum()
    assert 0 < expected < 300
    assert RecordsAbove(1.5)(analysis, result) == {"above_1.5": expected}
