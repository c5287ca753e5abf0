"""An audit in the background: of one sensitive variable, or of several."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import AuditTask
from synth_core.jobs.worker import run_job

BLOCKS = (
    Block("a", "categorical", {"categories": ("x", "y")}),
    Block("b", "categorical", {"categories": ("x", "y")}),
)


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    return Table(
        "pairs", pd.DataFrame({name: rng.choice(["x", "y"], 40) for name in "ab"}), confidential=False
    )


def answered(table, tmp_path, mechanism, blocks):
    settings = make_settings(outcome="a", model="categorical", categories=("x", "y"), draws=1000, warmup=300)
    task = AuditTask(TaskInput.of(table, settings, blocks=blocks), asked=AuditRequest((mechanism,), 1_000))
    return run_job(task.sent, str(tmp_path), [table])


def test_blocks_are_audited_as_whole_records(table, tmp_path):
    """A histogram is of one variable: of whole records it is refused as such, of one for its categories."""
    whole = answered(table, tmp_path / "whole", "histogram", BLOCKS)
    assert "about one sensitive variable" in whole.error
    one = answered(table, tmp_path / "one", "histogram", ())
    assert "bins divide amounts" in one.error


@pytest.mark.stan
@pytest.mark.long
def test_the_answer_names_all_variables(table, tmp_path):
    found = answered(table, tmp_path, "unweighted", BLOCKS).answer
    assert "Privacy audit of a, b in pairs, 40 records" in found.heading[0]
    [row] = found.rows
    assert row["Neighbour"] == "one record removed" and not found.confidential
