"""The switch that takes every fast path off: each sum over records as it is written, each bound by every draw.

For checking the fast paths, and for timing what they gain. The target of every fit stays the same; results are kept
apart from the others.
"""

from __future__ import annotations

import os

VARIABLE = "SYNTH_PLAIN"


def plain() -> bool:
    """Whether SYNTH_PLAIN asks for the plain paths."""
    return os.environ.get(VARIABLE, "") not in ("", "0")
