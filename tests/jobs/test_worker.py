"""What a worker process keeps between jobs: the table's columns, never a setting."""

import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.jobs import worker
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask
from synth_core.system.cache import Cache


@pytest.mark.slow
def test_jobs_of_one_table_share_its_columns_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    worker._prepared.clear()
    table = load_example("401ksubs")
    kept, found = [], []
    for i, changes in enumerate(
        (
            {"scale": 0.7},
            {"scale": 0.5, "unit": 1000.0},
            {"scale": 0.5, "unit": 1000.0, "model": "two_part"},
            {"predictors": ("age",)},
        )
    ):
        settings = make_settings(**({"outcome": "inc", "model": "lognormal", "chains": 1, "draws": 200,
                                     "warmup": 200} | changes))  # fmt: skip
        task = MechanismTask(TaskInput.of(table, settings), "weighted")
        place = tmp_path / str(i)
        place.mkdir()
        found.append(worker.run_job(task.sent, str(place), [table]).answer)
        (fits,) = worker._prepared.values()
        assert fits.settings == settings
        kept.append(fits.selection)
        alone = Analysis(table, settings, Cache(tmp_path / f"alone{i}"))
        assert found[-1].numbers.lipschitz_bound == alone.run("weighted").lipschitz_bound
        assert found[-1].density_scale == alone.model.density_scale
    assert kept[0] is kept[1]
    assert kept[2] is kept[0]
    assert kept[3] is not kept[2]
    assert kept[3].records.design.shape[1] == 2
