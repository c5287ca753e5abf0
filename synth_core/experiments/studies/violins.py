"""Arrays behind the violins of a study: pure functions, no drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.experiments.studies.run_study import StudyOutcome

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Violin:
    """One measure of one point over the replicates.

    Attributes
    ----------
    case, label : str
        The panel and the violin in it.
    mechanism : str
        Empty of the data.
    values : array of shape (R,)
    """

    case: str
    label: str
    mechanism: str
    values: Array


def violins(outcome: StudyOutcome, measure: str) -> list[Violin]:
    """Every violin of a measure, panel by panel; points without it (NaN) are left out.

    A statistic, such as "median", is preceded by that of the simulated databases, "Data".
    """
    shapes = []
    for case in outcome.study.cases:
        data = (case.key, case.points[0].label, f"data_{measure}")
        if data in outcome.measured:
            shapes.append(Violin(case.key, "Data", "", outcome.measured[data]))
        for point in case.points:
            values = outcome.values(case.key, point.label, measure)
            if np.isfinite(values).all():
                shapes.append(Violin(case.key, point.label, point.mechanism, values))
    return shapes


def panels(outcome: StudyOutcome) -> dict[str, list[Violin]]:
    """The violins of the study's own measures, by measure."""
    return {measure: violins(outcome, measure) for measure in outcome.study.measures}
