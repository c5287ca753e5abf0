"""How often a program is asked how it was built."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth_core.engine.executable import Executable


def _program(path: Path, answer: str) -> Path:
    path.write_text(f'#!/bin/sh\necho asked >> "{path}.log"\n{answer}\n')
    path.chmod(0o700)
    return path


@pytest.mark.parametrize(
    ("answer", "told", "asked"),
    [("echo 'STAN_THREADS = false'", {"STAN_THREADS": "false"}, 1), ("exit 1", {}, 2)],
)
def test_a_program_is_asked_until_it_answers(tmp_path: Path, answer, told, asked):
    program = _program(tmp_path / "program", answer)
    found = [Executable(exe_file=str(program)).exe_info() for _ in range(2)]
    assert found == [told, told]
    assert len(Path(f"{program}.log").read_text().split()) == asked
    found[0]["STAN_THREADS"] = "another"  # the caller's own
    assert Executable(exe_file=str(program)).exe_info() == told
