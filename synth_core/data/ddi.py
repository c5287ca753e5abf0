"""Entries of a codebook from DDI-Codebook XML (ddialliance.org): variables, their categories, what means missing."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from synth_core.errors import InputError


def ddi_entries(content: bytes, name: str) -> list[dict[str, Any]]:
    """An entry for each variable that the file describes; raises InputError where it describes none."""
    try:
        root = fromstring(content, forbid_dtd=True)
    except Exception:  # a parser's message may quote the file
        raise InputError(f"The codebook {name} is no XML that can be read here.") from None
    entries = [_entry(each) for each in root.iter() if _tag(each) == "var"]
    if not entries:
        raise InputError(f"The codebook {name} describes no variable: it has no element 'var'.")
    return entries


def _entry(variable: Element) -> dict[str, Any]:
    codes: dict[str, str] = {}
    missing = []
    for category in _children(variable, "catgry"):
        code = "".join(_text(value) for value in _children(category, "catValu"))
        if category.get("missing", "N").upper() == "Y":
            missing.append(code)
        elif code:
            codes[code] = "".join(_text(label) for label in _children(category, "labl")) or code
    for invalid in _children(variable, "invalrng"):
        missing += [item.get("VALUE", "").strip() for item in _children(invalid, "item")]
    numeric = any(each.get("type") == "numeric" for each in _children(variable, "varFormat"))
    continuous = variable.get("intrvl") == "contin"
    entry: dict[str, Any] = {
        "column": variable.get("name", ""),
        "kind": "number" if numeric or continuous else "category",
        "missing": list(dict.fromkeys(text for text in missing if text)),
    }
    if codes and not continuous:
        entry |= {"kind": "category", "categories": list(codes), "labels": list(codes.values())}
    for valid in _children(variable, "valrng"):
        for reach in _children(valid, "range"):
            if reach.get("min") and reach.get("max") and entry["kind"] == "number":
                entry["bounds"] = (reach.get("min"), reach.get("max"))
    if variable.get("wgt") == "wgt":
        entry["role"] = "weight"
    return entry


def _tag(element: Element) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _children(element: Element, tag: str) -> list[Element]:
    return [child for child in element if _tag(child) == tag]


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())
