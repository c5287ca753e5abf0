"""Plain values as JSON text, which has no number for infinity."""

from __future__ import annotations

import json
import math
from typing import Any


def without_infinities(value: Any) -> Any:
    """Plain values as JSON can hold them: what is not finite becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: without_infinities(v) for k, v in value.items()}
    return [without_infinities(v) for v in value] if isinstance(value, list | tuple) else value


def json_text(value: Any) -> str:
    """What a command prints or writes for other programs: indented, letters as they are, no Infinity and no NaN.

    Examples
    --------
    >>> print(json_text({"k": [1.5, float("inf")]}))
    {
      "k": [
        1.5,
        null
      ]
    }
    """
    return json.dumps(without_infinities(value), indent=2, ensure_ascii=False, allow_nan=False)
