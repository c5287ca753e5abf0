"""Which values of a parameter are left to the full tests: of a kind that takes seconds one is enough for the short."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """The values of a parameter, or tuples of those of several, all but some marked as slow."""
    return [
        each
        if each in quick
        else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.slow)
        for each in values
    ]
