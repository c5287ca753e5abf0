"""What a codebook declares of a sensitive variable, as settings of its model: categories and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from synth_core.data.codebook import Codebook, Entry
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models import OF_CATEGORIES, family

OF_KINDS = {"category": OF_CATEGORIES, "ordered": "ordered"}  # kinds, and the models of their categories


def declared_model(codebook: Codebook, name: str) -> dict[str, str]:
    """The model of a variable whose categories are declared; empty of any other."""
    entry = codebook.get(name)
    if entry is None or entry.kind not in OF_KINDS or len(declared_categories(entry)) < 2:
        return {}
    return {"model": OF_KINDS[entry.kind]}


def declared_settings(
    codebook: Codebook, name: str, model: str, mechanisms: Iterable[str] = ()
) -> dict[str, Any]:
    """Categories and bounds that a model, or one of the mechanisms, asks for and that the codebook declares.

    Bounds that nothing asks for are left out: a release would be held against them.
    """
    entry = codebook.get(name)
    if entry is None:
        return {}
    found: dict[str, Any] = {}
    uses = family(model).uses
    if "categories" in uses and len(declared_categories(entry)) > 1:
        found["categories"] = declared_categories(entry)
    bounded = "bounds" in uses or any(find_mechanism(key).likelihood.needs_bounds for key in mechanisms)
    if entry.bounds is not None and bounded:
        found["bounds"] = entry.bounds
    return found


def declared_categories(entry: Entry) -> tuple[str, ...]:
    """The declared categories that are values, in their order."""
    return tuple(category for category in entry.categories if category not in entry.missing)
