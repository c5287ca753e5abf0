"""No sentence of the program shows an option of the command line in the app."""

import ast
import re
from pathlib import Path

from synth_core.analysis.wording.on_screen import on_screen
from tests.conftest import ROOT

OF_COMMANDS = ("cli", "replication", "toolchain")  # whose readers type options
# What only a command can ask for.
ASKED_BY_COMMANDS = {"division.py", "study.py", "baseline.py", "backend/__init__.py"}


def _text(node):
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return "x"


def sentences():
    """What an error or an advice says, file by file; what is put in stands as x."""
    for file in sorted((ROOT / "synth_core").rglob("*.py")):
        if any(part in OF_COMMANDS for part in file.parts) or any(
            str(file).endswith(name) for name in ASKED_BY_COMMANDS
        ):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield from ((file, _text(each)) for each in node.exc.args)


def test_no_error_names_an_option_in_the_app():
    found, named = [], 0
    for file, text in sentences():
        named += "--" in text
        if re.search(r"--[a-z]|[a-z]=…", on_screen(text)):
            found.append((Path(file).name, on_screen(text)))
    assert found == []
    assert named > 20  # the scan sees them


def test_what_has_no_option_stays_as_it_is():
    for text in ("A value (first in row 3) is above 1.", "Rows a--b (see --)", "The column (x) -- is kept."):
        assert on_screen(text) == text
