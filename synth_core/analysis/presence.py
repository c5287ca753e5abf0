"""Whether a value is missing, as a sensitive variable of its own."""

from __future__ import annotations

PRESENCE = ("no", "yes")  # categories of "is it missing?"


def missing_name(name: str) -> str:
    """The column that says whether a variable is missing."""
    return f"{name} is missing"


def of_presence(outcome: str, categories: tuple[str, ...] | None) -> bool:
    """Whether a sensitive variable is whether another one is missing."""
    return categories == PRESENCE and outcome.endswith(missing_name(""))
