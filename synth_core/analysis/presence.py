"""Whether a value is missing, as a sensitive variable of its own."""

from __future__ import annotations

PRESENCE = ("no", "yes")  # categories of "is it missing?"


def missing_name(name: str) -> str:
    """The column that says whether a variable is missing."""
    return f"{name} is missing"
