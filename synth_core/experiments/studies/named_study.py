"""A study that is known by name: what it needs, its design, and what its numbers are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from synth_core.data.table import Table
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Study
from synth_core.experiments.studies.verdicts import Row


@dataclass(frozen=True)
class NamedStudy:
    """How a study is built, and how it is compared.

    Attributes
    ----------
    build : callable
        Given the table that --data names, or None.
    needs : str
        Which file --data must name; empty if none.
    """

    name: str
    build: Callable[[Table | None], Study]
    compare: Callable[[StudyOutcome], list[Row]]
    needs: str = ""
