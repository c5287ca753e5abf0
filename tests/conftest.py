"""Shared fixtures. Results go to a temporary directory; the toolchain is the user's own."""

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from synth_core.models import Records
from synth_core.system.cache import Cache

ROOT = Path(__file__).parent.parent
ALONE = ("tests/test_benchmarks.py",)
SHARED_DATA = ROOT.parent / "shared" / "data"


@pytest.hookimpl(optionalhook=True)  # of xdist, which may be switched off
def pytest_xdist_make_scheduler(config, log):
    """A file's tests share a process, so what they share is made once: a browser and its server too.

    Those of `ALONE` share nothing and come last: each worker takes the next of them.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(ALONE) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # browsers are early, and what fills the end is the short examples
    return Scheduling(config, log)


def pytest_collection_finish():
    """What is loaded by now stays. Streamlit looks for garbage after each run of a page, and looking through all tests
    and libraries took 0.3 s, several times as long as the page."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def private_results(tmp_path_factory):
    """No test reads or writes the user's cached results."""
    directory = tmp_path_factory.mktemp("results")
    os.environ["SYNTH_RESULTS_DIR"] = str(directory)
    os.environ["SYNTH_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    return directory


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Cache:
    """A cache of all tests of a file, so that a fit of the same inputs is made once. Not where calls are counted."""
    return Cache(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261120)


def records_of(outcome, design=None) -> Records:
    outcome = np.asarray(outcome, dtype=float)
    if design is None:
        design = np.ones((len(outcome), 1))
    return Records(outcome, np.asarray(design, float), tuple(f"z{i}" for i in range(design.shape[1])))


def shared_file(name: str) -> Path:
    path = SHARED_DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not beside the project (../shared/data): real-data check skipped")
    return path


PYTHON = sys.executable
