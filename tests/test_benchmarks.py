"""Every benchmark runs to its end: at the smallest size, where nothing is measured."""

import os
import subprocess
from unittest import mock

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from tests.browser.conftest import CHROMIUM
from tests.conftest import PYTHON, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.stan]
BROWSER = (
    "browser",
    "anchored_slider",
    "measured_slider",
    "app_million",
)  # of which the first does what all do
LONG = {"mixture_gradient", "mixture_refit", *BROWSER[1:]}  # half a minute to two


def names(which):
    return [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in which]


def check(told, name=""):
    rows = [line for line in told.splitlines() if line.startswith("| ") and "path | median" not in line]
    assert rows, told
    assert "not as claimed" not in told
    assert "skipped" not in told or name == "mixture_refit", told


@pytest.mark.parametrize("name", names(n for n in BENCHMARKS if n not in BROWSER))
def test_each_benchmark_runs_through(name, capsys):
    """In this process, as a new one imports for longer than most of them run."""
    with mock.patch.dict(os.environ):  # what is set here is for no other test
        status = main(["--tiny", name])
    told = capsys.readouterr().out
    assert status == 0, told
    check(told, name)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium not found")
@pytest.mark.parametrize("name", names(BROWSER))
def test_each_benchmark_of_a_browser_runs_through(name):
    done = subprocess.run(
        [PYTHON, "-m", "benchmarks", "--tiny", name], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check(done.stdout)


def test_a_tiny_run_is_no_baseline(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--tiny", "--write-baseline", "count"])
    assert ended.value.code == 2
    assert "no baseline" in capsys.readouterr().err
