"""docs/develop/extending.md does what it says: its blocks are applied to a copy of the project, as a reader would."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from synth_core.models import Options
from tests.conftest import PYTHON, ROOT, records_of
from tests.support.documents import SHELL, blocks

PAGE = ROOT / "docs" / "develop" / "extending.md"
MOST_LINES = 70
BLOCKS = blocks(PAGE)


def first(file):
    """The place of the block that is this file's content."""
    return next(i for i, block in enumerate(BLOCKS) if block.file == file)


LIKELIHOOD_FROM = first("synth_core/mechanisms/likelihoods/levelled.py")
MODEL_FROM = first("stan/weibull.stan")
EXAMPLES = {
    "scheme": BLOCKS[:LIKELIHOOD_FROM],
    "likelihood": BLOCKS[LIKELIHOOD_FROM:MODEL_FROM],
    "model": BLOCKS[MODEL_FROM:],
}


def commands_of(example):
    """The page's commands for an example, in order; those that set up were run before these tests."""
    lines = [
        line for block in EXAMPLES[example] if block.language in SHELL for line in block.text.splitlines()
    ]
    return [line.split() for line in lines if not line.startswith("make ")]


def run(project, *command):
    environment = os.environ | {"SYNTH_RESULTS_DIR": str(project / "results")}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def module_of(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project to which every block of the page has been applied, in order."""
    copy = tmp_path_factory.mktemp("fresh") / "project"
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache", "browser")
    for name in ("synth_core", "stan", "docs", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    for block in BLOCKS:
        if block.file is not None:
            (copy / block.file).write_text(block.text)
        elif block.language == "diff":
            (copy / "change.diff").write_text(block.text)
            run(copy, "git", "apply", "change.diff")
    return copy


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_shown_whole_in_less_than_70_lines(example):
    apart = ("--- a/tests/", "--- a/docs/")
    shown = [
        b for b in EXAMPLES[example] if b.file or (b.language == "diff" and not b.text.startswith(apart))
    ]
    added = []
    for block in shown:
        lines = block.text.splitlines()
        if block.language == "diff":
            lines = [line for line in lines if line.startswith("+") and not line.startswith("+++")]
        added += lines
    assert 20 < len(added) < MOST_LINES


def test_every_block_is_used():
    assert all(b.file or b.language in SHELL | {"diff"} for b in BLOCKS)


@pytest.mark.slow
@pytest.mark.stan
def test_the_scheme_gets_an_epsilon_in_every_composition(project):
    compare, *_ = commands_of("scheme")
    found = json.loads(run(project, *compare, "--format", "json"))["results"]
    by_name = {m["mechanism"]: m for m in found}
    assert list(by_name) == ["unweighted", "rank", "rank+reweighting", "rank/censored"]
    unweighted, rank = by_name["unweighted"], by_name["rank"]
    assert 0 < rank["epsilon"] < unweighted["epsilon"]
    assert by_name["rank/censored"]["epsilon"] == 5
    assert rank["guarantee"] == "asymptotic DP"
    assert by_name["rank/censored"]["guarantee"] == "ε-DP for given weights"


@pytest.mark.slow
@pytest.mark.stan
def test_the_likelihood_keeps_its_epsilon(project):
    compare, *checks = commands_of("likelihood")
    found = json.loads(run(project, *compare, "--format", "json", "--risk-reference", "example:beta"))[
        "results"
    ]
    assert [m["mechanism"] for m in found] == ["censored", "none/levelled", "count/levelled"]
    assert {m["guarantee"] for m in found} == {"ε-DP"}
    assert {m["epsilon"] for m in found} == {5}
    assert "clamped around a level" in " ".join(found[1]["explanation"])
    for check in checks:
        run(project, *check)


def test_the_model_is_the_density_it_names(project, rng):
    weibull = module_of(project / "synth_core/models/weibull.py").Weibull
    x, unit = rng.weibull(1.5, 40) * 60 + 1, 7.0
    model = weibull(records_of(x), Options(unit=unit))
    draws = {"shape": rng.uniform(0.5, 3, 5), "scale": rng.uniform(2, 20, 5)}
    known = stats.weibull_min(draws["shape"][:, None], scale=draws["scale"][:, None])
    np.testing.assert_allclose(model.log_lik(draws, slice(3, 30)), known.logpdf(x[3:30] / unit), rtol=1e-9)
    np.testing.assert_allclose(model.cdf(draws, x, slice(0, 40)), known.cdf(x / unit), rtol=1e-9)
    one = {name: values[0] for name, values in draws.items()}
    made = np.concatenate([model.predict(one, rng) for _ in range(50)]) / unit
    assert stats.kstest(made, stats.weibull_min(one["shape"], scale=one["scale"]).cdf).pvalue > 1e-6


@pytest.mark.slow  # compiles the program
@pytest.mark.stan
def test_the_model_runs_and_passes_its_target_test(project):
    compare, target, _ = commands_of("model")
    found = json.loads(run(project, *compare, "--format", "json"))["results"]
    assert [m["mechanism"] for m in found] == ["weighted", "censored_weighted", "range_truncated"]
    assert all(m["epsilon"] > 0 for m in found)
    assert "6 passed" in run(project, *target)


def test_formatting_holds(project):
    new = [str(project / b.file) for b in BLOCKS if b.file and b.language == "python"]
    ruff = str(Path(PYTHON).with_name("ruff"))
    for command in (["check"], ["format", "--check"]):
        run(project, ruff, *command, "--config", str(ROOT / "pyproject.toml"), *new)


@pytest.mark.long  # starts pytest twice
def test_the_checks_that_the_page_names_pass(project):
    _, example, checks = commands_of("scheme")
    assert "1 passed" in run(project, *example)
    assert commands_of("model")[-1] == [part for part in checks if "catalogue" not in part]
    run(project, *checks)
