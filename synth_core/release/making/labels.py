"""The label that a release is proposed under, where nobody has chosen one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from synth_core.release.ledger.balances import Entry
from synth_core.release.making.drawing import Request

_FIRST_WORDS = ("first", "second", "third")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """A label by its place in a series.

    Examples
    --------
    >>> [ordinal(number) for number in (1, 3, 4, 11, 22, 113)]
    ['first', 'third', '4th', '11th', '22nd', '113th']
    """
    if number <= len(_FIRST_WORDS):
        return _FIRST_WORDS[number - 1]
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else _ENDINGS.get(number % 10, 'th')}"


def free_label(entries: Iterable[Entry]) -> str:
    """The first label that no release of a series has which still counts."""
    taken = set(_labels(entries).values())
    return next(label for label in map(ordinal, count(1)) if label not in taken)


def proposed_label(request: Request, entries: Iterable[Entry]) -> str:
    """The label of the last release of this plan from this table, which is paid for; where there is none a free one.

    Parameters
    ----------
    request : Request
        Whose label does not matter.
    entries : iterable of Entry
        Of its series.
    """
    known = list(entries)
    mine = [label for release, label in _labels(known).items() if request.id_under(label) == release]
    return mine[-1] if mine else free_label(known)


def _labels(entries: Iterable[Entry]) -> dict[str, str]:
    """The labels of the releases that still count, by their ids, in the order in which they were charged."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.kind == "reserve":
            found[entry.release] = str(entry.details.get("label", ""))
        elif entry.kind == "cancel":
            found.pop(entry.release, None)
    return found
