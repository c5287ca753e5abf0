"""The pages themselves: nothing is missing from an index, no link is dead, the layout is described as it is."""

import re
import struct
import subprocess
import sys

import pytest
import yaml

from synth_core.mechanisms.catalogue import MECHANISMS, guarantees
from tests.conftest import ROOT
from tests.support.documents import DOCS, PAGES, anchors, name_of

README = (ROOT / "README.md").read_text()
ROOMS = {path.parent.name for path in (ROOT / "synth_core").glob("*/__init__.py")}
README_LINES = 100
LARGEST_PICTURE = 300_000
PAPERS = 4


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_exist(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            leads_to = (page.parent / target).resolve() if target else page
            assert leads_to.exists(), target
            assert not anchor or anchor in anchors(leads_to), f"{target}#{anchor}"


def test_every_page_is_in_the_index_of_its_folder_and_every_index_in_the_readme():
    for folder in sorted(path for path in DOCS.iterdir() if list(path.glob("*.md"))):
        assert f"](docs/{folder.name}/README.md)" in README
        index = (folder / "README.md").read_text()
        assert [p.name for p in folder.glob("[!R]*.md") if f"]({p.name})" not in index] == []
    assert [name_of(page) for page in PAGES[1:] if page.parent == DOCS] == []


def test_the_readme_is_short():
    assert len(README.splitlines()) <= README_LINES


def test_the_rooms_are_described_as_they_are():
    picture = README[README.index("## How it is laid out") : README.index("## What is promised")]
    shown = [
        word for line in re.findall(r"^    (\w+(?:, \w+)*)  ", picture, re.M) for word in line.split(", ")
    ]
    assert sorted(shown) == sorted(ROOMS)
    table = (DOCS / "develop" / "architecture.md").read_text().partition("## Rooms")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == ROOMS | {"errors"}


def test_the_glossary_has_every_mechanism_and_guarantee():
    glossary = (DOCS / "guide" / "glossary.md").read_text().lower()
    headwords = " ".join(re.findall(r"^- \*\*(.+?)\*\*:", glossary, re.M))
    labels = {m.label.removesuffix(", final") for m in MECHANISMS.values()}
    labels |= {guarantee.label for guarantee in guarantees().values()}
    assert [label for label in labels if label.lower() not in headwords] == []


def test_every_environment_variable_is_described():
    read = set()
    for path in (ROOT / "synth_core").rglob("*.py"):
        read |= set(re.findall(r"\bSYNTH_[A-Z_]+\b", path.read_text()))
    page = (DOCS / "operate" / "environment.md").read_text()
    assert {name for name in read if f"| `{name}` |" not in page} == set()


def test_the_picture_is_of_the_window_it_says_and_not_heavy():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    content = (ROOT / picture).read_bytes()
    assert len(content) < LARGEST_PICTURE
    assert struct.unpack(">II", content[16:24]) == (1440, 900)


def test_the_citation_and_the_pages_name_the_same_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    sources = (DOCS / "methods" / "sources.md").read_text()
    assert len(citation["references"]) == PAPERS
    for paper in citation["references"]:
        for text in (README, sources):
            flat = " ".join(text.split())
            assert paper["title"] in flat
            assert str(paper.get("year", "")) in flat


@pytest.mark.slow
def test_help_of_every_command_is_whole():
    done = subprocess.run(
        [sys.executable, "-m", "synth_core", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    commands = re.findall(r"^    (\w[\w-]*) ", done.stdout, re.M)
    page = (DOCS / "guide" / "command-line.md").read_text()
    assert {c for c in commands if f"synth_core {c}" not in page} <= {"setup"}
