"""A field of the settings: its default, its rule, and what help and sentences say of it."""

from __future__ import annotations

from typing import Any

from pydantic import Field


def setting(
    default: Any,
    about: str,
    between: tuple[float, float] | None = None,
    metavar: str | tuple[str, ...] | None = None,
    named: str | None = None,
    each: str | None = None,
    **rules: Any,
) -> Any:
    """A field, with what the command line's help says of it and what a reader calls it.

    Parameters
    ----------
    between : pair of float, optional
        Smallest and largest value.
    metavar : str or tuple of str, optional
        What stands for its value, or for each of its values.
    named : str, optional
        What a sentence calls it, where the field's own name would not be known.
    each : str, optional
        The option that gives one of its values, again for each of them.
    """
    more: dict[str, Any] = {"metavar": metavar, "named": named, "each": each}
    if between is not None:
        rules |= {"ge": between[0], "le": between[1], "allow_inf_nan": False}
    return Field(default, description=about, json_schema_extra=more, **rules)
