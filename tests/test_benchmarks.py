"""Every benchmark runs to its end: at the smallest size, where nothing is measured."""

import subprocess

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.browser.conftest import CHROMIUM
from tests.conftest import PYTHON, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.stan]
BROWSER = {"browser", "anchored_slider", "app_million"}


# Each as `python -m benchmarks --tiny NAME` does it; a process of its own would import for longer than it runs.
EACH = """
import sys, traceback
from benchmarks.__main__ import main
for name in sys.argv[1:]:
    print(f"{name}:", flush=True)
    sys.argv[1:] = ["--tiny", name]
    try:
        print("status", main(), flush=True)
    except BaseException:
        print(traceback.format_exc(), flush=True)
    print("-----", flush=True)
"""


@pytest.fixture(scope="module")
def said():
    """What each benchmark printed."""
    done = subprocess.run(
        [PYTHON, "-c", EACH, *BENCHMARKS], cwd=ROOT, capture_output=True, text=True, timeout=1200
    )
    parts = [part.strip().partition(":\n") for part in done.stdout.split("-----\n")]
    return done, {name: text for name, _, text in parts}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_runs_through(name, said):
    done, texts = said
    assert name in texts, done.stderr
    text = texts[name]
    assert text.endswith("status 0"), text + done.stderr
    rows = [line for line in text.splitlines() if line.startswith("| ") and "path | median" not in line]
    assert rows, text
    assert "not as claimed" not in text
    if CHROMIUM is not None or name not in BROWSER:
        assert "skipped" not in text or name == "mixture_refit", text


def test_a_tiny_run_is_no_baseline():
    done = subprocess.run(
        [PYTHON, "-m", "benchmarks", "--tiny", "--write-baseline", "count"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "no baseline" in done.stderr
