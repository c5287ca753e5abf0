"""`make docs`: what it runs makes a page of every module, without a warning."""

import shlex
import subprocess

import pytest

from tests.conftest import ROOT


@pytest.mark.long
def test_the_reference_is_built_without_warnings(tmp_path):
    shown = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "docs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (line,) = [line for line in shown.splitlines() if " pdoc " in line]
    command = shlex.split(line.removeprefix("@"))
    command[command.index("--output-directory") + 1] = str(tmp_path)
    # Sources and the search index are most of the work, and cannot fail by a docstring.
    done = subprocess.run(
        [*command, "--no-show-source", "--no-search"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    modules = {path.relative_to(ROOT).with_suffix("") for path in (ROOT / "synth_core").rglob("*.py")}
    for module in modules:
        name = module.parent if module.name == "__init__" else module
        if module.name != "__main__":
            assert (tmp_path / name).with_suffix(".html").is_file(), module
    page = (tmp_path / "synth_core" / "mechanisms" / "weights.html").read_text()
    assert "Parameters" in page
    assert "shape (n_records,)" in page
