"""Robustness: would today's ε hold for other tables, are the papers' numbers met, can a claim be refuted?"""

from synth_core.ui.robustness import audit, studies
from synth_core.ui.robustness.kinds import AUDIT, choose_kind

kind = choose_kind()
if kind == AUDIT:
    audit.show()
else:
    studies.show(kind)
