"""What a codebook declares of a sensitive variable, as settings of its model: categories and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from synth_core.data.codebook import Codebook, declared_categories
from synth_core.data.rules import rules_of
from synth_core.models import OF_CATEGORIES, family

OF_KINDS = {"category": OF_CATEGORIES, "ordered": "ordered"}  # kinds, and the models of their categories


def declared_model(codebook: Codebook, name: str) -> dict[str, str]:
    """The model of a variable whose categories are declared; empty of any other."""
    entry = codebook.get(name)
    if entry is None or entry.kind not in OF_KINDS or len(declared_categories(entry)) < 2:
        return {}
    return {"model": OF_KINDS[entry.kind]}


def declared_settings(codebook: Codebook, name: str, model: str) -> dict[str, Any]:
    """Categories of a model of categories, bounds of any other, as the codebook declares them."""
    entry = codebook.get(name)
    if entry is None:
        return {}
    if "categories" not in family(model).uses:
        return {} if entry.bounds is None else {"bounds": entry.bounds}
    categories = declared_categories(entry)
    return {"categories": categories} if len(categories) > 1 else {}


def declared_rules(codebook: Codebook, names: Iterable[str], given: Iterable[str] = ()) -> tuple[str, ...]:
    """The rules of these variables, as the codebook declares them and as they were given beside it."""
    declared = [rule for entry in codebook.columns for rule in entry.rules]
    return rules_of((*declared, *given), names)
