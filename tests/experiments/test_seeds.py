"""The same seed gives the same bytes: in this process, in fresh ones, on loky's and on Dask's workers."""

import json
import os
import subprocess

import pytest

from synth_core.system.backend import LokyBackend, open_backend
from tests.conftest import PYTHON, ROOT
from tests.support.seeds import TASKS, checksums
from tests.system.test_dask_cluster import cluster  # noqa: F401  a scheduler and workers of their own

pytestmark = [
    pytest.mark.stan,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def here():
    return {task: checksums(task) for task in TASKS}


@pytest.mark.slow
def test_again(here):
    assert checksums("comparison") == here["comparison"]
    everything = [value for task in here.values() for value in task.values()]
    assert len(set(everything)) == len(everything) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("salt", ["0", "random"])
def test_fresh_processes(here, salt):
    done = subprocess.run(
        [PYTHON, "-m", "tests.support.seeds", *TASKS], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": salt},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == here


@pytest.mark.slow
def test_loky(here, tmp_path):
    with LokyBackend(2, tmp_path / "work") as backend:
        assert {TASKS[a.index]: a.value for a in backend.run(checksums, TASKS)} == here


@pytest.mark.slow  # test_cluster compares whole studies by default
@pytest.mark.long
def test_dask(here, request):
    pytest.importorskip("distributed", reason="requirements-dask.txt is not installed")
    request.getfixturevalue("cluster").add_workers(2)
    with open_backend(None) as backend:
        assert {TASKS[a.index]: a.value for a in backend.run(checksums, TASKS)} == here
