"""Characters of strangers' names that hide something, or turn round what stands beside them."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, halves of pairs, separators of lines
_EMBEDDING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_WIDTH = frozenset("\u200b\ufeff")  # a space of no width, and a mark of byte order within a text
_ALIKE = {ord(c): plain for plain, others in (("-", "−"), ("'", "’‘ʼ´`′"), ('"', "“”„")) for c in others}
# Capital and small letters of Greek and Cyrillic that look as those of Latin do.
_LETTERS_ALIKE = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕЅІЈКМНОРСТУХаеорсухѕіј", "ABEZHIKMNOPTYXoABESIJKMHOPCTYXaeopcyxsij"
)
_LINES = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_RIGHT_TO_LEFT = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_RIGHT_TO_LEFT}](?:[\\W\\d_]*[{_RIGHT_TO_LEFT}]+)*")
_ISOLATE, _END = "\u2068", "\u2069"


def _is_unseen(character: str) -> bool:
    return character in _EMBEDDING | _NO_WIDTH or unicodedata.category(character) in _UNSEEN


def seen(text: str) -> str:
    """A text as it looks: of letters with one spelling and of one alphabet, single spaces, one dash, no unseen marks.

    Examples
    --------
    >>> seen("Ko\\u0308ln") == seen("Köln"), seen("A\\u00a0b") == seen("A  b"), seen("A\\u200e") == seen("A")
    (True, True, True)
    >>> seen("0–14") == seen("0-14"), seen("O’Neil") == seen("O'Neil"), seen("A") == seen("a")
    (True, True, False)
    >>> seen("М") == seen("M"), seen("СОРТ") == seen("COPT")  # those of Cyrillic first
    (True, True)
    """
    shown = "".join(
        "-" if unicodedata.category(character) == "Pd" else character
        for character in text.translate(_ALIKE).translate(_LETTERS_ALIKE)
        if unicodedata.category(character) != "Cf"
    )
    return unicodedata.normalize("NFC", " ".join(shown.split()))


def unseen(text: str) -> str:
    """The first character that cannot be seen or that turns the text after it round, as "U+202E"; or empty.

    Marks of direction and joiners, which names of many languages need, are none of these.

    Examples
    --------
    >>> unseen("pay\\u202e"), unseen("größe 1"), unseen("a\\x00b")
    ('U+202E', '', 'U+0000')
    """
    return next((f"U+{ord(c):04X}" for c in text if _is_unseen(c)), "")


def sentence(words: str) -> str:
    """Words that begin a sentence: with a capital, but for a symbol such as ε, and the rest as it is.

    Examples
    --------
    >>> sentence("the mean"), sentence("ε is exact"), sentence("ECDF of x"), sentence("")
    ('The mean', 'ε is exact', 'ECDF of x', '')
    """
    return words[:1].upper() + words[1:] if words[:1].isascii() else words


def visible(text: str) -> str:
    """The text with U+FFFD for what cannot be seen; line ends and tabs stay.

    Examples
    --------
    >>> visible("a\\x00b\\n")
    'a\ufffdb\\n'
    """
    return "".join("\ufffd" if _is_unseen(c) and c not in "\n\t" else c for c in text)


def one_line(text: str) -> str:
    """The text with a space for every line end and tab, such as a workbook has in its header.

    Examples
    --------
    >>> one_line("pay\\nper month")
    'pay per month'
    """
    return _LINES.sub(" ", text)


def isolated(text: str) -> str:
    """The text with each part that is written from right to left held apart: what follows it stays in its place.

    Examples
    --------
    >>> isolated("of \\u05d0\\u05d1: 3") == "of \\u2068\\u05d0\\u05d1\\u2069: 3"
    True
    """
    return _RUN.sub(lambda match: f"{_ISOLATE}{match[0]}{_END}", text)
