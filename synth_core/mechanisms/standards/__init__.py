"""Privacy standards, and the registry that names them; docs/develop/extending.md says how to add one."""

from __future__ import annotations

from synth_core.mechanisms.standards.base import Standard
from synth_core.mechanisms.standards.papers import AVERAGED, TRUNCATED, WHOLE

STANDARDS: dict[str, Standard] = {"whole": WHOLE, "averaged": AVERAGED, "truncated": TRUNCATED}

__all__ = ["STANDARDS", "WHOLE", "Standard"]
