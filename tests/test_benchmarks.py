"""Every benchmark runs to its end: at the smallest size, where nothing is measured."""

import subprocess

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.browser.conftest import CHROMIUM
from tests.conftest import PYTHON, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.stan]
LONG = {"mixture_gradient"}  # two minutes of compiling
BROWSER = {"browser", "anchored_slider", "app_million"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in BENCHMARKS]
)
def test_each_benchmark_runs_through(name):
    done = subprocess.run(
        [PYTHON, "-m", "benchmarks", "--tiny", name], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [
        line for line in done.stdout.splitlines() if line.startswith("| ") and "path | median" not in line
    ]
    assert rows, done.stdout
    assert "not as claimed" not in done.stdout
    if CHROMIUM is not None or name not in BROWSER:
        assert "skipped" not in done.stdout or name == "mixture_refit", done.stdout


def test_a_tiny_run_is_no_baseline():
    done = subprocess.run(
        [PYTHON, "-m", "benchmarks", "--tiny", "--write-baseline", "count"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "no baseline" in done.stderr
