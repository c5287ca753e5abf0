"""Options whose values hold the very signs that part them, such as a label with a comma: quotation marks keep them."""

from __future__ import annotations

import re

from synth_core.errors import InputError


def split_quoted(text: str, separator: str, times: int = 0) -> list[str]:
    """The parts of a text between separators that stand outside quotation marks; the marks stay.

    Parameters
    ----------
    times : int
        How often at most; 0 is as often as there is one.

    Examples
    --------
    >>> split_quoted('"Married, spouse present",Single', ",")
    ['"Married, spouse present"', 'Single']
    """
    if text.count('"') % 2:
        raise InputError(f"A quotation mark is not closed in: {text}")
    cuts = [m.start() for m in re.finditer(rf'"[^"]*"|{re.escape(separator)}', text) if m[0] == separator]
    ends = [*(cuts[:times] if times else cuts), len(text)]
    return [text[begin + 1 : end] for begin, end in zip([-1, *ends[:-1]], ends, strict=True)]


def unquoted(text: str) -> str:
    """A part without its quotation marks; a doubled one inside stands for itself.

    Examples
    --------
    >>> unquoted('"so-called ""other"" income"'), unquoted("Single")
    ('so-called "other" income', 'Single')
    """
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text
