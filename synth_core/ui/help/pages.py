"""The documentation inside the app: the same files, without links that lead out of it."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

DOCS = Path(__file__).parents[3] / "docs"
GUIDE, GLOSSARY, METHODS, OWN = "Guide", "Glossary", "Methods", "Own programs"
SCREENS = {
    "Start here": "README.md",
    "Data": "data.md",
    "Compare": "compare.md",
    "Find settings": "find-settings.md",
    "Robustness": "robustness.md",
    "Release": "release.md",
    "Command line": "command-line.md",
}
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!#|https?:)[^)]+\)")
_LANGUAGE = re.compile(
    r"^```\w+$(?=\n[^`])", re.M
)  # the colours of highlighted code have too little contrast


def choose_section() -> str:
    """What is to be read, kept in the page's address."""
    return str(
        st.segmented_control(
            "Help on",
            [GUIDE, GLOSSARY, METHODS, OWN],
            default=GUIDE,
            required=True,
            key="section",
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
        )
    )


def show(section: str) -> None:
    """The guide by screen, the glossary, or the methods."""
    with st.container(width=900):
        if section == METHODS:
            st.markdown(methods_text())
        elif section == GLOSSARY:
            st.markdown(page_text("guide/glossary.md"))
        else:
            screen = st.pills(
                "The guide to",
                list(SCREENS),
                default="Start here",
                required=True,
                key="screen",
                bind="query-params",
            )
            st.markdown(page_text(f"guide/{SCREENS[str(screen)]}"))


def page_text(name: str) -> str:
    """A page of docs/ as Markdown; of a link to another file its words remain, and code is not coloured.

    Parameters
    ----------
    name : str
        Path below docs/.
    """
    return _shown((DOCS / name).read_text(encoding="utf-8"))


def methods_text() -> str:
    """All pages of docs/methods as one, in the order of their index; links between them lead to their headings."""
    folder = DOCS / "methods"
    index = (folder / "README.md").read_text(encoding="utf-8")
    names = dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)\)", index))
    pages = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    text = "\n\n".join([index, *(re.sub(r"^#", "##", page, flags=re.M) for page in pages.values())])
    for name, page in pages.items():
        title = page.partition("\n")[0].lstrip("# ")
        text = text.replace(f"]({name}#", "](#").replace(
            f"]({name})", f"](#{title.lower().replace(' ', '-')})"
        )
    return _shown(text)


def _shown(text: str) -> str:
    return _LANGUAGE.sub("```text", _LINK.sub(r"\1", text))
