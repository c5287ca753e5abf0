"""One line of the gate."""

from __future__ import annotations

from dataclasses import dataclass

PASS, WARN, FAIL, OVERRIDDEN = "passed", "warning", "failed", "overridden"
INTERNAL = "internal"  # in the public report: what was found stays inside


@dataclass(frozen=True)
class GateCheck:
    """One line of the gate.

    `finding` and `advice` may be confidential, `public` never is. `published` is the status as the public report gives
    it, where the status itself tells of the confidential table; empty: the status.
    """

    key: str
    title: str
    status: str
    finding: str
    public: str
    advice: str = ""
    reason: str = ""  # of an override
    overridable: bool = False
    published: str = ""

    @property
    def public_status(self) -> str:
        return self.published or self.status
