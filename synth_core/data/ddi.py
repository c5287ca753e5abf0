"""Entries of a codebook from DDI-Codebook XML (ddialliance.org): variables, their categories, what means missing."""

from __future__ import annotations

import math
from typing import Any
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from synth_core.errors import InputError

LONGEST_RANGE = 1_000  # values that a range of missing ones may stand for


def ddi_entries(content: bytes, name: str) -> list[dict[str, Any]]:
    """An entry for each variable that the file describes; raises InputError where it describes none."""
    try:
        root = fromstring(content, forbid_dtd=True)
    except Exception:  # a parser's message may quote the file
        raise InputError(f"The codebook {name} is no XML that can be read here.") from None
    entries = [_entry(each, name) for each in root.iter() if _tag(each) == "var"]
    if not entries:
        raise InputError(f"The codebook {name} describes no variable: it has no element 'var'.")
    return entries


def _entry(variable: Element, name: str) -> dict[str, Any]:
    codes: list[tuple[str, str]] = []  # each with its label; one that stands twice is refused
    missing = []
    for category in _children(variable, "catgry"):
        code = "".join(_text(value) for value in _children(category, "catValu"))
        if category.get("missing", "N").upper() in ("Y", "YES", "TRUE", "1"):
            missing.append(code)
        elif code:
            names = [_text(label) for label in _children(category, "labl")]  # in several languages
            codes.append((code, next(filter(None, names), code)))
    for invalid in _children(variable, "invalrng"):
        missing += [item.get("VALUE", "").strip() for item in _children(invalid, "item")]
        for reach in _children(invalid, "range"):
            missing += _whole_numbers(reach, variable.get("name", ""), name)
    numeric = any(each.get("type") == "numeric" for each in _children(variable, "varFormat"))
    continuous = variable.get("intrvl") == "contin"
    entry: dict[str, Any] = {
        "column": variable.get("name", "").strip(),
        "kind": "number" if numeric or continuous else "category",
        "missing": list(dict.fromkeys(text for text in missing if text)),
    }
    if codes and not continuous:
        entry |= {
            "kind": "category",
            "categories": [code for code, _ in codes],
            "labels": [label for _, label in codes],
        }
    ranges = [reach for valid in _children(variable, "valrng") for reach in _children(valid, "range")]
    lowest, highest = ([reach.get(end) for reach in ranges] for end in ("min", "max"))
    if ranges and all(lowest) and all(highest) and entry["kind"] == "number":
        entry["bounds"] = (min(lowest, key=_number), max(highest, key=_number))
    if variable.get("wgt") == "wgt":
        entry["role"] = "weight"
    return entry


def _whole_numbers(reach: Element, column: str, name: str) -> list[str]:
    """The whole numbers of a range of values that mean missing; raises InputError for one that cannot be listed."""
    low, high = (_number(reach.get(end)) for end in ("min", "max"))
    if not (low % 1 == high % 1 == 0 and 0 <= high - low < LONGEST_RANGE):
        raise InputError(
            f"In the codebook {name} the entry of column '{column}' is wrong: a range of values that mean missing has "
            f"two ends (min, max) that are whole numbers, and at most {LONGEST_RANGE:,} between them."
        )
    return [str(each) for each in range(int(low), int(high) + 1)]


def _number(text: str | None) -> float:
    """An end of a range; NaN if it is no number."""
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _tag(element: Element) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _children(element: Element, tag: str) -> list[Element]:
    return [child for child in element if _tag(child) == tag]


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())
