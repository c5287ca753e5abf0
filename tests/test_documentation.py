"""The pages themselves: nothing is missing from the index, no link is dead, the layout is described as it is."""

import re
import struct
import subprocess
import sys

import pytest
import yaml

from tests.conftest import ROOT
from tests.documents import PAGES

README = (ROOT / "README.md").read_text()
LARGEST_PICTURE = 300_000
PAPERS = 4


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files_that_exist(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda p: p.name)
def test_every_page_is_in_the_readme_s_index(page):
    index = README[README.index("## Documentation") : README.index("## Architecture")]
    assert f"({page.relative_to(ROOT)})" in index


def test_the_architecture_names_each_part_once():
    table = README[README.index("## Architecture") : README.index("## Limits")]
    named = re.findall(r"`(?:synth_core/)?([\w/]+?)(?:\.py)?/?`", "\n".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("|")))  # fmt: skip
    parts = {
        p.stem for p in (ROOT / "synth_core").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    parts -= {"__init__", "__main__"}
    assert parts - set(named) == set()
    assert sorted(n for n in named if named.count(n) > 1) == []
    places = parts | {"app", "pages", "stan", "benchmarks"}
    assert set(named) - places == set()


def test_every_environment_variable_is_described():
    read = set()
    for path in (ROOT / "synth_core").rglob("*.py"):
        read |= set(re.findall(r"\bSYNTH_[A-Z_]+\b", path.read_text()))
    guide = (ROOT / "docs" / "deploy.md").read_text()
    assert {name for name in read if f"| `{name}` |" not in guide} == set()


def test_the_picture_is_of_the_window_it_says_and_not_heavy():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    content = (ROOT / picture).read_bytes()
    assert len(content) < LARGEST_PICTURE
    assert struct.unpack(">II", content[16:24]) == (1440, 900)


def test_the_citation_and_the_pages_name_the_same_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    methods = (ROOT / "docs" / "methods.md").read_text()
    assert len(citation["references"]) == PAPERS
    for paper in citation["references"]:
        for text in (README, methods):
            flat = " ".join(text.split())
            assert paper["title"] in flat
            assert str(paper.get("year", "")) in flat


def test_help_of_every_command_is_whole():
    done = subprocess.run(
        [sys.executable, "-m", "synth_core", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    commands = re.findall(r"^    (\w[\w-]*) ", done.stdout, re.M)
    usage = (ROOT / "docs" / "usage.md").read_text()
    assert {c for c in commands if f"synth_core {c}" not in usage + README} <= {"setup"}
