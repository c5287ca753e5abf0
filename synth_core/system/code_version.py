"""The version of the code that made a stored number: a part of every key, so an entry of other code is absent."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

# What decides fits, weights, bounds and results. Figures, pages, reports, files and processes do not.
NUMBERS = ("mechanisms", "engine", "models", "data", "analysis", "system/limits.py")

# A scan and not `ast`, which takes a second at every start; a test holds it against `ast` for every file.
_PARTS = re.compile(
    r'''
      (?P<docstring> (?<! [(,] \n ) ^ [ \t]* [rR]? """ (?: (?! """ ) [^\\] | \\. )* """ [ \t]* $ )  # no argument
    | """ (?: [^\\] | \\. )*? """ | \'\'\' (?: [^\\] | \\. )*? \'\'\'
    | " (?: [^"\\\n] | \\. )* " | ' (?: [^'\\\n] | \\. )* '
    | (?P<comment> [ \t]* \# [^\n]* $ )
    ''',
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def without_words(source: str) -> str:
    """Python without its docstrings, comments and empty lines; what it computes is the same.

    Examples
    --------
    >>> without_words('x = "# no comment"  # a comment')
    'x = "# no comment"'
    """

    def kept(match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return ""
        return match[0] if match["docstring"] is None else match[0].split('"""')[0].rstrip("rR") + '""'

    return _EMPTY_LINES.sub("\n", _PARTS.sub(kept, source))


@functools.cache
def code_version(*more: str, package: Path = PACKAGE) -> str:
    """Hash of the code that decides stored numbers: Python without words, and the Stan programs.

    Parameters
    ----------
    more : str
        Rooms or files beside `NUMBERS` that an entry depends on, such as "experiments/audit".
    """
    digest = hashlib.sha256()
    for place in (*NUMBERS, *more):
        root = package / place
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            digest.update(str(path.relative_to(package)).encode())
            digest.update(without_words(path.read_text(encoding="utf-8")).encode())
    stan = package.parent / "stan"
    for path in sorted([*stan.rglob("*.stan"), *stan.rglob("*.hpp")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
