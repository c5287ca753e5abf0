"""The documentation's pages inside the app: the same files, without links that lead out of it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!#|https?:)[^)]+\)")


def page_text(name: str) -> str:
    """A page of docs/ as Markdown; of a link to another file its words remain.

    Parameters
    ----------
    name : str
        File name in docs/.
    """
    return _LINK.sub(r"\1", (DOCS / name).read_text(encoding="utf-8"))
