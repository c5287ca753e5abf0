"""The documentation's pages inside the app: the same files, without links that lead out of it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!#|https?:)[^)]+\)")
_LANGUAGE = re.compile(
    r"^```\w+$(?=\n[^`])", re.M
)  # the colours of highlighted code have too little contrast


def page_text(name: str) -> str:
    """A page of docs/ as Markdown; of a link to another file its words remain, and code is not coloured.

    Parameters
    ----------
    name : str
        File name in docs/.
    """
    text = (DOCS / name).read_text(encoding="utf-8")
    return _LANGUAGE.sub("```text", _LINK.sub(r"\1", text))
