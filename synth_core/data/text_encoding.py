"""The encoding of a text file: which it is, and bytes that are none of it."""

from __future__ import annotations

import re

from synth_core.errors import InputError

ENCODINGS = (
    "utf-8",
    "cp1252",
    "latin-1",
    "utf-16",
    "utf-32",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1257",
    "cp437",
    "cp850",
    "iso8859-2",
    "iso8859-15",
    "koi8-r",
    "mac-roman",
    "gb18030",
    "big5",
    "shift-jis",
    "euc-jp",
    "euc-kr",
)


def decode(content: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """The text of a file and its encoding, found out where none is given; raises InputError."""
    if encoding is None and content[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        encoding = "utf-32"
    if encoding in (None, "utf-16"):
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            encoding = "utf-16"
        elif unmarked := _unmarked_utf16(content[:8192]):
            return decode(unmarked + content, name, "utf-16")
    for candidate in (encoding,) if encoding else ("utf-8", "cp1252", "latin-1"):
        try:
            text = content.decode("utf-8-sig" if candidate == "utf-8" else candidate)
            if (place := text.find("\0")) >= 0:
                line = text.count("\n", 0, place) + 1
                raise InputError(
                    f"The file {name} is not text: it contains binary data (first in line {line:,})."
                )
            return text, candidate
        except (UnicodeError, LookupError) as error:
            if encoding is None and isinstance(error, UnicodeDecodeError):
                _check_stray_bytes(content, name, error.start)
    raise InputError(f"The file {name} cannot be decoded as {encoding}; choose another encoding.")


def _unmarked_utf16(start: bytes) -> bytes:
    """The mark of byte order that a file in UTF-16 lacks; empty for another encoding.

    Of the two bytes of a digit, a delimiter or a line end one is zero, and it is always the same one.
    """
    first, second = start[::2].count(0), start[1::2].count(0)
    if min(first, second) > 0 or 8 * max(first, second) < len(start):
        return b""
    return b"\xfe\xff" if first else b"\xff\xfe"


def _check_stray_bytes(content: bytes, name: str, first: int) -> None:
    """Refuse a text in UTF-8 with a few bytes of another encoding, in which all its letters would become others.

    Parameters
    ----------
    first : int
        Place of the first of these bytes.
    """
    text = content.decode("utf-8", errors="surrogateescape")
    letters = re.findall(r"[^\x00-\x7f]", text)
    stray = sum("\udc80" <= each <= "\udcff" for each in letters)
    if len(letters) - stray > stray:
        line = content.count(b"\n", 0, first) + 1
        raise InputError(
            f"Line {line:,} of {name} holds a byte that is none of UTF-8, in which the rest of the file is written. "
            "Save the file in one encoding, or say which it is (--encoding; in the app, How to read a text file)."
        )
