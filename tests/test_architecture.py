"""Layers are what may import what; this reads the imports and holds it."""

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "synth_core"
FILES = sorted(PACKAGE.rglob("*.py"))
# Lower layers first: a file imports its own layer or lower ones.
LAYERS = [
    {
        "errors",
        "limits",
        "storage",
        "weights",
        "bounds",
        "extremes",
        "utility",
        "guarantees",
        "risk",
        "solve",
    },
    {"schemes"},
    {
        "cache",
        "working",
        "readers",
        "table",
        "models",
        "design",
        "examples",
        "toolchain",
        "ranges",
        "histogram",
        "points",
    },
    {"sampling", "settings", "stopped"},
    {"contract_steps"},
    {"contract"},
    {"fits", "result", "keys"},
    {"riskmap"},
    {"weighting", "matching", "preview"},
    {"comparison", "model_check"},
    {"summaries", "reporting", "explore"},
    {"release"},
    {"figures", "replicate", "guard"},
    {"backend"},
    {"studies", "audit"},
    {"worker", "tasks"},
    {"jobs", "lanes"},
    {"cli", "ui"},
]
NUMPY_ONLY = {"weights", "bounds", "utility", "risk"}
DOORS = {
    "streamlit": {"ui"},
    "joblib": {"backend"},
    "distributed": {"backend"},
    "dask": {"backend"},
    "cmdstanpy": {"sampling", "toolchain", "guard"},
    "plotly": {"ui"},
    "formulaic": {"design", "guard"},
    "arviz_stats": {"sampling", "preview", "guard"},
    "pyreadstat": {"readers"},
    "starlette": {"ui"},
    "opendp": {"histogram"},
}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    mine = room(path)
    if mine in ("__init__", "__main__"):
        return
    level = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "synth_core" and len(parts) > 1 and parts[1] in level:
            assert level[parts[1]] <= level[mine], f"{path.name} imports {name}"
        if parts[0] in DOORS:
            assert mine in DOORS[parts[0]], f"{path.name} imports {parts[0]}"
        if mine in NUMPY_ONLY:
            assert parts[0] in {"__future__", "numpy", "scipy", "collections", "dataclasses"}, name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_small_and_say_what_for(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 320
    assert ast.get_docstring(ast.parse(text))
    assert "import pickle" not in text
