"""The layers of pyproject.toml hold, and each outside library has one door."""

import ast
import functools
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PYTHON, ROOT

PACKAGE = ROOT / "synth_core"
FILES = sorted(PACKAGE.rglob("*.py"))
# Where a library may be imported; a worker imports what is slow before its first task.
DOORS = {
    "streamlit": ("ui",),
    "starlette": ("ui",),
    "plotly": ("ui", "figures/briefing/web_page.py"),
    "joblib": ("system/backend",),
    "distributed": ("system/backend",),
    "dask": ("system/backend",),
    "cmdstanpy": ("engine", "models/own", "jobs/warm_up.py"),
    "formulaic": ("data/design.py", "jobs/warm_up.py"),
    "arviz_stats": ("engine/sampling.py", "analysis/preview.py", "jobs/warm_up.py"),
    "pyreadstat": ("data/binary_file.py",),
    "pptx": ("figures/briefing/powerpoint.py",),
    "randomgen": ("mechanisms/randomness.py",),
    "opendp": ("mechanisms/noise.py", "mechanisms/composition.py", "experiments/rivals"),
    "mbi": ("experiments/rivals/graphical.py",),
    "polars": ("experiments/rivals/graphical.py",),
    "jax": ("experiments/rivals/graphical.py",),
}
FORMULAS = (
    "mechanisms/weights.py",
    "mechanisms/bounds.py",
    "analysis/utility.py",
    "analysis/identification_risk.py",
)
FORMULAS_IMPORT = {"__future__", "numpy", "scipy", "collections", "dataclasses"}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> set[str]:
    """The outer packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_layers_hold_and_no_room_has_a_circle():
    command = [Path(PYTHON).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_each_library_has_one_door():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {library}"
        for path in FILES
        for library in imported(path) & DOORS.keys()
        if not str(path.relative_to(PACKAGE)).startswith(DOORS[library])
    ]
    assert wrong == []


def test_formulas_need_numpy_only():
    wrong = {name: more for name in FORMULAS if (more := imported(PACKAGE / name) - FORMULAS_IMPORT)}
    assert wrong == {}


def test_every_file_says_what_it_is_for_and_none_reads_pickles():
    silent = [str(path) for path in FILES if not ast.get_docstring(tree_of(path))]
    assert silent == []
    assert [str(path) for path in FILES if "pickle" in imported(path)] == []


def test_the_root_holds_rooms_and_no_loose_module():
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py"}
