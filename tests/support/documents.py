"""The documentation as data: its pages, their fenced blocks, and the commands in them."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
SHELL = {"sh", "bash", "console"}
_BLOCK = re.compile(
    r"^(?:`(?P<file>[\w./-]+)`[^\n]*:\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block; `file` is the one named in code on a line of its own before it."""

    page: str
    line: int
    language: str
    text: str
    file: str | None

    @property
    def commands(self) -> str:
        """What a shell is to run; of a console, the lines behind its prompt."""
        if self.language != "console":
            return self.text
        return "".join(line[2:] + "\n" for line in self.text.splitlines() if line.startswith("$ "))


def name_of(page: Path) -> str:
    """A page's path in the project."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(
            name_of(page),
            text.count("\n", 0, match.start("text")),
            match["language"],
            match["text"],
            match["file"],
        )
        for match in _BLOCK.finditer(text)
    ]


SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# An indented block that looks like a shell's, and so escapes the tests of commands.
HIDDEN = re.compile(
    r"^ {4,}(?:[A-Z_]+=\S+ )*(?:\.venv/bin/\S+|python3?|pip|make|docker|git|curl|sudo|export) ", re.M
)


def shell_blocks() -> list[Block]:
    """Every block of commands of every page."""
    return [block for page in PAGES for block in blocks(page) if block.language in SHELL]


def anchors(page: Path) -> set[str]:
    """What a link may name behind #: the headings, as GitHub and Streamlit write them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
