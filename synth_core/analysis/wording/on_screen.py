"""Sentences of both the command line and the app, as the app says them: no names of options, rules with their signs."""

from __future__ import annotations

import re

from synth_core.data.rules import typeset

_REPLACED = (
    (re.compile(r"\(--[a-z][\w-]*; in the app, "), "("),
    (re.compile(r" ?\((?:on the command line\b|--[a-z])[^()]*\)"), ""),
    (re.compile(r" ?\([a-z_]+=…\)"), ""),
    (re.compile(r"\bBlock (?=')"), ""),
    (re.compile(r"[,;]? ?(?:or |on the command line )?--[a-z][\w-]*(?: [A-Z]+)*(?=\))"), ""),
)


def on_screen(text: str) -> str:
    """A sentence without the options that stand in its parentheses, its rules typeset.

    Examples
    --------
    >>> on_screen("Declare the categories of 'x', two or more (--categories). Not from the table.")
    "Declare the categories of 'x', two or more. Not from the table."
    >>> on_screen("Name them (page Data, or --missing N); a guess (on the left, on the command line --guess A B).")
    'Name them (page Data); a guess (on the left).'
    >>> on_screen("Blocks (--block; in the app, several sensitive variables on the page Data).")
    'Blocks (several sensitive variables on the page Data).'
    >>> on_screen("Block 'sex': declare its categories, two or more (categories=…).")
    "'sex': declare its categories, two or more."
    >>> on_screen("The table breaks the rule AGE < 15 <-> PAY missing in 2 rows.")
    'The table breaks the rule AGE < 15 ↔ PAY missing in 2 rows.'
    >>> on_screen("There is no column 'before -> after'.")
    "There is no column 'before -> after'."
    """
    for pattern, words in _REPLACED:
        text = pattern.sub(words, text)
    return typeset(text) if "rule " in text else text  # an arrow may be part of a name
